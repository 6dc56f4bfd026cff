"""Values that an `scf.for` hands from one iteration to the next."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flagc.ir.analysis import affine
from flagc.ir.analysis.affine import Affine
from flagc.ir.module import Operation, Value, defining_op

if TYPE_CHECKING:
    from flagc.ir.analysis.index_values import IndexValues


def carried_by(loop: Operation, argument: Value) -> tuple[Value, Value]:
    """Return what a body's argument is at first, and what the iteration before yielded."""
    # The operands are the bounds, the step and the initial values; argument 0 is the counter.
    number = argument.arg_number - 1
    body = loop.regions[0].blocks[0]
    terminator = body.operations[len(body.operations) - 1].operation
    return loop.operands[3 + number], terminator.operands[number]


def is_defined_inside(value: Value, loop: Operation) -> bool:
    """Return whether `value` is made in the body of `loop`, its arguments included."""
    op = defining_op(value)
    owner = op if op is not None else value.owner.owner.operation
    if op is not None:
        owner = _parent(op)
    while owner is not None:
        if owner == loop:
            return True
        owner = _parent(owner)
    return False


def enclosing_loops(op: Operation) -> list[Operation]:
    """Return the `scf.for` loops around `op`, the innermost first."""
    found = []
    parent = _parent(op)
    while parent is not None:
        if parent.name == "scf.for":
            found.append(parent)
        parent = _parent(parent)
    return found


def iteration_number(values: IndexValues, loop: Operation, step: Affine) -> Affine:
    """Return `step` times the number of the loop's current iteration, from 0.

    It is a formula of the loop's counter where the counter's own step divides `step`.
    """
    if step.number == 0:
        return step
    counter = values.scalar(loop.regions[0].blocks[0].arguments[0])
    first, stride = (values.index(loop.operands[index]) for index in (0, 2))
    each = step.divided(stride)
    if each is not None:
        return (counter - first) * each
    return values.symbols.get(affine.ITERATION, loop) * step


def _parent(op: Operation) -> Operation | None:
    return op.parent.operation if op.parent is not None else None
