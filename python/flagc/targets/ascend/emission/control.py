"""Flags and barriers, and which block of the launch this is."""

from __future__ import annotations

from flagc.ir.module import Operation, Value
from flagc.ir.staged.operations import StagedOp
from flagc.targets.ascend.emission.abi import KernelFunction
from flagc.targets.ascend.emission.code import Code
from flagc.targets.ascend.emission.tiles import Tiles


class Control:
    """Emission of what orders pipes and names blocks."""

    def __init__(self, code: Code, tiles: Tiles, kernel: KernelFunction) -> None:
        self._code = code
        self._scalars = code.scalars
        self._tiles = tiles
        self._kernel = kernel

    def flag(self, view: StagedOp) -> None:
        """Set or wait for an event, of a tile that of its buffer in turn."""
        event = view.integer("event")
        pipes = {
            "set_pipe": f"#hivm.pipe<PIPE_{pipe_name(view.text('from'))}>",
            "wait_pipe": f"#hivm.pipe<PIPE_{pipe_name(view.text('to'))}>",
        }
        slot = self._tiles.of(view.operand("tile")).slot if view.has("tile") else 0
        number = self._scalars.add(slot, event)
        if isinstance(number, int):
            pipes["static_event_id"] = f"#hivm.event<EVENT_ID{number}>"
            self._code.hivm(view.name, **pipes)
            return
        self._scalars.op(f"hivm.hir.{view.name}", [number], [], **pipes)

    def barrier(self, view: StagedOp) -> None:
        """All earlier work of a pipe first."""
        self._code.barrier(pipe_name(view.text("pipe")))

    def block_index(self) -> Value:
        """Return which block of the launch this is, i32."""
        scalars = self._scalars
        index = scalars.op("hivm.hir.get_block_idx", [], ["i64"]).results[0]
        return scalars.op("arith.trunci", [index], ["i32"]).results[0]

    def sub_block(self) -> Value:
        """Return which of a block's vector cores this is, i32."""
        index = self._scalars.op("hivm.hir.get_sub_block_idx", [], ["i64"]).results[0]
        return self._scalars.op("arith.trunci", [index], ["i32"]).results[0]

    def program_id(self, axis: int) -> Value:
        """Return the program's index along `axis`: as in the vendor's modules, z runs fastest."""
        scalars = self._scalars
        index = self.block_index()
        inner: Value | None = None
        for faster in range(axis + 1, 3):
            size = self._kernel.grid_size(faster)
            inner = (
                size
                if inner is None
                else scalars.op("arith.muli", [inner, size], ["i32"]).results[0]
            )
        if inner is not None:
            index = scalars.op("arith.divsi", [index, inner], ["i32"]).results[0]
        size = self._kernel.grid_size(axis)
        return scalars.op("arith.remsi", [index, size], ["i32"]).results[0]

    def grid_size(self, axis: int) -> Value:
        """Return the grid's size along `axis`, i32."""
        return self._kernel.grid_size(axis)

    def leave(self, op: Operation) -> None:
        """The kernel's end: everything it started is done first."""
        self._code.barrier("ALL")
        self._scalars.op("func.return", [], [])


def pipe_name(pipe: str) -> str:
    """Return what a pipe is called on its own core."""
    return pipe.removeprefix("AIV.")
