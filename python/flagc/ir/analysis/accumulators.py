"""Sums of matrix products: what one starts from, which dots add to it, and who reads it.

    zeros, or a bias -> (loops that carry it) -> tt.dot -> ... -> the value that is read

Each sum becomes one accumulator in L0C.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from flagc.ir.analysis.accesses import Refused
from flagc.ir.analysis.signs import is_zero
from flagc.ir.module import Module, Operation, Value, defining_op


@dataclass
class Sum:
    """One sum of products.

    Attributes:
        first: the op that takes what the sum starts from: a dot, or the outermost loop that carries
            the sum.
        first_operand: the number of that operand.
        steps: dots and ends of loops, in the order in which they change the sum. Of a loop it is
            (the loop, the number of the carried value); of a dot, (the dot, 0).
        result: the value that is read in the end.
        readers: who reads it: ops, and the number of the operand.
    """

    first: Operation
    first_operand: int
    steps: list[tuple[Operation, int]] = field(default_factory=list)
    result: Value | None = None
    readers: list[tuple[Operation, int]] = field(default_factory=list)

    @property
    def start(self) -> Value | None:
        """What the sum starts from; None for zeros."""
        value = self.first.operands[self.first_operand]
        return None if is_zero(value) else value

    @property
    def dots(self) -> list[Operation]:
        """The products that are summed up, in program order."""
        return [op for op, _ in self.steps if op.name == "tt.dot"]

    @property
    def loops(self) -> list[tuple[Operation, int]]:
        """The loops that carry the sum, and the numbers of the carried values."""
        return [step for step in self.steps if step[0].name == "scf.for"]


def sums(module: Module) -> list[Sum] | Refused:
    """Return the sums that all dots of `module` are in, or the op because of which one is none."""
    found: list[Sum] = []
    for dot in module.walk("tt.dot"):
        if any(dot in known.dots for known in found):
            continue
        start = _start(dot)
        if isinstance(start, Refused):
            return start
        one = Sum(*start)
        problem = _follow(one, *start)
        if problem is not None:
            return problem
        found.append(one)
    return found


def _start(dot: Operation) -> tuple[Operation, int] | Refused:
    """Follow a sum back to what it starts from."""
    user, number = dot, 2
    while True:
        value = user.operands[number]
        op = defining_op(value)
        if op is None:
            loop = value.owner.owner.operation
            if loop.name != "scf.for":
                return Refused(dot, dot, f"the sum comes around by '{loop.name}'")
            user, number = loop, value.arg_number + 2
        elif op.name == "tt.dot":
            user, number = op, 2
        elif op.name == "scf.for":
            user, number = op, 3 + list(op.results).index(value)
        else:
            return user, number


def _follow(one: Sum, user: Operation, number: int) -> Refused | None:
    """Follow a sum from its first use to its readers."""
    loops: list[tuple[Operation, int]] = []
    while True:
        if user.name == "tt.dot":
            one.steps.append((user, 0))
            value = user.results[0]
        elif user.name == "scf.for":
            loops.append((user, number - 3))
            value = user.regions[0].blocks[0].arguments[number - 2]
        else:
            if not loops or (user.parent.operation, number) != loops[-1]:
                return Refused(
                    one.first, one.first, "the loop carries more than products that are added up"
                )
            loop, carried = loops.pop()
            one.steps.append((loop, carried))
            value = loop.results[carried]
        uses = [(use.owner.operation, use.operand_number) for use in value.uses]
        onward = [use for use in uses if _goes_on(*use)]
        if not onward and not loops:
            one.result, one.readers = value, uses
            return None
        if len(uses) != 1 or len(onward) != 1:
            reader = next((op for op, _ in uses if (op, _) not in onward), user)
            return Refused(reader, reader, "the sum is read here before it is complete")
        user, number = onward[0]


def _goes_on(op: Operation, number: int) -> bool:
    """Return whether a use of a sum adds to it, or carries it."""
    if op.name == "tt.dot":
        return number == 2
    if op.name == "scf.for":
        return number >= 3
    return bool(op.name == "scf.yield" and op.parent.operation.name == "scf.for")
