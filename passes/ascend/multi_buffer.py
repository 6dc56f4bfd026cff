"""Give tiles several buffers in rotation, so that pipes work ahead of each other."""

from __future__ import annotations

from dataclasses import dataclass

from flagc.ir.analysis.tensor_axes import nested_ops
from flagc.ir.analysis.tile_accesses import buffers_of, is_allocation, tile_of
from flagc.ir.analysis.tile_liveness import lifetimes, peak_bytes, rotates
from flagc.ir.module import Module, Operation
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
    loops, or in a branch, keep one buffer.
    """

    name = "multi-buffer"
    level = "staged"
    l1: int = 0
    l0: int = 2
    l0c: int = 0

    def run(self, module: Module, context: PassContext) -> None:
        """Set the attribute `buffers`."""
        for name, depth in (("l1", self.l1), ("l0", self.l0), ("l0c", self.l0c)):
            if depth < 0 or (name == "l0" and depth == 0):
                context.error(None, f"{name} = {depth}: a tile has at least one buffer")
        stages = int(context.options.get("num_stages") or _LEAST_DEPTH)
        asked = {"l1": self.l1 or stages, "l0c": self.l0c}
        wanted = {
            "l1": self.l1 or max(stages, _LEAST_DEPTH),
            **dict.fromkeys(("l0a", "l0b", "bt"), self.l0),
            "l0c": self.l0c or _LEAST_DEPTH,
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
        rotating = [op for op in tiles if rotates(op)]
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
