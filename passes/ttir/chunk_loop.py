"""Rewrite a block as loops over chunks of one axis, as a `BlockSplit` says."""

from __future__ import annotations

import math
from typing import Any

from flagc.ir.analysis.tensor_axes import SOURCES, TensorAxes, is_source, nested_ops, shape_of
from flagc.ir.builder import Builder
from flagc.ir.module import Module, Operation, Value, defining_op
from flagc.ir.types import TensorType, element_bits, element_of
from flagc.mlir import ir
from flagc.passes.ttir.block_split import IDENTITIES, BlockSplit, combiner


def apply_split(module: Module, axes: TensorAxes, split: BlockSplit, chunk: int) -> None:
    """Cut `split.block` into loops over chunks of `chunk` elements, which divides the extent.

    `axes` describes the module before the cut and is out of date afterwards.
    """
    end = split.block.operations[len(split.block.operations) - 1].operation
    for outside, ops, sums in zip(split.outside, split.loops, split.sums, strict=True):
        for op in outside:
            op.move_before(end)
        if ops:
            _ChunkLoop(module, axes, split, chunk, end).emit(ops, sums)
    replaced = {op for ops in split.loops for op in ops}
    for op in reversed([child.operation for child in split.block.operations]):
        if op in replaced:
            op.erase()


def identity_of(op: Operation) -> float | str:
    """Return the number that changes nothing when `op` combines it with another."""
    number = IDENTITIES[op.name]
    width = element_bits(element_of(op.results[0]))
    if number == "smallest":
        return str(-(2 ** (width - 1)))
    return str(2 ** (width - 1) - 1) if number == "largest" else number


