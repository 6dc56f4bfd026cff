"""Fail unless every dot reaches the matrix unit."""

from __future__ import annotations

from dataclasses import dataclass

from flagc.ir.analysis.dots import MATRIX_VERSIONS, Dot, dots
from flagc.ir.module import Module
from flagc.pipeline.context import PassContext
from flagc.pipeline.passes import Pass, register

# What Triton's accelerate_matmul asks of a dot (its MMAv2, MMAv3 and MMAv5 patterns).
_CONDITIONS = {
    2: "mma.sync needs operands of 8 or 16 bits, tf32 (not ieee) precision for fp32, or fp64",
    3: "wgmma needs 64 rows or more, num_warps divisible by 4, and operands of 8 or 16 bits or "
    "tf32 precision for fp32",
    5: "tcgen05 needs 64 rows or more, num_warps divisible by 4, and operands of 8 or 16 bits or "
    "tf32 precision for fp32",
}


@register
@dataclass(frozen=True)
class RequireMma(Pass):
    """Stop with the kernel's line when a dot does not reach the matrix unit; change nothing.

    `version` is the least that counts: 2 is mma.sync, 3 wgmma, 5 tcgen05; 0, the default, stands
    for the best that the chip has. Runs at the end of ttgir, where Triton has decided.
    """

    name = "require-mma"
    level = "ttgir"
    version: int = 0

    def run(self, module: Module, context: PassContext) -> None:
        """Check every dot."""
        best = MATRIX_VERSIONS[context.target.matrix_instruction]
        wanted = self.version or best
        if wanted not in MATRIX_VERSIONS.values() or wanted > best:
            legal = ", ".join(str(v) for v in MATRIX_VERSIONS.values() if v <= best)
            context.error(
                None,
                f"version={wanted} is illegal: this chip's matrix instruction is "
                f"{context.target.matrix_instruction}; legal here: {legal}, or 0 for the best",
            )
        found = dots(module)
        if not found:
            context.remark(None, "the kernel has no dot")
        for dot in found:
            if dot.version < wanted:
                context.error(dot.op, self._failure(dot, wanted, context))
            context.statistic(f"dots on {dot.instruction}")

    def _failure(self, dot: Dot, wanted: int, context: PassContext) -> str:
        a, b = (str(operand.type).partition(", ")[0] for operand in list(dot.op.operands)[:2])
        shapes = " * ".join(text.partition("<")[2].rstrip(">") for text in (a, b))
        return (
            f"the dot {shapes} reached {dot.instruction}, not version {wanted}: "
            f"{_CONDITIONS[wanted]} (num_warps is {context.options.get('num_warps')})"
        )
