"""Give tiles several buffers in rotation, so that pipes work ahead of each other."""

from __future__ import annotations

from dataclasses import dataclass

from flagc.ir.analysis.tensor_axes import nested_ops
from flagc.ir.analysis.tile_accesses import buffers_of, is_allocation, tile_of
from flagc.ir.analysis.tile_liveness import lifetimes, peak_bytes, rotates
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
    are taken, and a remark says so where the kernel or an option asked for more. Tiles outside of
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
        depth = wanted
        while depth > 1 and capacity is not None:
            buffers = {op: depth if op in rotating else buffers_of(op) for op in tiles}
            if peak_bytes(found, memory, buffers) <= capacity:
                break
            depth -= 1
        if depth < asked:
            total = sum(tile_of(op).bytes for op in rotating)
            text = (
                f"{asked} buffers were asked for; {depth} fit {memory.upper()}'s {capacity} bytes "
                f"with tiles of {total} bytes in loops"
            )
            context.remark(rotating[0], text)
        for op in rotating:
            op.attributes["buffers"] = module.integer(depth)
        context.statistic(f"buffers of a tile in {memory}", depth)


def _is_handed_on(allocation: Operation) -> bool:
    """Return whether several pipes use the tile; one pipe's own work is in order anyway."""
    users = (staged_op(use.owner.operation) for use in allocation.results[0].uses)
    return len({user.pipe for user in users if user is not None and user.pipe is not None}) > 1
