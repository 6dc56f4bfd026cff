"""Compute the error function as a polynomial."""

from __future__ import annotations

from dataclasses import dataclass

from flagc.ir.builder import Builder
from flagc.ir.module import Module, Value
from flagc.ir.types import element_of
from flagc.pipeline.context import PassContext
from flagc.pipeline.passes import Pass, register

# erf(x) = x * P(u), u = x * (x * SCALE) - 1, for |x| <= END; beyond, erf is 1 in f32 but for 5e-8.
# P fits erf(x) / x on a grid of u, weighted by Lawson's iteration so that the largest error of
# x * P is least; lowest power first. In f32 with fused multiply-adds, END * P(u) is exactly 1.
END = 3.85
SCALE = 2.0 / END**2
COEFFICIENTS = (
    0.3672848045825958, -0.18330174684524536, 0.1362115442752838, -0.11037469655275345,
    0.09081912040710449, -0.07331274449825287, 0.05640518665313721, -0.04041697084903717,
    0.0283355712890625, -0.020172590389847755, 0.011060225777328014, -0.0034307457972317934,
    0.002662255195900798, -0.003309690160676837, 0.0012807257007807493,
)  # fmt: skip


@register
@dataclass(frozen=True)
class PolynomialErf(Pass):
    """Compute `tl.erf` of f32 by one polynomial of degree 29, for all arguments alike.

    libdevice's takes two polynomials, an exponential and a selection of every coefficient, about 33
    instructions; this takes 19. The result is off by at most 2.5e-7 absolutely (four units in the
    last place of numbers near 1) and by 7e-7 relatively; infinities give 1 and -1, NaN gives NaN.
    For epilogues (GELU) whose arithmetic takes as long as the matrix product.
    """

    name = "polynomial-erf"
    level = "ttir"

    def run(self, module: Module, context: PassContext) -> None:
        """Replace each `math.erf`."""
        calls = list(module.walk("math.erf"))
        if not calls:
            context.remark(None, "not applied: the kernel has no erf")
        for call in calls:
            if element_of(call.results[0]) != "f32":
                context.remark(call, f"left as it is: {element_of(call.results[0])} is not f32")
                continue
            module.replace(call, [_erf(Builder(module, before=call), call.operands[0])])
            context.statistic("calls replaced")


def _erf(build: Builder, value: Value) -> Value:
    kind = value.type
    # These two keep NaN.
    below = build.binary("arith.minimumf", value, build.constant(END, kind))
    near = build.binary("arith.maximumf", below, build.constant(-END, kind))
    scaled = build.binary("arith.mulf", near, build.constant(SCALE, kind))
    u = build.op("math.fma", [near, scaled, build.constant(-1.0, kind)], kind)
    total = build.constant(COEFFICIENTS[-1], kind)
    for coefficient in COEFFICIENTS[-2::-1]:
        total = build.op("math.fma", [total, u, build.constant(coefficient, kind)], kind)
    return build.binary("arith.mulf", near, total)
