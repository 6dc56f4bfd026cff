"""Drop `tl.assume`."""

from __future__ import annotations

from dataclasses import dataclass

from flagc.ir.dead_code import erase_unused
from flagc.ir.module import Module
from flagc.pipeline.context import PassContext
from flagc.pipeline.passes import Pass, register


@register
@dataclass(frozen=True)
class DropAssume(Pass):
    """Remove `llvm.intr.assume` (from `tl.assume`), and what was computed for it alone.

    An assumption is a promise to the optimiser; the kernel means the same without it. The vendor's
    Ascend adapter does not know the op.
    """

    name = "drop-assume"
    level = "ttir"

    def run(self, module: Module, context: PassContext) -> None:
        """Erase the ops, then the ones that fed them, as far as nothing else uses them."""
        for assume in module.walk("llvm.intr.assume"):
            conditions = list(assume.operands)
            assume.erase()
            context.statistic("assumptions dropped")
            context.statistic("ops erased with them", erase_unused(conditions))
