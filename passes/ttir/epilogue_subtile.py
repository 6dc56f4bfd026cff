"""Store a matrix product's tile in several pieces, one after the other."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from flagc.ir.analysis.memory_effects import accesses_of
from flagc.ir.analysis.tensor_axes import ELEMENTWISE, Flaw, nested_ops, shape_of
from flagc.ir.builder import Builder
from flagc.ir.dead_code import erase_unused
from flagc.ir.descriptor_abi import types_are_bare
from flagc.ir.module import Module, Operation, Value, defining_op
from flagc.ir.types import TensorDescType, TensorType
from flagc.mlir import ir
from flagc.pipeline.context import PassContext
from flagc.pipeline.passes import Pass, register

# Pieces of fewer columns leave less than 32 bytes of a row to a store.
_SMALLEST = 16


@register
@dataclass(frozen=True)
class EpilogueSubtile(Pass):
    """Let what follows a matrix product, and its store, work on `pieces` groups of columns in turn.

    What a store of a whole tile needs (shared memory to arrange 128x256 numbers, registers for the
    whole tile's bias and activation) is then needed for one piece at a time, which leaves room for
    a pipeline stage more. Rewritten are stores by pointers and by descriptors made in the kernel,
    as far back as ops work number by number; the tile's sums are cut where they come from a loop.

    Run it after passes that look at addresses and make descriptors.
    """

    name = "epilogue-subtile"
    level = "ttir"
    pieces: int = 2

    def run(self, module: Module, context: PassContext) -> None:
        """Rewrite each store of a product."""
        if self.pieces < 2 or self.pieces & (self.pieces - 1):
            context.error(None, f"pieces is {self.pieces}; it must be a power of two from 2 on")
        stores = [op for op in module.walk("tt.store", "tt.descriptor_store") if _is_product(op)]
        if not stores:
            context.remark(
                module.functions()[0], "not applied: the kernel stores no matrix product"
            )
        for store in stores:
            flaw = self._flaw(store)
            if flaw is not None:
                context.remark(flaw.op, f"stored whole: {flaw.reason}")
                continue
            _rewrite(module, store, self.pieces)
            context.statistic("stores cut")

    def _flaw(self, store: Operation) -> Flaw | None:
        """Return what forbids to cut `store` along its last dimension."""
        columns = shape_of(store.operands[1])[-1]
        if columns < self.pieces * _SMALLEST:
            return Flaw(store, f"{columns} columns are too few for {self.pieces} pieces")
        if store.name == "tt.descriptor_store":
            made = defining_op(store.operands[0])
            if made is None or made.name != "tt.make_tensor_descriptor":
                return Flaw(store, "its descriptor is an argument, for blocks of one size")
        return _row_cut(store.operands[1])


def _back(value: Value, dimension: int) -> Iterator[tuple[Value, int]]:
    """Yield what a value is computed from number by number, with the dimension that goes there."""
    op = defining_op(value)
    if op is None or not _is_pure_elementwise(op):
        if op is not None and op.name == "tt.trans":
            yield op.operands[0], list(op.attributes["order"])[dimension]
        return
    yield from ((operand, dimension) for operand in op.operands if shape_of(operand))


def _roots(value: Value, dimension: int) -> Iterator[tuple[Value, int]]:
    """Yield the products that a value is computed from."""
    pending, seen = [(value, dimension)], set()
    while pending:
        entry = pending.pop()
        if entry in seen:
            continue
        seen.add(entry)
        op = defining_op(entry[0])
        in_loop = op is not None and op.name == "scf.for" and _holds_product(op)
        if op is not None and (op.name == "tt.dot" or in_loop):
            yield entry
        else:
            pending += _back(*entry)


def _holds_product(loop: Operation) -> bool:
    return any(op.name == "tt.dot" for op in nested_ops(loop))


def _is_product(store: Operation) -> bool:
    shape = shape_of(store.operands[1])
    return len(shape) == 2 and any(True for _ in _roots(store.operands[1], 1))


def _row_cut(value: Value) -> Flaw | None:
    """Return a flaw where the store's columns are rows of a product: warps share those out."""
    for root, dimension in _roots(value, 1):
        if dimension != 1:
            op = defining_op(root)
            assert op is not None
            return Flaw(op, "it is stored transposed")
    return None


def _is_pure_elementwise(op: Operation) -> bool:
    known = op.name in ELEMENTWISE or op.name.startswith(("arith.", "math."))
    return known and op.name != "arith.constant" and not accesses_of(op) and len(op.results) == 1


def _rewrite(module: Module, store: Operation, count: int) -> None:
    pieces = _Pieces(module, count)
    part = shape_of(store.operands[1])[-1] // count
    attributes = {name: store.attributes[name] for name in store.attributes}
    for number in range(count):
        build = Builder(module, before=store)
        if store.name == "tt.store":
            operands = [pieces.of(value, 1, number, store) for value in store.operands]
        else:
            descriptor, value, *starts, column = store.operands
            offset = build.constant(number * part, column.type)
            column = build.addi(column, offset) if number else column
            value = pieces.of(value, 1, number, store)
            operands = [pieces.descriptor(descriptor, part), value, *starts, column]
        module.create(store.name, operands, [], attributes, before=store)
    feeding = list(store.operands)
    store.erase()
    erase_unused(feeding)
    pieces.erase_loads()


class _Pieces:
    """Makes parts of values along a dimension, of ops that work number by number, or by cutting."""

    def __init__(self, module: Module, count: int) -> None:
        self._module = module
        self._count = count
        self._made: dict[tuple[Value, int, int, Operation], Value] = {}
        self._halves: dict[tuple[Value, int, Operation], tuple[Value, Value]] = {}
        self._descriptors: dict[tuple[Value, int], Value] = {}
        self._loads: list[Operation] = []

    def of(self, value: Value, dimension: int, number: int, before: Operation) -> Value:
        """Return piece `number` of `value`, made before `before`, or earlier."""
        if not shape_of(value):
            return value
        key = (value, dimension, number, before)
        if key not in self._made:
            self._made[key] = self._make(value, dimension, number, before)
        return self._made[key]

    def descriptor(self, whole: Value, columns: int) -> Value:
        """Return a descriptor of the same tensor for blocks with so many columns."""
        key = (whole, columns)
        if key not in self._descriptors:
            op = defining_op(whole)
            kind = TensorDescType.of(whole)
            assert op is not None and kind is not None
            block = replace(kind.block, shape=(*kind.block.shape[:-1], columns))
            text = TensorDescType(block, bare=types_are_bare()).text()
            attributes = {name: op.attributes[name] for name in op.attributes}
            made = self._module.create(op.name, list(op.operands), [text], attributes, after=op)
            self._descriptors[key] = made.results[0]
        return self._descriptors[key]

    def erase_loads(self) -> None:
        """Erase loads of which only pieces are used now."""
        for load in self._loads:
            if not any(True for _ in load.results[0].uses):
                feeding = list(load.operands)
                load.erase()
                erase_unused(feeding)

    def _make(self, value: Value, dimension: int, number: int, before: Operation) -> Value:
        op = defining_op(value)
        if op is None:
            return self._cut(value, dimension, number, before)
        if op.name in ("tt.splat", "arith.constant", "tt.make_range"):
            return self._source(op, dimension, number, before)
        if op.name == "tt.expand_dims":
            inner = dimension - (dimension > op.attributes["axis"].value)
            piece = self.of(op.operands[0], inner, number, before)
            return self._same(op, [piece], before, value, dimension)
        if op.name == "tt.broadcast":
            whole = shape_of(op.operands[0])[dimension] == 1
            operand = op.operands[0]
            piece = operand if whole else self.of(operand, dimension, number, before)
            return self._same(op, [piece], before, value, dimension)
        if op.name == "tt.trans":
            inner = list(op.attributes["order"])[dimension]
            piece = self.of(op.operands[0], inner, number, before)
            return self._same(op, [piece], before, value, dimension)
        if _is_pure_elementwise(op):
            operands = [self.of(operand, dimension, number, before) for operand in op.operands]
            return self._same(op, operands, before, value, dimension)
        if op.name == "tt.load" and not op.attributes["isVolatile"].value:
            # Where it was, so that it reads what it read.
            operands = [self.of(operand, dimension, number, op) for operand in op.operands]
            self._loads += [op] if op not in self._loads else []
            return self._same(op, operands, op, value, dimension)
        return self._cut(value, dimension, number, before)

    def _part(self, value: Value, dimension: int) -> Any:
        """Return the type of a piece of `value`."""
        tensor = TensorType.of(value)
        assert tensor is not None
        shape = list(tensor.shape)
        shape[dimension] //= self._count
        return self._module.type(replace(tensor, shape=tuple(shape)).text())

    def _same(
        self,
        op: Operation,
        operands: list[Value],
        before: Operation,
        whole: Value,
        dimension: int,
    ) -> Value:
        """Create the op again for a piece."""
        kind = self._part(whole, dimension)
        attributes = {name: op.attributes[name] for name in op.attributes}
        return self._module.create(op.name, operands, [kind], attributes, before=before).results[0]

    def _source(self, op: Operation, dimension: int, number: int, before: Operation) -> Value:
        value = op.results[0]
        kind = self._part(value, dimension)
        attributes: dict[str, Any] = {}
        if op.name == "arith.constant":
            whole = op.attributes["value"]
            if not whole.is_splat:
                return self._cut(value, dimension, number, before)
            attributes["value"] = ir.DenseElementsAttr.get_splat(kind, whole.get_splat_value())
        elif op.name == "tt.make_range":
            length = shape_of(value)[0] // self._count
            start = op.attributes["start"].value + number * length
            ends = {"start": start, "end": start + length}
            attributes = {name: self._module.integer(end) for name, end in ends.items()}
        operands = list(op.operands)
        return self._module.create(op.name, operands, [kind], attributes, before=before).results[0]

    def _cut(self, value: Value, dimension: int, number: int, before: Operation) -> Value:
        """Halve `value` until the piece is there."""
        left, count = number, self._count
        while count > 1:
            count //= 2
            value = self._half(value, dimension, before)[left // count]
            left %= count
        return value

    def _half(self, value: Value, dimension: int, before: Operation) -> tuple[Value, Value]:
        """Return both halves of `value` along a dimension."""
        key = (value, dimension, before)
        if key not in self._halves:
            tensor = TensorType.of(value)
            assert tensor is not None
            build = Builder(self._module, before=before)
            head, tail = tensor.shape[:dimension], tensor.shape[dimension + 1 :]
            half = tensor.shape[dimension] // 2
            kind = replace(tensor, shape=(*head, 2, half, *tail))
            pairs = build.op("tt.reshape", [value], kind.text())
            rank = len(kind.shape)
            order = [axis for axis in range(rank) if axis != dimension] + [dimension]
            kind = replace(tensor, shape=(*head, half, *tail, 2))
            text = ", ".join(map(str, order))
            last = build.op("tt.trans", [pairs], kind.text(), {"order": f"array<i32: {text}>"})
            part = replace(tensor, shape=(*head, half, *tail)).text()
            cut = self._module.create("tt.split", [last], [part, part], {}, before=before)
            self._halves[key] = (cut.results[0], cut.results[1])
        return self._halves[key]
