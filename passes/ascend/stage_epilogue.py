"""Compute on the vector cores what is done to sums of products before they are stored."""

from __future__ import annotations

from dataclasses import dataclass

from flagc.ir.analysis.accesses import Refused
from flagc.ir.analysis.index_values import IndexValues
from flagc.ir.analysis.integer_facts import Facts
from flagc.ir.equal_ops import merge_equal_scalars
from flagc.ir.module import Module, Operation
from flagc.ir.scalar_values import ScalarValues
from flagc.ir.staged.tiles import TileType
from flagc.ir.staged.verify_vector import MOST_REPEATS
from flagc.passes.ascend.cube_bias import late_bias
from flagc.passes.ascend.epilogue_code import EpilogueCode
from flagc.passes.ascend.epilogue_groups import Group, components, group_of
from flagc.passes.ascend.epilogue_layout import Layout, padded_columns
from flagc.passes.ascend.stage_store import (
    STORES,
    Move,
    atomic_problem,
    biases_of,
    erase_readers,
    move_of,
)
from flagc.pipeline.context import PassContext
from flagc.pipeline.passes import Pass, register


@register
@dataclass(frozen=True)
class StageEpilogue(Pass):
    """Hand sums to the vector cores where the way from L0C cannot do what is done to them.

    acc = read_accumulator(tile)                 slot = staged.alloc            gm
    r = tl.load(residual)                        staged.spill(tile, slot)       cube core
    y = acc * scale + r                     =>   for part of half of the rows:  vector cores
    tl.store(ptrs, y.to(fp16), mask)               x = fetch(slot); r = load_ub(residual)
                                                   y = vector_cast(x * scale + r)
                                                   store_ub(y, ptrs)

    Each of a block's two vector cores computes half of the rows, `rows` of them at a time; 0 takes
    16 KiB of f32. What the store's mask leaves out is neither loaded nor computed. Sums that
    stage-store stores as well (bias, ReLU and rounding, in this order) are left to it, but with
    `always`: `split-k-on-cores` wants them on the vector cores.
    """

    name = "stage-epilogue"
    level = "staged"
    rows: int = 0
    always: bool = False

    def run(self, module: Module, context: PassContext) -> None:
        """Replace stores that stage-store does not do."""
        if self.rows < 0 or self.rows > MOST_REPEATS:
            context.error(None, f"rows = {self.rows}: a vector instruction takes {MOST_REPEATS}")
        values = IndexValues()
        facts = Facts(values)
        found = []
        for stores in components(list(module.walk(*STORES))):
            if not self.always and _goes_by_fixpipe(values, facts, stores):
                continue
            for op in stores:
                if (problem := atomic_problem(op)) is not None:
                    context.decline(op, problem)
            group = group_of(values, facts, stores)
            if isinstance(group, Refused):
                context.decline(group.at, group.reason)
            found.append((group, self._layout(context, group)))
        scalars = ScalarValues(module, values)
        for group, (layout, size) in found:
            EpilogueCode(module, scalars, group, layout, size).create()
            context.statistic("epilogues on vector cores")
        for group, _ in found:
            for store in group.stores:
                store.block.op.erase()
        if found:
            erase_readers(module)
            merge_equal_scalars(module)

    def _layout(self, context: PassContext, group: Group) -> tuple[Layout, tuple[int, int]]:
        layout = Layout([store.node for store in group.stores])
        accumulator = TileType.of(group.readers[0].operands[0])
        assert accumulator is not None
        columns = padded_columns(accumulator.columns)
        capacity = int(context.target.ub_bytes)
        half = -(-group.rows[1] // 2)
        rows = layout.rows(half, columns, capacity, self.rows)
        if rows is None:
            text = (
                f"the epilogue needs {layout.bytes(16, columns)} bytes of UB for 16 rows, "
                f"{context.target.short_name} has {capacity}; make the blocks narrower"
            )
            context.decline(group.place, text)
        return layout, (rows, columns)


def _goes_by_fixpipe(values: IndexValues, facts: Facts, stores: list[Operation]) -> bool:
    """Return whether stage-store can do all stores of these sums."""
    moves: list[Move] = []
    for op in stores:
        move = move_of(values, facts, op)
        if isinstance(move, Refused):
            return False
        moves.append(move)
    biases = biases_of(values, facts, moves)
    if isinstance(biases, Refused):
        return False
    return not any(late_bias(tile, bias) for tile, bias in biases.items())
