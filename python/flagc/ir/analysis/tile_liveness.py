"""When a tile's bytes are in use, and how many bytes of a memory are in use at a time.

A tile that is allocated in a loop's body lives as long as the loop runs: its buffers are filled
ahead, for iterations to come (`rotates`). Others live from their allocation to their last access:
those outside of loops, and those in a branch, which is seldom taken.
"""

from __future__ import annotations

from dataclasses import dataclass

from flagc.ir.analysis.tensor_axes import nested_ops
from flagc.ir.analysis.tile_accesses import (
    LOOPS,
    is_allocation,
    loops_around,
    tile_of,
)
from flagc.ir.module import Operation
from flagc.ir.staged.operations import staged_op


@dataclass(frozen=True)
class Lifetime:
    """Positions of a function's ops, in program order, from `start` to `end` (included)."""

    allocation: Operation
    start: int
    end: int

    def meets(self, other: Lifetime) -> bool:
        """Return whether both are in use at some time."""
        return self.start <= other.end and other.start <= self.end


def rotates(allocation: Operation) -> bool:
    """Return whether a loop's body makes the tile, in every iteration."""
    return str(allocation.parent.operation.name) in LOOPS


def lifetimes(function: Operation) -> list[Lifetime]:
    """Return the lifetime of every tile of `function`, in program order."""
    ops = list(nested_ops(function))
    positions = {op: number for number, op in enumerate(ops)}
    # A function of several blocks may branch back.
    jumps = len(list(function.regions[0].blocks)) > 1
    found = []
    for op in ops:
        if not is_allocation(op):
            continue
        if jumps or rotates(op):
            owner = function if jumps else op.parent.operation
            found.append(Lifetime(op, positions[owner], _last(owner, positions)))
        else:
            users = [use.owner.operation for use in op.results[0].uses]
            ends = [_end(user, loops_around(op), positions) for user in users]
            found.append(Lifetime(op, positions[op], max([positions[op], *ends])))
    return found


def _end(user: Operation, around: list[Operation], positions: dict[Operation, int]) -> int:
    """Return the end of a use: of the outermost loop around it that is not `around` the tile."""
    if staged_op(user) is None:
        # A loop or a branch carries the tile on, to wherever.
        return len(positions) - 1
    loops = [loop for loop in loops_around(user) if loop not in around]
    return _last(loops[-1], positions) if loops else positions[user]


def _last(op: Operation, positions: dict[Operation, int]) -> int:
    return max(positions[inner] for inner in nested_ops(op))


def peak_bytes(found: list[Lifetime], memory: str, buffers: dict[Operation, int]) -> int:
    """Return the most bytes of `memory` in use at a time, with `buffers` of each tile."""
    of_memory = [life for life in found if tile_of(life.allocation).memory == memory]
    peak = 0
    for start in {life.start for life in of_memory}:
        at_start = [life for life in of_memory if life.start <= start <= life.end]
        peak = max(
            peak,
            sum(
                buffers[life.allocation] * tile_of(life.allocation).reserved_bytes
                for life in at_start
            ),
        )
    return peak
