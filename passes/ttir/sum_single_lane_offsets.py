"""Add up the offsets of blocks with one element."""

from __future__ import annotations

import math
from dataclasses import dataclass

from flagc.ir.builder import Builder
from flagc.ir.module import Module, Operation, Value, defining_op
from flagc.ir.types import TensorType, element_of
from flagc.pipeline.context import PassContext
from flagc.pipeline.passes import Pass, register


@register
@dataclass(frozen=True)
class SumSingleLaneOffsets(Pass):
    """Where a block of one pointer is a scalar address plus an offset, keep one sum of offsets.

        splat(base + scalar) + block  becomes  splat(base) + (splat(scalar) + block)

    The sum is made of i64, as the address is. The vendor's Ascend adapter (3.2.0) forgets the
    scalar where the block comes from memory (`x + row * n + index`), and loads another element.
    """

    name = "sum-single-lane-offsets"
    level = "ttir"

    def run(self, module: Module, context: PassContext) -> None:
        """Rewrite each such `tt.addptr`, until none is left on the way to its base."""
        for op in module.walk("tt.addptr"):
            tensor = TensorType.of(op.results[0])
            if tensor is not None and math.prod(tensor.shape) == 1:
                while _sum(module, op):
                    context.statistic("offsets summed")


def _sum(module: Module, op: Operation) -> bool:
    """Move the last scalar offset of the base of `op` into its block of offsets."""
    pointers, offsets = op.operands
    splat = defining_op(pointers)
    if splat is None or splat.name != "tt.splat":
        return False
    scalar = defining_op(splat.operands[0])
    if scalar is None or scalar.name != "tt.addptr":
        return False
    build = Builder(module, before=op)
    base, offset = scalar.operands
    wide = TensorType.of(offsets)
    assert wide is not None
    sums = wide.with_element("i64").text()
    block = build.op("tt.splat", [_as_i64(build, offset, "i64")], sums)
    op.operands[0] = build.op("tt.splat", [base], pointers.type)
    op.operands[1] = build.addi(block, _as_i64(build, offsets, sums))
    return True


def _as_i64(build: Builder, value: Value, wide: str) -> Value:
    """Return `value`, sign-extended to the type `wide` as `tt.addptr` does."""
    return value if element_of(value) == "i64" else build.op("arith.extsi", [value], wide)
