"""Compare 16-bit floats as 32-bit floats."""

from __future__ import annotations

from dataclasses import dataclass

from flagc.ir.builder import Builder
from flagc.ir.module import Module
from flagc.ir.types import TensorType
from flagc.pipeline.context import PassContext
from flagc.pipeline.passes import Pass, register


@register
@dataclass(frozen=True)
class CompareF16AsF32(Pass):
    """Compare tensors of `f16` in `f32`, which holds every `f16`.

    The device library of `bishengir-compile` 1.2.0 compares what does not lie in whole repeats one
    by one, in scalar code whose conversion from `f16` makes 2**-15 of zero (`half_bits_to_float`):
    subnormal numbers are then below zero, and 0 and -0 differ. Which compares come to that is
    decided by the layout, long after this level.
    """

    name = "compare-f16-as-f32"
    level = "ttir"

    def run(self, module: Module, context: PassContext) -> None:
        """Widen the operands of each such comparison."""
        for op in module.walk("arith.cmpf"):
            tensor = TensorType.of(op.operands[0])
            if tensor is None or tensor.element != "f16":
                continue
            build = Builder(module, before=op)
            wide = tensor.with_element("f32").text()
            for index, operand in enumerate(list(op.operands)):
                op.operands[index] = build.op("arith.extf", [operand], wide)
            context.statistic("comparisons widened")
