"""Integer arithmetic at run time, folded where it can be: a `Scalar` is an int or an i64 value."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from flagc.ir.module import Module, Operation, Value, defining_op
from flagc.mlir import ir

Scalar = int | Value

_PREDICATES = {"eq": 0, "slt": 2, "sgt": 4, "ult": 6}
_WORD = 64
VARIABLE = "memref<1xi32>"


class Scalars:
    """Creates arithmetic on i64, and the control flow around it, right before one op.

    `before` is that op; `at` moves to another. Constants lie at the start of the function.
    """

    def __init__(self, module: Module, function: Operation) -> None:
        self.module = module
        self._i64 = module.type("i64")
        first = function.regions[0].blocks[0].operations[0].operation
        # It stays, so that constants made later can be put before it.
        self._zero = module.create(
            "arith.constant", results=["i64"], attributes={"value": "0 : i64"}, before=first
        )
        self._constants: dict[tuple[int, str], Value] = {(0, "i64"): self._zero.results[0]}
        self.before: Operation = first

    def at(self, op: Operation) -> None:
        """Create what comes next right before `op`, at its source location."""
        self.before = op

    def at_start(self) -> None:
        """Create what comes next at the start of the function, after the constants."""
        following = self._zero.block.operations
        self.before = next(
            after.operation
            for op, after in zip(following, list(following)[1:], strict=False)
            if op.operation == self._zero
        )

    def op(
        self, name: str, operands: Sequence[Value], results: Sequence[Any], **attributes: Any
    ) -> Operation:
        """Create any op here."""
        return self.module.create(name, operands, results, attributes, before=self.before)

    def value(self, scalar: Scalar) -> Value:
        """Return a scalar as an i64 value."""
        return self.constant(scalar, "i64") if isinstance(scalar, int) else scalar

    def constant(self, number: int, type_text: str) -> Value:
        """Return the constant `number` of an integer type or `index`, at the function's start."""
        key = (number, type_text)
        if key not in self._constants:
            made = self.module.create(
                "arith.constant",
                results=[type_text],
                attributes={"value": f"{number} : {type_text}"},
                before=self._zero,
                location=ir.Location.unknown(self.module.context),
            )
            self._constants[key] = made.results[0]
        return self._constants[key]

    def variable(self, initial: int) -> Value:
        """Return memory on the stack (`memref<1xi32>`), set when the kernel starts."""
        number, index = self.constant(initial, "i32"), self.constant(0, "index")
        segments = {"operandSegmentSizes": "array<i32: 0, 0>"}
        made = self.module.create(
            "memref.alloca", results=[VARIABLE], attributes=segments, after=self._zero
        )
        self.module.create("memref.store", [number, made.results[0], index], after=made)
        return made.results[0]

    def load(self, variable: Value) -> Value:
        """Return what a variable holds, as i64."""
        operands = [variable, self.constant(0, "index")]
        held = self.op("memref.load", operands, ["i32"]).results[0]
        return self.op("arith.extsi", [held], [self._i64]).results[0]

    def store(self, variable: Value, value: Scalar) -> None:
        """Set a variable."""
        narrow = self.op("arith.trunci", [self.value(value)], ["i32"]).results[0]
        self.op("memref.store", [narrow, variable, self.constant(0, "index")], [])

    def _binary(self, name: str, left: Scalar, right: Scalar) -> Value:
        operands = [self.value(left), self.value(right)]
        return self.op(f"arith.{name}", operands, [self._i64]).results[0]

    def add(self, left: Scalar, right: Scalar) -> Scalar:
        """Return the sum."""
        if isinstance(left, int) and isinstance(right, int):
            return left + right
        if _is(left, 0):
            return right
        return left if _is(right, 0) else self._binary("addi", left, right)

    def subtract(self, left: Scalar, right: Scalar) -> Scalar:
        """Return the difference."""
        if isinstance(left, int) and isinstance(right, int):
            return left - right
        return left if _is(right, 0) else self._binary("subi", left, right)

    def multiply(self, left: Scalar, right: Scalar) -> Scalar:
        """Return the product."""
        if isinstance(left, int) and isinstance(right, int):
            return left * right
        if _is(left, 0) or _is(right, 0):
            return 0
        if _is(left, 1):
            return right
        return left if _is(right, 1) else self._binary("muli", left, right)

    def smaller(self, left: Scalar, right: Scalar) -> Scalar:
        """Return the smaller one, as signed numbers."""
        if isinstance(left, int) and isinstance(right, int):
            return min(left, right)
        return self._binary("minsi", left, right)

    def bit_or(self, left: Scalar, right: Scalar) -> Scalar:
        """Return the bits of both."""
        if isinstance(left, int) and isinstance(right, int):
            return left | right
        if _is(left, 0):
            return right
        return left if _is(right, 0) else self._binary("ori", left, right)

    def shift_left(self, value: Scalar, bits: int) -> Scalar:
        """Return `value * 2**bits`."""
        if isinstance(value, int):
            return value << bits
        return self._binary("shli", value, bits) if bits else value

    def shift_right(self, value: Scalar, bits: Scalar) -> Scalar:
        """Return the bits of `value`, moved down, zeros on top."""
        if isinstance(value, int) and isinstance(bits, int):
            return (value & ((1 << _WORD) - 1)) >> bits
        return self._binary("shrui", value, bits)

    def divide(self, value: Scalar, unit: int) -> Scalar:
        """Return the quotient of a value that is not negative, rounded down."""
        if isinstance(value, int):
            return value // unit
        return self._binary("divui", value, unit) if unit > 1 else value

    def divide_up(self, value: Scalar, unit: int) -> Scalar:
        """Return how many times `unit`, a power of two, is needed for `value` >= 0."""
        shift = unit.bit_length() - 1
        if isinstance(value, int):
            return -(-value // unit)
        if not shift:
            return value
        return self._binary("shrui", self.add(value, unit - 1), shift)

    def round_up(self, value: Scalar, unit: int) -> Scalar:
        """Return the next multiple of `unit`, a power of two."""
        if isinstance(value, int):
            return -(-value // unit) * unit
        if unit == 1:
            return value
        return self._binary("andi", self.add(value, unit - 1), -unit)

    def extended(self, value: Value) -> Scalar:
        """Return an i1, i32 or i64 value as a scalar; a constant as its number. An i1 is 0 or 1."""
        number = constant_of(value)
        if number is not None:
            return number
        kind = str(value.type)
        if kind == "i64":
            return value
        name = "arith.extui" if kind == "i1" else "arith.extsi"
        return self.op(name, [value], [self._i64]).results[0]

    def limit(self, value: Value, size: int) -> Scalar:
        """Return `max(0, min(value, size))`, what a limit of the dialect staged means."""
        given = self.extended(value)
        if isinstance(given, int):
            return max(0, min(given, size))
        return self._binary("maxsi", self._binary("minsi", given, size), 0)

    def compare(self, predicate: str, left: Scalar, right: Scalar) -> Value:
        """Return an i1; `predicate` as MLIR spells it."""
        number = self.module.integer(_PREDICATES[predicate], _WORD)
        operands = [self.value(left), self.value(right)]
        return self.op("arith.cmpi", operands, ["i1"], predicate=number).results[0]

    def select(self, condition: Value, if_true: Scalar, if_false: Scalar) -> Value:
        """Return one of two."""
        operands = [condition, self.value(if_true), self.value(if_false)]
        return self.op("arith.select", operands, [self._i64]).results[0]

    @contextmanager
    def when(self, condition: Value | None) -> Iterator[None]:
        """Create what follows inside `scf.if`; without a condition, as it is."""
        if condition is None:
            yield
            return
        with self._inside(self.op_with_regions("scf.if", [condition], 2), 0, []):
            yield

    @contextmanager
    def choice(self, condition: Value) -> Iterator[Operation]:
        """Create what follows in the first region of `scf.if`; `otherwise` takes what it yields."""
        branch = self.op_with_regions("scf.if", [condition], 2)
        with self._inside(branch, 0, []):
            yield branch

    @contextmanager
    def otherwise(self, branch: Operation) -> Iterator[None]:
        """Create what follows in the second region of `choice`."""
        with self._inside(branch, 1, []):
            yield

    @contextmanager
    def positive(self, *sizes: Scalar) -> Iterator[None]:
        """Create what follows only where all sizes are above zero."""
        condition: Value | None = None
        for size in sizes:
            if isinstance(size, int) and size > 0:
                continue
            holds = self.compare("sgt", size, 0)
            if condition is not None:
                holds = self.op("arith.andi", [condition, holds], ["i1"]).results[0]
            condition = holds
        with self.when(condition):
            yield

    @contextmanager
    def loop(self, count: Scalar) -> Iterator[Value]:
        """Create what follows in a loop, for an i64 index from 0 to `count`."""
        bounds = [self.value(0), self.value(count), self.value(1)]
        loop = self.op_with_regions("scf.for", bounds, 1)
        with self._inside(loop, 0, [self._i64]) as block:
            yield block.arguments[0]

    def each(self, count: Scalar) -> Iterator[Scalar]:
        """Yield the indices below `count`, of a loop if it has more than a few iterations."""
        if isinstance(count, int) and count <= _UNROLLED:
            yield from range(count)
            return
        with self.loop(count) as index:
            yield index

    def op_with_regions(self, name: str, operands: Sequence[Value], regions: int) -> Operation:
        """Create an op without results and with empty regions."""
        return self.module.create(name, operands, before=self.before, regions=regions)

    @contextmanager
    def _inside(self, op: Operation, region: int, arguments: list[Any]) -> Iterator[Any]:
        outside = self.before
        block = ir.Block.create_at_start(
            op.regions[region], arguments, [op.location] * len(arguments)
        )
        with ir.InsertionPoint(block):
            self.before = ir.Operation.create("scf.yield", loc=op.location)
        yield block
        self.before = outside


# Loops of up to so many iterations are written out.
_UNROLLED = 4


def constant_of(value: Value) -> int | None:
    """Return the number of an integer constant; None for anything else. True is 1."""
    made = defining_op(value)
    if made is None or made.name != "arith.constant":
        return None
    attribute = made.attributes["value"]
    if isinstance(attribute, ir.BoolAttr):
        return int(attribute.value)
    return int(attribute.value) if isinstance(attribute, ir.IntegerAttr) else None


def _is(scalar: Scalar, number: int) -> bool:
    return isinstance(scalar, int) and scalar == number
