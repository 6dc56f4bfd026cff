"""Let programs whose tile lies outside of the tensor skip their loop."""

from __future__ import annotations

from dataclasses import dataclass

from flagc.ir.analysis.accesses import STORES, Access, describe
from flagc.ir.analysis.affine import Affine
from flagc.ir.analysis.index_values import IndexValues
from flagc.ir.analysis.memory_effects import accesses_of
from flagc.ir.analysis.tensor_axes import Flaw, nested_ops
from flagc.ir.builder import Builder
from flagc.ir.formula_ops import compute, values_of, widest
from flagc.ir.module import Module, Operation, Value, defining_op
from flagc.pipeline.context import PassContext
from flagc.pipeline.passes import Pass, register

_READS = frozenset({"tt.load", "tt.descriptor_load"})


@register
@dataclass(frozen=True)
class SkipEmptyTiles(Pass):
    """Run no iterations of a loop where nothing of the tile would be stored.

    for start in range(0, K, 64)  =>  for start in range(0, K if row < M and column < N else 0, 64)

    Such programs exist where the grid has more tiles than the tensor, as after `resize-tiles` to
    less than the script's: 16 rows in tiles of 128 leave 7 of 8 tiles of 16 empty. Handled are
    loops at the top level of kernels that write with masked stores only, all outside of loops. Run
    it after passes that look at masks and loops, before `make-persistent` and `split-k`.
    """

    name = "skip-empty-tiles"
    level = "ttir"

    def run(self, module: Module, context: PassContext) -> None:
        """Rewrite the end of each loop at the top level."""
        for function in module.functions():
            ops = [op.operation for op in function.regions[0].blocks[0].operations]
            loops = [op for op in ops if op.name == "scf.for"]
            limits = _limits(function, loops)
            if isinstance(limits, Flaw):
                context.remark(limits.op, f"not applied: {limits.reason}")
                continue
            for loop in loops:
                if not _known_before(limits, ops[: ops.index(loop)], function):
                    context.remark(loop, "loop left as it is: the tile's place is computed later")
                    continue
                _skip(module, loop, limits)
                context.statistic("loops skipped for empty tiles")


def _limits(function: Operation, loops: list[Operation]) -> list[list[Affine]] | Flaw:
    """Return, for each store, the formulas of which one not above 0 says that nothing is stored."""
    if not loops or len(list(function.regions[0].blocks)) > 1:
        return Flaw(function, "the kernel has no loop at its top level, or returns early")
    inside = {op for loop in loops for op in nested_ops(loop)}
    values = IndexValues()
    found: list[list[Affine]] = []
    for op in list(nested_ops(function))[1:]:
        if op.name in STORES and op not in inside:
            access = describe(values, op)
            if not isinstance(access, Access):
                return Flaw(op, f"it is not known where this stores: {access.reason}")
            found.append([b.limit for dimension in access.dimensions for b in dimension.upper])
            if not found[-1]:
                return Flaw(op, "this stores whole tiles: its mask has no bounds")
        elif op.name not in _READS and any(access.writes for access in accesses_of(op)):
            return Flaw(op, "this may write to memory whatever the tile")
    return found or Flaw(function, "the kernel stores nothing")


def _known_before(limits: list[list[Affine]], ops: list[Operation], function: Operation) -> bool:
    """Return whether all that the formulas need is computed by `ops`, or an argument."""
    arguments = list(function.regions[0].blocks[0].arguments)
    for limit in (limit for group in limits for limit in group):
        for value in values_of(limit):
            definition = defining_op(value)
            if value not in arguments if definition is None else definition not in ops:
                return False
    return True


def _skip(module: Module, loop: Operation, limits: list[list[Affine]]) -> None:
    build = Builder(module, before=loop)
    is_empty: Value | None = None
    for group in limits:
        nothing: Value | None = None
        for limit in dict.fromkeys(group):
            kind = widest(limit, "i32")
            below = build.cmpi("sle", compute(build, limit, kind), build.constant(0, kind))
            nothing = below if nothing is None else build.binary("arith.ori", nothing, below)
        is_empty = nothing if is_empty is None else build.andi(is_empty, nothing)
    loop.operands[1] = build.select(is_empty, loop.operands[0], loop.operands[1])
