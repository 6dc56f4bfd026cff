"""Cut blocks that do not fit on chip into loops over smaller ones."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from flagc.ir.analysis.live_bytes import live_bytes
from flagc.ir.analysis.tensor_axes import (
    SOURCES,
    Flaw,
    Key,
    TensorAxes,
    nested_ops,
    shape_of,
)
from flagc.ir.dead_code import erase_all_unused
from flagc.ir.module import Module, Operation, Value
from flagc.passes.ttir.block_split import BlockSplit, plan_split
from flagc.passes.ttir.chunk_loop import apply_split, chunk_shape
from flagc.passes.ttir.unshare_indices import UnsharedIndices
from flagc.pipeline.context import PassContext
from flagc.pipeline.passes import Pass, register

Shape = Callable[[Value], tuple[int, ...]]
# How much of the memory the estimate may fill: the vendor's compiler adds buffers of its own.
_SHARE = 0.5
# A matrix product works on fractals of this many rows and columns.
_FRACTAL = 16
# The vendor's adapter wants masks with a dimension of more than one element.
_SMALLEST = 2
# Where the goal is out of reach, a larger chunk is taken that needs at most this much more.
_NEARLY = 1.15
# A block is cut along this many axes at most.
_CUTS = 8


@register
@dataclass(frozen=True)
class SplitLargeBlocks(Pass):
    """Run a kernel's block in chunks when its tensors need more than the vector core's memory.

    The block is cut along an axis across which nothing looks, such as the rows of a row-wise
    softmax; or one along which it is only summed or otherwise reduced, chunk by chunk. What
    follows a reduction is a loop of its own, which computes again what it needs. Results are the
    same but for floating-point sums along the axis, whose order changes (a remark says so), and
    maxima of nothing but NaN. Kernel arguments are taken not to overlap, but for updates in place.

    `max_elements` asks for tensors of at most so many elements. Without it the target's memory
    (`ub_bytes`) and an estimate of what is alive decide, and kernels that fit are left alone.
    """

    name = "split-large-blocks"
    level = "ttir"
    max_elements: int = 0

    def run(self, module: Module, context: PassContext) -> None:
        """Cut each kernel along one axis after the other until it fits."""
        memory = getattr(context.target, "ub_bytes", None)
        if not self.max_elements and memory is None:
            context.remark(None, "left alone: the target has no limit; give max-elements")
            return
        for function in module.functions():
            limit = self.max_elements or memory
            assert limit is not None
            if max(self._sizes(function, shape_of), default=0) <= limit:
                continue
            goal = self.max_elements or int(limit * _SHARE)
            for _ in range(_CUTS):
                if not self._cut(module, function, goal, context):
                    break

    def _sizes(self, function: Operation, shape: Shape) -> list[int]:
        """Return what must not exceed the goal: each tensor's elements, or bytes at each point."""
        if not self.max_elements:
            return live_bytes(function, shape)
        ops = (op for op in nested_ops(function) if op.name not in SOURCES)
        return [math.prod(shape(result)) for op in ops for result in op.results]

    def _excess(self, function: Operation, goal: int, shape: Shape = shape_of) -> int:
        """Return by how much the goal is exceeded, all places together."""
        return sum(max(size - goal, 0) for size in self._sizes(function, shape))

    def _cut(self, module: Module, function: Operation, goal: int, context: PassContext) -> bool:
        """Cut along the best axis and tell the user. False when there is nothing more to do."""
        need = self._excess(function, goal)
        if not need:
            return False
        axes, options, flaws = self._options(function, goal, need)
        if not options:
            copies = UnsharedIndices(module, function)
            axes, options, others = self._options(function, goal, need)
            if not options:
                copies.undo()
                self._refuse(function, flaws or others, context)
                return False
        enough = min(option.rest for option in options) * _NEARLY
        best = min(options, key=lambda option: option.rank(enough))
        self._tell(best, context)
        apply_split(module, axes, best.split, best.chunk)
        erase_all_unused(module)
        context.statistic("blocks split")
        return True

    def _options(
        self, function: Operation, goal: int, need: int
    ) -> tuple[TensorAxes, list[_Option], list[tuple[int, Flaw]]]:
        """Return the ways to cut, and for other axes that would help how much and what forbids."""
        axes = TensorAxes(function)
        options = []
        flaws: list[tuple[int, Flaw]] = []
        for axis, extent in axes.extents.items():
            chunk, rest = self._chunk(function, axes, axis, goal)
            if rest >= need:
                continue
            split = plan_split(axes, axis)
            if isinstance(split, Flaw):
                flaws.append((need - rest, split))
            else:
                options.append(_Option(split, chunk, rest, extent))
        return axes, options, flaws

    def _chunk(
        self, function: Operation, axes: TensorAxes, axis: Key, goal: int
    ) -> tuple[int, int]:
        """Return the largest chunk that reaches the goal or gets close, and the excess left."""
        tried = [(axes.extents[axis], self._excess(function, goal))]
        for chunk in _divisors(tried[0][0], _FRACTAL if _in_product(axes, axis) else _SMALLEST):
            cut = functools.partial(chunk_shape, axes, axis, chunk)
            tried.append((chunk, self._excess(function, goal, cut)))
            if not tried[-1][1]:
                break
        enough = min(rest for _, rest in tried) * _NEARLY
        return next((chunk, rest) for chunk, rest in tried if rest <= enough)

    def _refuse(
        self, function: Operation, flaws: list[tuple[int, Flaw]], context: PassContext
    ) -> None:
        need = max(self._sizes(function, shape_of))
        unit = "elements in one tensor" if self.max_elements else "bytes on chip"
        text = f"too large: needs about {need} {unit}"
        if not flaws:
            context.remark(function, f"{text}, and has no axis to cut it along")
            return
        _, flaw = max(flaws, key=lambda pair: pair[0])
        context.remark(flaw.op, f"{text}, and cannot be cut along the axis: {flaw.reason}")

    def _tell(self, option: _Option, context: PassContext) -> None:
        ops = [op for ops in option.split.loops for op in ops]
        loops = sum(1 for ops in option.split.loops if ops)
        text = f"{option.extent} elements are worked on {option.chunk} at a time"
        text += f", in {loops} loops" if loops > 1 else ""
        if option.split.reorders_sums:
            text += "; floating-point sums are added in another order"
        context.remark(ops[0], text)


@dataclass(frozen=True)
class _Option:
    """A way to cut: `rest` is the excess that remains."""

    split: BlockSplit
    chunk: int
    rest: int
    extent: int

    def rank(self, enough: float) -> tuple[bool, bool, bool, int, int]:
        """Return a key that is smaller for a better way; up to `enough` the rest is good."""
        split = self.split
        pieces = self.extent // self.chunk
        return (self.rest > enough, split.reorders_sums, split.has_sums, self.rest, pieces)


def _divisors(extent: int, smallest: int) -> Iterator[int]:
    """Yield the halves of `extent`, their halves and so on, down to `smallest`."""
    while extent % 2 == 0 and extent // 2 >= smallest:
        extent //= 2
        yield extent


def _in_product(axes: TensorAxes, axis: Key) -> bool:
    products = (op for op in axes.ops if op.name == "tt.dot")
    return any(axis in axes.of_value(op.results[0]) for op in products)
