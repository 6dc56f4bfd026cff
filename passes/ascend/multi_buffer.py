"""Give tiles several buffers in rotation, so that pipes work ahead of each other."""

from __future__ import annotations

from dataclasses import dataclass

from flagc.ir.analysis.tensor_axes import nested_ops
from flagc.ir.analysis.tile_accesses import (
    buffers_of,
    is_allocation,
    loops_around,
    tile_of,
)
from flagc.ir.analysis.tile_liveness import Lifetime, lifetimes, peak_bytes, rotates
from flagc.ir.module import Module, Operation
from flagc.ir.staged.operations import MOST_CROSS_SETS, staged_op
from flagc.pipeline.context import PassContext
from flagc.pipeline.passes import Pass, register

# With one buffer, the pipe that fills a tile waits for the pipe that empties it.
_LEAST_DEPTH = 2


@register
@dataclass(frozen=True)
class MultiBuffer(Pass):
    """Set the number of buffers of tiles that loops fill again and again.

    `l1` is the depth of the tiles in L1; 0 takes the kernel's `num_stages`, at least 2. `l0` is
    that of L0A, L0B and the bias table. `l0c` is that of accumulators; 0 takes 2. As many as fit
    are taken, and a remark says so where the kernel or an option asked for more; tiles of outer
    loops keep one buffer where two of all do not fit. Tiles outside of
    loops, or in a branch, keep one buffer; so do tiles of UB that no move fills or empties. `ub` is
    the depth of the others, and `gm` that of what the cube core hands to its vector cores.
    """

    name = "multi-buffer"
    level = "staged"
    l1: int = 0
    l0: int = 2
    l0c: int = 0
    ub: int = 2
    gm: int = 2

    def run(self, module: Module, context: PassContext) -> None:
        """Set the attribute `buffers`."""
        for name in ("l1", "l0", "l0c", "ub", "gm"):
            depth = getattr(self, name)
            if depth < 0 or (name in ("l0", "ub", "gm") and depth == 0):
                context.error(None, f"{name} = {depth}: a tile has at least one buffer")
        if self.gm > MOST_CROSS_SETS:
            text = f"gm = {self.gm}: a flag between cores counts to {MOST_CROSS_SETS}"
            context.error(None, text)
        stages = int(context.options.get("num_stages") or _LEAST_DEPTH)
        asked = {"l1": self.l1 or stages, "l0c": self.l0c, "ub": self.ub, "gm": self.gm}
        wanted = {
            "l1": self.l1 or max(stages, _LEAST_DEPTH),
            **dict.fromkeys(("l0a", "l0b", "bt"), self.l0),
            "l0c": self.l0c or _LEAST_DEPTH,
            "ub": self.ub,
            "gm": self.gm,
        }
        for function in module.functions():
            for memory, depth in wanted.items():
                self._deepen(module, context, function, memory, depth, asked.get(memory, self.l0))

    def _deepen(
        self,
        module: Module,
        context: PassContext,
        function: Operation,
        memory: str,
        wanted: int,
        asked: int,
    ) -> None:
        """Set the buffers of the tiles in `memory`: the most that fit, up to `wanted`."""
        tiles = [
            op for op in nested_ops(function) if is_allocation(op) and tile_of(op).memory == memory
        ]
        rotating = [op for op in tiles if rotates(op) and (memory != "ub" or _is_handed_on(op))]
        if not rotating:
            return
        capacity = getattr(context.target, f"{memory}_bytes", None)
        found = lifetimes(function)
        depth, deepened = _most(found, memory, wanted, tiles, rotating, capacity)
        if depth < asked:
            total = sum(tile_of(op).bytes for op in rotating)
            text = (
                f"{asked} buffers were asked for; {depth} fit {memory.upper()}'s {capacity} bytes "
                f"with tiles of {total} bytes in loops"
            )
            context.remark(rotating[0], text)
        for op in deepened:
            op.attributes["buffers"] = module.integer(depth)
        context.statistic(f"buffers of a tile in {memory}", depth)


def _most(
    found: list[Lifetime],
    memory: str,
    wanted: int,
    tiles: list[Operation],
    rotating: list[Operation],
    capacity: int | None,
) -> tuple[int, list[Operation]]:
    """Return the most buffers that fit, up to `wanted`, and the tiles that get them.

    Before those of inner loops get one only, those of outer loops, which are filled less often (a
    tile's bias, once for all of K), keep one.
    """
    nesting = {op: len(loops_around(op)) for op in rotating}
    inner = [op for op in rotating if nesting[op] == max(nesting.values())]
    for deepened in (rotating, inner):
        for depth in range(wanted, 1, -1):
            buffers = {op: depth if op in deepened else buffers_of(op) for op in tiles}
            if capacity is None or peak_bytes(found, memory, buffers) <= capacity:
                return depth, deepened
    return 1, rotating


def _is_handed_on(allocation: Operation) -> bool:
    """Return whether several pipes use the tile; one pipe's own work is in order anyway."""
    users = (staged_op(use.owner.operation) for use in allocation.results[0].uses)
    return len({user.pipe for user in users if user is not None and user.pipe is not None}) > 1
