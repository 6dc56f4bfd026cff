"""Let fp32 dots of the cube core multiply in HF32."""

from __future__ import annotations

from dataclasses import dataclass

from flagc.ir.module import Module
from flagc.pipeline.context import PassContext
from flagc.pipeline.passes import Pass, register

_PRODUCT = "hivm.hir.mmadL1"
_FLAG = "enable_HF32"


@register
@dataclass(frozen=True)
class Hf32Dots(Pass):
    """Mark fp32 products so that the device library rounds their operands to HF32.

    HF32 keeps 11 of fp32's 23 fraction bits and runs at twice its rate (asc-devkit, Cube
    instruction table). Triton has no such `input_precision`, and the vendor's compiler takes its
    tf32 for full fp32, so the choice is made here, for all fp32 dots of a kernel.
    """

    name = "hf32-dots"
    level = "hivm"

    def run(self, module: Module, context: PassContext) -> None:
        """Set the flag that chooses the HF32 variant of the device library's product."""
        for product in module.walk(_PRODUCT):
            if str(product.operands[0].type.element_type) != "f32":
                context.remark(product, "not an fp32 product: left as it is")
                continue
            product.attributes[_FLAG] = module.attribute("unit")
            context.statistic("products in HF32")
