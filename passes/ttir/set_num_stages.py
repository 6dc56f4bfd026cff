"""Set how many iterations of a loop's loads are in flight."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from flagc.ir.locations import source_location
from flagc.ir.module import Module, Operation
from flagc.pipeline.context import PassContext
from flagc.pipeline.passes import Pass, register

# What the software pipeliner moves ahead, or overlaps with.
_PIPELINED = frozenset(
    {"tt.load", "tt.descriptor_load", "tt.descriptor_gather", "tt.dot", "tt.dot_scaled"}
)


@register
@dataclass(frozen=True)
class SetNumStages(Pass):
    """Set `tt.num_stages` of loops, which outranks the kernel's `num_stages`.

    `loop` is "all", or the number of one `scf.for`, counted from 0 in program order over the whole
    module. Loops without loads and dots of their own are left alone, with a remark: only an
    innermost loop is pipelined. Each stage of a GEMM's main loop costs one more tile of A and of B
    in shared memory; 1 turns pipelining off.
    """

    name = "set-num-stages"
    level = "ttir"
    n: int = 3
    loop: str = "all"

    def run(self, module: Module, context: PassContext) -> None:
        """Set the attribute on the chosen loops."""
        if self.n < 1:
            context.error(None, f"n is {self.n}; a loop has at least 1 stage")
        loops = list(module.walk("scf.for"))
        for loop in self._chosen(loops, context):
            if not any(op.name in _PIPELINED for op in _own_ops(loop)):
                context.remark(loop, "not set: this loop has no load or dot of its own to pipeline")
                continue
            loop.attributes["tt.num_stages"] = module.integer(self.n)
            context.statistic("loops set")
        if not loops:
            context.remark(None, "not set: the kernel has no loop with a counter (scf.for)")

    def _chosen(self, loops: list[Operation], context: PassContext) -> list[Operation]:
        if self.loop == "all":
            return loops
        if not self.loop.isdigit():
            context.error(None, f"loop is '{self.loop}'; it must be 'all' or a number from 0")
        number = int(self.loop)
        if loops and number >= len(loops):
            listed = ", ".join(f"{i} ({_place(loop)})" for i, loop in enumerate(loops))
            context.error(None, f"there is no loop {number}; the kernel's loops are {listed}")
        return loops[number : number + 1]


def _own_ops(loop: Operation) -> Iterator[Operation]:
    """Yield the ops of a loop's body, branches included, without those of inner loops."""
    for region in loop.regions:
        for block in region.blocks:
            for child in block.operations:
                op = child.operation
                yield op
                if op.name not in ("scf.for", "scf.while"):
                    yield from _own_ops(op)


def _place(loop: Operation) -> str:
    location = source_location(loop.location)
    return location.short if location is not None else "line unknown"
