"""A teaching example: take the addition out of `tt.dot`. Copy this file to start a pass.

A pass is one file like this one. What is worth knowing, in the order of the lines below:

1. `@register` makes the pass known by its `name`, to `flagc --passes`, `flagc-opt` and
   `flagc --list-passes`. A file of your own is loaded with `--load my_pass.py`.
2. `@dataclass(frozen=True)`: the fields are the pass's options. This pass has none.
3. `level` says which IR the pass reads. A `ttir` pass runs at the end of the stage `ttir` of any
   target, unless the pipeline text puts it elsewhere, as in `ttir@before(loop_unroll):my-pass`.
4. `run` changes the module in place. Afterwards the module is verified by Triton itself, so a
   mistake is reported as such and never reaches the next stage.

See what it does:

    flagc examples/gemm.py --target cuda:sm90 --passes unfuse-dot-acc --print-ir-after-change
"""

from __future__ import annotations

from dataclasses import dataclass

from flagc.ir.builder import Builder
from flagc.ir.module import Module, Operation, Value, defining_op
from flagc.ir.types import element_of, is_float
from flagc.pipeline.context import PassContext
from flagc.pipeline.passes import Pass, register


@register
@dataclass(frozen=True)
class UnfuseDotAcc(Pass):
    """Rewrite `dot(a, b, c)` as `dot(a, b, 0) + c`.

    The sum is the same in exact arithmetic; in floating point each dot is now rounded before it is
    added, as if the accumulator lived outside the matrix unit.
    """

    name = "unfuse-dot-acc"
    level = "ttir"

    def run(self, module: Module, context: PassContext) -> None:
        """Rewrite every dot whose accumulator is not zero already."""
        # `walk` yields the MLIR bindings' own Operation objects, nested regions included. The list
        # is complete before the first op is yielded: ops may be replaced while iterating.
        for dot in module.walk("tt.dot"):
            # In generic form the operands are a plain list; tt.dot's are (a, b, accumulator).
            accumulator = dot.operands[2]
            if _is_zero(accumulator):
                # A pass that leaves something alone says why, at the op's source line.
                context.remark(dot, "left alone: the accumulator is zero already")
                continue
            _unfuse(module, dot, accumulator)
            # Shown by --time-passes and in JSON output.
            context.statistic("dots unfused")


def _unfuse(module: Module, dot: Operation, accumulator: Value) -> None:
    # The builder puts new ops right before the dot, with the dot's source location.
    build = Builder(module, before=dot)
    zero = build.constant(0, accumulator.type)
    # All attributes are carried over (inputPrecision, maxNumImpreciseAcc), those that a later
    # Triton may add included.
    attributes = {name: dot.attributes[name] for name in dot.attributes}
    product = build.op(
        "tt.dot", [dot.operands[0], dot.operands[1], zero], dot.results[0].type, attributes
    )
    # int8 products accumulate in int32, everything else in floating point.
    addition = "arith.addf" if is_float(element_of(accumulator)) else "arith.addi"
    # `replace` rewires every use of the dot's result, and erases the dot.
    module.replace(dot, [build.binary(addition, product, accumulator)])


def _is_zero(value: Value) -> bool:
    """Return whether `value` is a constant filled with zeros."""
    definition = defining_op(value)
    if definition is None or definition.name != "arith.constant":
        return False  # `definition` is None for block arguments, such as a loop's accumulator.
    constant = definition.attributes["value"]
    return bool(constant.is_splat and constant.get_splat_value().value == 0)
