"""Give an axis of a kernel's blocks another length, in place."""

from __future__ import annotations

from typing import Any

from flagc.ir.analysis.tensor_axes import SOURCES, Key, TensorAxes, is_source, shape_of
from flagc.ir.dead_code import erase_unused
from flagc.ir.module import Module, Operation, Value, defining_op
from flagc.ir.types import TensorType
from flagc.mlir import ir

# Promises about the lanes of the old block.
_HINTS = ("tt.contiguity", "tt.divisibility", "tt.constancy")


def resize(module: Module, axes: TensorAxes, axis: Key, length: int) -> None:
    """Make all tensors along `axis` so long; ranges along it count from 0 to `length`.

    Nothing may look across the axis. `axes` is out of date afterwards.
    """
    _Resize(module, axes, axis, length).run()


class _Resize:
    def __init__(self, module: Module, axes: TensorAxes, axis: Key, length: int) -> None:
        self._module = module
        self._axes = axes
        self._axis = axis
        self._length = length
        self._sources: dict[tuple[Value, int], Value] = {}

    def run(self) -> None:
        """Find all uses first, as types tell the axes apart."""
        values: list[tuple[Value, int]] = []
        uses: list[tuple[Operation, int, int]] = []
        for op in self._axes.ops:
            for number, value in enumerate(op.operands):
                dimension = self._axes.dimension(op, number, self._axis)
                if dimension is not None and is_source(value):
                    uses.append((op, number, dimension))
            values += self._own_values(op)
        for op, number, dimension in uses:
            op.operands[number] = self._source(op.operands[number], dimension)
        erase_unused(value for value, _ in self._sources)
        for value, dimension in values:
            value.set_type(self._resized(value, dimension))
            op = defining_op(value)
            for name in _HINTS:
                if op is not None and name in op.attributes:
                    del op.attributes[name]

    def _own_values(self, op: Operation) -> list[tuple[Value, int]]:
        """Return results and block arguments of `op` along the axis, with the dimension."""
        values = [] if op.name in SOURCES else list(op.results)
        for region in op.regions:
            for block in region.blocks:
                values += block.arguments
        found = [(value, self._axes.result_dimension(value, self._axis)) for value in values]
        return [(value, dimension) for value, dimension in found if dimension is not None]

    def _source(self, value: Value, dimension: int) -> Value:
        """Make a range, splat or constant again with the new length."""
        if (value, dimension) not in self._sources:
            op = defining_op(value)
            assert op is not None
            kind = self._resized(value, dimension)
            attributes: dict[str, Any] = {}
            if op.name == "arith.constant":
                element = op.attributes["value"].get_splat_value()
                attributes["value"] = ir.DenseElementsAttr.get_splat(kind, element)
            elif op.name == "tt.make_range":
                ends = {"start": 0, "end": self._length}
                attributes = {name: self._module.integer(end) for name, end in ends.items()}
            operands = list(op.operands)
            made = self._module.create(op.name, operands, [kind], attributes, after=op)
            self._sources[value, dimension] = made.results[0]
        return self._sources[value, dimension]

    def _resized(self, value: Value, dimension: int) -> Any:
        tensor = TensorType.of(value)
        assert tensor is not None
        shape = list(shape_of(value))
        shape[dimension] = self._length
        return self._module.type(TensorType(tuple(shape), tensor.element, tensor.layout).text())
