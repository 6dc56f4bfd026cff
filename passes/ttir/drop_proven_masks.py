"""Drop conditions of masks that always hold."""

from __future__ import annotations

from dataclasses import dataclass

from flagc.ir.analysis.formula_text import text
from flagc.ir.analysis.index_values import IndexValues
from flagc.ir.analysis.integer_facts import Facts
from flagc.ir.analysis.masks import MaskTerm, mask_terms
from flagc.ir.module import Module, Operation
from flagc.passes.ttir.masked_ops import drop_conditions, masked_ops
from flagc.pipeline.context import PassContext
from flagc.pipeline.passes import Pass, register


@register
@dataclass(frozen=True)
class DropProvenMasks(Pass):
    """Drop conditions that always hold from the masks of loads, stores and `tl.where`.

    In `for start in range(0, K, 64)`, `start + tl.arange(0, 64) < K` always holds if 64 divides K.
    Such facts come from the specialisation of arguments (16 divides K), `tl.constexpr` sizes,
    `tl.multiple_of`, loops' bounds, and what `//`, `%`, `min` and `max` imply: with a swizzled
    program id, `pid % tl.cdiv(N, 128) * 128 + tl.arange(0, 128) < N` if 128 divides N.
    `grid_x`, `grid_y` and `grid_z` promise the number of programs of an axis; 0 promises nothing.

    Taken for granted: index arithmetic does not overflow, indices are divided by positive numbers,
    and an argument that is divided into blocks (`tl.cdiv(K, 64)`) is not negative.

    Where only a property of the launch is missing (K is a multiple of 64 this time),
    `peel-k-tail` takes the mask out of all iterations but the last.
    """

    name = "drop-proven-masks"
    level = "ttir"
    grid_x: int = 0
    grid_y: int = 0
    grid_z: int = 0

    def run(self, module: Module, context: PassContext) -> None:
        """Rewrite every mask of which some conditions are proven."""
        for axis, size in zip("xyz", (self.grid_x, self.grid_y, self.grid_z), strict=True):
            if size < 0:
                context.error(None, f"grid-{axis} is {size}; it must be positive, or 0: not known")
        values = IndexValues()
        facts = Facts(values, [size or None for size in (self.grid_x, self.grid_y, self.grid_z)])
        # All of the analysis comes before the first change: it knows values by their identity.
        masked = [(op, mask, mask_terms(values, mask)) for op, mask in masked_ops(module.walk())]
        proven = {
            term.value for _, _, terms in masked for term in terms if _always_holds(facts, term)
        }
        if not proven:
            _explain(context, [(op, term) for op, _, terms in masked for term in terms])
        for op, mask, terms in masked:
            dropped = [term.value for term in terms if term.value in proven]
            if dropped:
                drop_conditions(module, op, mask, dropped)
                context.statistic("conditions dropped", len(dropped))


def _always_holds(facts: Facts, term: MaskTerm) -> bool:
    return term.margin is not None and facts.is_non_negative(term.margin)


def _explain(context: PassContext, masks: list[tuple[Operation, MaskTerm]]) -> None:
    """Say of the first mask that stays what is not known."""
    if not masks:
        context.remark(None, "not applied: the kernel has no masks")
        return
    op, term = masks[0]
    if term.margin is None:
        reason = term.problem.reason if term.problem is not None else "its condition is no formula"
    else:
        reason = f"it is not known that {text(term.margin)} is at least 0"
    context.remark(op, f"no mask is proven to always hold; of this one, {reason}")