class _ChunkLoop:
    """One loop: its ops are made anew in its body, on smaller tensors."""

    def __init__(
        self, module: Module, axes: TensorAxes, split: BlockSplit, chunk: int, end: Operation
    ) -> None:
        self._module = module
        self._axes = axes
        self._axis = split.axis
        self._chunk = chunk
        self._end = end
        self._values: dict[Value, Value] = {}
        self._parts: dict[tuple[Value, int], Value] = {}
        self._offset: Value = None

    def emit(self, ops: list[Operation], sums: list[Operation]) -> None:
        """Create the loop before the block's end and let its results replace those of `sums`."""
        build = Builder(self._module, before=self._end)
        extent = self._axes.extents[self._axis]
        starts = []
        for op in sums:
            combine = combiner(op)
            assert combine is not None
            starts.append(build.constant(identity_of(combine), op.results[0].type))
        bounds = [build.constant(number, "i32") for number in (0, extent, self._chunk)]
        types = [value.type for value in starts]
        location = ops[-1].location
        loop = self._module.create(
            "scf.for", [*bounds, *starts], types, before=self._end, regions=1, location=location
        )
        arguments = [bounds[0].type, *types]
        body = loop.regions[0].blocks.append(*arguments, arg_locs=[location] * len(arguments))
        self._offset = body.arguments[0]
        point = ir.InsertionPoint(body)
        for op in ops:
            for nested in nested_ops(op):
                self._make_parts(nested, op, point)
            self._copy(op, point)
        totals = [self._add_up(op, body.arguments[1 + i], point) for i, op in enumerate(sums)]
        ir.Operation.create("scf.yield", operands=totals, loc=location, ip=point)
        for op, result in zip(sums, loop.results, strict=True):
            op.results[0].replace_all_uses_with(result)

    def _add_up(self, reduce: Operation, total: Value, point: Any) -> Value:
        combine = combiner(reduce)
        assert combine is not None
        return ir.Operation.create(
            combine.name,
            results=[total.type],
            operands=[total, self._values[reduce.results[0]]],
            attributes={name: combine.attributes[name] for name in combine.attributes},
            loc=reduce.location,
            ip=point,
        ).results[0]

    def _make_parts(self, op: Operation, unit: Operation, point: Any) -> None:
        """Make the parts of ranges, splats and constants from around `unit` that `op` uses."""
        for index, value in enumerate(op.operands):
            dimension = self._axes.dimension(op, index, self._axis)
            source = defining_op(value)
            if dimension is not None and is_source(value) and source not in nested_ops(unit):
                self._make_part(value, dimension, point)

    def _make_part(self, value: Value, dimension: int, point: Any) -> None:
        if (value, dimension) in self._parts:
            return
        source = defining_op(value)
        assert source is not None
        shape = list(shape_of(value))
        shape[dimension] = self._chunk
        part = self._typed(value, shape)
        if source.name == "arith.constant":
            attribute = source.attributes["value"].get_splat_value()
            attributes = {"value": ir.DenseElementsAttr.get_splat(part, attribute)}
            made = self._create(source, "arith.constant", [], part, attributes, point)
        elif source.name == "tt.splat":
            operand = self._values.get(source.operands[0], source.operands[0])
            made = self._create(source, "tt.splat", [operand], part, {}, point)
        else:
            made = self._range(source, part, point)
        self._parts[value, dimension] = made

    def _range(self, source: Operation, part: Any, point: Any) -> Value:
        """Return `start + offset, start + offset + 1, ...` for a range that begins at `start`."""
        start = source.attributes["start"].value
        integer = self._module.integer
        sizes = {"start": integer(start), "end": integer(start + self._chunk)}
        numbers = self._create(source, "tt.make_range", [], part, sizes, point)
        offset = self._create(source, "tt.splat", [self._offset], part, {}, point)
        return self._create(source, "arith.addi", [offset, numbers], part, {}, point)

    def _create(
        self,
        like: Operation,
        name: str,
        operands: list[Value],
        kind: Any,
        attributes: dict[str, Any],
        point: Any,
    ) -> Value:
        return ir.Operation.create(
            name,
            results=[kind],
            operands=operands,
            attributes=attributes,
            loc=like.location,
            ip=point,
        ).results[0]

    def _copy(self, op: Operation, point: Any) -> None:
        """Create `op` again at `point`, on the chunk."""
        if op.name in SOURCES:
            self._copy_source(op, point)
        copy = ir.Operation.create(
            op.name,
            results=[self._chunk_type(result) for result in op.results],
            operands=[self._operand(op, i) for i in range(len(op.operands))],
            attributes={name: op.attributes[name] for name in op.attributes},
            regions=len(op.regions),
            loc=op.location,
            ip=point,
        )
        self._values.update(zip(op.results, copy.results, strict=True))
        for region, new_region in zip(op.regions, copy.regions, strict=True):
            for block in region.blocks:
                types = [self._chunk_type(argument) for argument in block.arguments]
                locations = [op.location] * len(types)
                new_block = new_region.blocks.append(*types, arg_locs=locations)
                self._values.update(zip(block.arguments, new_block.arguments, strict=True))
                inner = ir.InsertionPoint(new_block)
                for child in block.operations:
                    self._copy(child.operation, inner)

    def _copy_source(self, op: Operation, point: Any) -> None:
        """Create the parts of a range, splat or constant that its users need."""
        for use in op.results[0].uses:
            user = use.owner.operation if hasattr(use.owner, "operation") else use.owner
            dimension = self._axes.dimension(user, use.operand_number, self._axis)
            if dimension is not None:
                self._make_part(op.results[0], dimension, point)

    def _operand(self, op: Operation, index: int) -> Value:
        value = op.operands[index]
        if is_source(value):
            dimension = self._axes.dimension(op, index, self._axis)
            if dimension is not None:
                return self._parts[value, dimension]
        return self._values.get(value, value)

    def _chunk_type(self, value: Value) -> Any:
        shape = chunk_shape(self._axes, self._axis, self._chunk, value)
        return self._typed(value, list(shape)) if shape else value.type

    def _typed(self, value: Value, shape: list[int]) -> Any:
        kind = TensorType.of(value)
        assert kind is not None
        return self._module.type(TensorType(tuple(shape), kind.element, kind.layout).text())


def chunk_shape(axes: TensorAxes, axis: Any, chunk: int, value: Value) -> tuple[int, ...]:
    """Return the shape of `value` once `axis` is cut into chunks; that of no tensor is ()."""
    shape = shape_of(value)
    reshape = axes.flattened.get(value)
    if reshape is not None:
        cut = axes.of_use(reshape, 0)
        sizes = zip(cut, shape_of(reshape.operands[0]), strict=True)
        return (math.prod(chunk if key == axis else size for key, size in sizes),)
    if not shape or is_source(value):
        return shape
    dimension = axes.result_dimension(value, axis)
    if dimension is None:
        return shape
    return (*shape[:dimension], chunk, *shape[dimension + 1 :])
