"""Choose the width of the matrix instruction."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

from flagc.ir import layouts
from flagc.ir.layouts import NvidiaMmaLayout
from flagc.ir.module import Module, Operation
from flagc.ir.types import TensorType
from flagc.pipeline.context import PassContext
from flagc.pipeline.passes import Pass, register

_DOTS = ("tt.dot", "ttng.warp_group_dot")
_WGMMA_VERSION = 3
_WIDEST = 256
_NARROWEST = 8


@register
@dataclass(frozen=True)
class SetMmaShape(Pass):
    """Set N of the matrix instruction (`instrShape` of `#ttg.nvidia_mma`) to `n`.

    Meant for `ttgir@after(accelerate_matmul)`, where Triton has just chosen the widest N that fits.
    A narrower one needs fewer accumulator registers per instruction; the dot's result is the same.
    Every dot of the kernel must allow `n`, else nothing is changed and the error names the legal
    values. Only wgmma (sm90) has a choice: mma.sync's N is always 8, and tcgen05's shape is that of
    the accumulator in tensor memory.
    """

    name = "set-mma-shape"
    level = "ttgir"
    n: int = 128

    def run(self, module: Module, context: PassContext) -> None:
        """Check every dot, then replace the layouts everywhere they occur."""
        dots = [(dot, _mma_layout(dot)) for dot in module.walk(*_DOTS)]
        used = {layout: dot for dot, layout in dots if layout is not None}
        if not used:
            context.remark(
                dots[0][0] if dots else None,
                "not applied: no dot has an #ttg.nvidia_mma result here; run the pass after "
                "accelerate_matmul, for a GPU with wgmma",
            )
        for dot, layout in dots:
            if layout is not None:
                self._check(dot, layout, context)
        for layout, dot in used.items():
            self._replace(module, layout, dot, context)

    def _check(self, dot: Operation, layout: NvidiaMmaLayout, context: PassContext) -> None:
        """Stop with an error unless `n` is legal for `dot`."""
        legal = legal_widths(dot, layout)
        if self.n in legal:
            return
        if layout.version_major != _WGMMA_VERSION:
            reason = "mma.sync, which this dot uses, has a fixed N"
        elif self.n % 8 or not _NARROWEST <= self.n <= _WIDEST:
            reason = f"wgmma's N must be a multiple of 8 from {_NARROWEST} to {_WIDEST}"
        else:
            width = _width(dot) // layout.warps_per_cta[-1]
            reason = f"the dot's N per column of warps is {width}, no multiple of it"
        values = ", ".join(str(value) for value in legal)
        context.error(dot, f"n={self.n} is illegal: {reason}; legal here: {values}")

    def _replace(
        self, module: Module, layout: NvidiaMmaLayout, dot: Operation, context: PassContext
    ) -> None:
        shape = list(layout.instr_shape)
        shape[1] = self.n
        if tuple(shape) == layout.instr_shape:
            context.remark(dot, f"the instruction's N is {self.n} already")
            return
        changed = dataclasses.replace(layout, instr_shape=tuple(shape))
        context.statistic(
            "values with a new layout",
            module.replace_in_types_and_attributes(layout.text(), changed.text()),
        )
        context.statistic("layouts changed")


def legal_widths(dot: Operation, layout: NvidiaMmaLayout) -> list[int]:
    """Return every N that `dot` allows, ascending.

    wgmma takes multiples of 8 up to 256. The instructions side by side must tile the part of the
    dot's N that falls to a column of warps, without overlap.
    """
    if layout.version_major != _WGMMA_VERSION:
        return [layout.instr_shape[1]]
    width = _width(dot) // layout.warps_per_cta[-1]
    fitting = [n for n in range(_NARROWEST, _WIDEST + 1, 8) if n <= width and width % n == 0]
    return fitting or [layout.instr_shape[1]]


def _mma_layout(dot: Operation) -> NvidiaMmaLayout | None:
    tensor = TensorType.of(dot.results[0])
    layout = tensor.layout if tensor is not None else None
    return layout if isinstance(layout, layouts.NvidiaMmaLayout) else None


def _width(dot: Operation) -> int:
    tensor = TensorType.of(dot.results[0])
    assert tensor is not None
    return tensor.shape[-1]
