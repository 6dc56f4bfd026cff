"""Give masked loads a value for the lanes that are masked off."""

from __future__ import annotations

from dataclasses import dataclass

from flagc.ir.builder import Builder
from flagc.ir.module import Module, Operation
from flagc.pipeline.context import PassContext
from flagc.pipeline.passes import Pass, register


@register
@dataclass(frozen=True)
class ExplicitOther(Pass):
    """Give every masked `tt.load` without `other` a zero for the lanes that are masked off.

    Triton leaves those lanes undefined, so zero is as right as anything. The vendor's Ascend
    adapter needs the operand. Block pointers have no mask (their padding is an attribute) and stay
    as they are. Loaded pointers become null pointers.
    """

    name = "explicit-other"
    level = "ttir"

    def run(self, module: Module, context: PassContext) -> None:
        """Recreate each such load with the operand added."""
        for load in module.walk("tt.load"):
            # Operands: pointer, mask?, other?.
            if list(load.attributes["operandSegmentSizes"]) == [1, 1, 0]:
                _add_other(module, load)
                context.statistic("loads completed")


def _add_other(module: Module, load: Operation) -> None:
    build = Builder(module, before=load)
    pointer, mask = load.operands
    other = build.zero(load.results[0].type)
    attributes = {name: load.attributes[name] for name in load.attributes}
    attributes["operandSegmentSizes"] = module.attribute("array<i32: 1, 1, 1>")
    module.replace(
        load, [build.op("tt.load", [pointer, mask, other], load.results[0].type, attributes)]
    )
