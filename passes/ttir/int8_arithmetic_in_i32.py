"""Compute on 8-bit integers in 32 bits."""

from __future__ import annotations

from dataclasses import dataclass

from flagc.ir.builder import Builder
from flagc.ir.module import Module
from flagc.ir.types import TensorType
from flagc.pipeline.context import PassContext
from flagc.pipeline.passes import Pass, register

_OPS = ("arith.addi", "arith.subi", "arith.muli", "arith.divsi", "arith.remsi")


@register
@dataclass(frozen=True)
class Int8ArithmeticInI32(Pass):
    """Compute sums, differences, products, quotients and remainders of `i8` tensors in `i32`.

        a + b  becomes  trunc(sext(a) + sext(b))

    The result is the same, overflow included. `bishengir-compile` 1.2.0 computes these in `f32`
    (`hfusion-normalize-ops`), and then takes the casts to `i8` and back between two of them, or
    before the first, for nothing (`hfusion-simplify-ops`): `a / b + c` keeps the fraction of
    `a / b`, and `a - x.to(tl.int8)` that of `x`. Casts from `i32` it keeps, and as many are needed.
    """

    name = "int8-arithmetic-in-i32"
    level = "ttir"

    def run(self, module: Module, context: PassContext) -> None:
        """Rewrite each such op; scalars are right already."""
        for op in module.walk(*_OPS):
            tensor = TensorType.of(op.results[0])
            if tensor is None or tensor.element != "i8":
                continue
            build = Builder(module, before=op)
            wide = tensor.with_element("i32").text()
            operands = [build.op("arith.extsi", [value], wide) for value in op.operands]
            result = build.op("arith.trunci", [build.binary(op.name, *operands)], tensor.text())
            module.replace(op, [result])
            context.statistic("ops widened")
