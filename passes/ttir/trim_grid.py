"""Launch no programs whose tile lies outside of the tensor."""

from __future__ import annotations

from dataclasses import dataclass, replace

from flagc.ir.analysis.accesses import STORES, Access, describe
from flagc.ir.analysis.affine import SCALAR, Affine
from flagc.ir.analysis.index_values import IndexValues
from flagc.ir.analysis.memory_effects import accesses_of
from flagc.ir.analysis.tensor_axes import Flaw, nested_ops
from flagc.ir.launch_arguments import plan_of, set_plan
from flagc.ir.launch_plan import LaunchPlan
from flagc.ir.module import Module, Operation, defining_op
from flagc.pipeline.context import PassContext
from flagc.pipeline.passes import Pass, register

_READS = frozenset({"tt.load", "tt.descriptor_load"})
# By axis, from which program on nothing is stored; axes that do not matter are left out.
Ends = dict[int, int]


@register
@dataclass(frozen=True)
class TrimGrid(Pass):
    """Launch only programs that store something, where the tensor's sizes are numbers.

    16 rows in tiles of 64, of a script that has tiles of 128: the second of two tiles is empty, and
    would still take its place on a multiprocessor. `specialise-arguments` makes sizes numbers.
    Later passes know that there are no more programs, so `drop-proven-masks` takes away the masks
    of rows and columns that tiles divide. For kernels whose writes are all masked stores. Run it
    after `resize-tiles`, before passes that change masks or map program ids.
    """

    name = "trim-grid"
    level = "ttir"

    def run(self, module: Module, context: PassContext) -> None:
        """Give the launch plan limits."""
        if context.target is not None and not hasattr(context.target, "multiprocessors"):
            context.remark(None, "not applied: only launchers for CUDA change the grid")
            return
        function = context.only_function()
        if function is None:
            return
        ends = _ends(function)
        if isinstance(ends, Flaw):
            context.remark(ends.op, f"not applied: {ends.reason}")
            return
        plan = plan_of(function) or LaunchPlan()
        x, y, z = (max(ends[axis], 1) if axis in ends else 0 for axis in range(3))
        set_plan(module, function, replace(plan, limits=(x, y, z)))
        context.statistic("axes trimmed", len(ends))


def _ends(function: Operation) -> Ends | Flaw:
    """Return from which program on nothing is stored, by any of the stores."""
    plan = plan_of(function)
    if plan is not None and (plan.programs or plan.ways > 1):
        return Flaw(function, "programs share tiles already")
    values = IndexValues()
    stores: list[tuple[Operation, Ends]] = []
    for op in list(nested_ops(function))[1:]:
        if op.name == "tt.get_num_programs":
            return Flaw(op, "the kernel reads the size of the grid")
        if op.name in STORES:
            access = describe(values, op)
            if not isinstance(access, Access):
                return Flaw(op, f"it is not known where this stores: {access.reason}")
            bounds = [bound.limit for part in access.dimensions for bound in part.upper]
            stores.append((op, _ends_of(bounds)))
        elif op.name not in _READS and any(a.writes or a.pointer is None for a in accesses_of(op)):
            return Flaw(op, "this may write to memory whatever the tile")
    if not stores:
        return Flaw(function, "the kernel stores nothing")
    common = set.intersection(*(set(ends) for _, ends in stores))
    if not common:
        reason = "no bound of this store is a number; specialise-arguments makes sizes numbers"
        return Flaw(next((op for op, ends in stores if not ends), stores[0][0]), reason)
    return {axis: max(ends[axis] for _, ends in stores) for axis in common}


def _ends_of(bounds: list[Affine]) -> Ends:
    """Return, of bounds `number - length * program`, the program that is the first beyond."""
    ends: Ends = {}
    for bound in bounds:
        symbols = list(bound.symbols())
        if len(symbols) != 1 or symbols[0].kind != SCALAR or bound.degree(symbols[0]) != 1:
            continue
        op = defining_op(symbols[0].operands[0])
        length = bound.coefficient(symbols[0]).number
        number = bound.without(symbols[0]).number
        if op is None or op.name != "tt.get_program_id" or length is None or number is None:
            continue
        if length < 0:
            axis, end = op.attributes["axis"].value, -(number // length)
            ends[axis] = min(end, ends.get(axis, end))
    return ends
