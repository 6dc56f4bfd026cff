"""Cut a kernel's block so that the sums of its matrix products fit the Cube's accumulators."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from flagc.ir.analysis.tensor_axes import Flaw, Key, TensorAxes, nested_ops, shape_of
from flagc.ir.dead_code import erase_all_unused
from flagc.ir.module import Module, Operation
from flagc.passes.ttir.block_split import BlockSplit, plan_split
from flagc.passes.ttir.chunk_loop import apply_split
from flagc.pipeline.context import PassContext
from flagc.pipeline.passes import Pass, register

_ACCUMULATOR = 4  # bytes: f32 or i32
_FRACTAL = 16  # the least rows and columns of a product on the Cube
_SIDES = ("rows", "columns")


@register
@dataclass(frozen=True)
class SplitAccumulators(Pass):
    """Compute the tile of a `tl.dot` part by part when L0C does not hold it.

    A 256x256 tile needs 256 KiB of L0C, which has 128 KiB: the program computes its upper and then
    its lower 128 rows, each over the whole depth. The longer side is cut first. What the kernel
    computes of the tile (masks, epilogue, store) is computed of the parts; the grid stays.
    """

    name = "split-accumulators"
    level = "ttir"

    def run(self, module: Module, context: PassContext) -> None:
        """Cut the axes of each product that is too large."""
        capacity = getattr(context.target, "l0c_bytes", None)
        if capacity is None:
            context.remark(None, "left alone: the target has no L0C")
            return
        for function in module.functions():
            while (dot := next(_too_large(function, capacity), None)) is not None:
                if not self._cut(module, function, dot, capacity, context):
                    break

    def _cut(
        self,
        module: Module,
        function: Operation,
        dot: Operation,
        capacity: int,
        context: PassContext,
    ) -> bool:
        """Cut the tile of `dot` along its longer side, else along the other; False if neither."""
        axes = TensorAxes(function)
        shape = shape_of(dot.results[0])
        flaws = []
        for dimension in sorted(range(len(shape)), key=lambda index: -shape[index]):
            found = _planned(axes, axes.of_value(dot.results[0])[dimension])
            if isinstance(found, Flaw):
                flaws.append(found)
                continue
            chunk = _chunk(shape, dimension, capacity)
            context.remark(
                dot,
                f"sums of {'x'.join(map(str, shape))} need {_bytes(shape)} bytes of L0C, which has "
                f"{capacity}: {chunk} of {shape[dimension]} {_SIDES[dimension]} are computed at a "
                "time",
            )
            apply_split(module, axes, found, chunk)
            erase_all_unused(module)
            context.statistic("tiles split")
            return True
        text = f"a product is too large for L0C and cannot be cut: {flaws[0].reason}"
        context.remark(flaws[0].op, text)
        return False


def _too_large(function: Operation, capacity: int) -> Iterator[Operation]:
    """Yield the products whose sums L0C does not hold; those of several matrices are not cut."""
    for op in nested_ops(function):
        if op.name != "tt.dot":
            continue
        shape = shape_of(op.results[0])
        if len(shape) == 2 and _bytes(shape) > capacity:
            yield op


def _bytes(shape: tuple[int, ...]) -> int:
    rows, columns = shape
    return rows * columns * _ACCUMULATOR


def _chunk(shape: tuple[int, ...], dimension: int, capacity: int) -> int:
    """Return the largest half of half ... of a side with which the sums fit."""
    size = shape[dimension]
    while size > _FRACTAL and _bytes(shape) * size // shape[dimension] > capacity:
        size //= 2
    return size


def _planned(axes: TensorAxes, axis: Key) -> BlockSplit | Flaw:
    """Return how to cut along `axis`; what is summed along it would be computed twice."""
    split = plan_split(axes, axis)
    if isinstance(split, BlockSplit) and split.has_sums:
        return Flaw(axes.reductions[axis][0], "the tile is reduced along it")
    return split
