"""How a tile goes from pipe to pipe: what has to wait for what.

A tile is used by one pipe after the other: MTE2 fills it, then MTE1 reads it, and then MTE2 may
fill it again. In its home block (`tile_accesses.Home`) these are runs of statements of one pipe:

    nd2nz  nd2nz  |  for: load_l0a            runs: MTE2, MTE1
       MTE2       ->     MTE1                 hand-offs: MTE2 -> MTE1, and back to the start
        ^------------------'                  (MTE1 -> MTE2) when the block may run again
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

from flagc.ir.analysis.tile_accesses import (
    Access,
    GlobalAccess,
    Home,
    TileAccess,
    block_of,
    buffers_of,
    enclosing,
    home_of,
    loops_around,
    may_overlap,
)
from flagc.ir.module import Operation
from flagc.ir.regions import Block


@dataclass(frozen=True)
class HandOff:
    """A tile passes from pipe `source` to pipe `target` within its home block.

    Attributes:
        last: the position in the block of the last statement that uses it before.
        first: the position of the first that uses it after; for a rotation, it is in the next run
            of the block.
        is_rotation: whether it is the one from the end of the block to its start.
    """

    source: str
    target: str
    last: int
    first: int
    is_rotation: bool = False


@dataclass(frozen=True)
class Chain:
    """The hand-offs of one tile.

    Attributes:
        allocation: the tile's `staged.alloc`.
        block: its home block.
        slots: how many generations of the tile may be under way: its buffers, or 1 where the home
            block runs more often than the allocation.
        hand_offs: in program order, the rotation last.
    """

    allocation: Operation
    block: Block
    slots: int
    hand_offs: tuple[HandOff, ...]


def chain_of(allocation: Operation, accesses: list[TileAccess]) -> Chain | None:
    """Return the hand-offs of a tile.

    None is returned where they cannot be told: a statement of the home block uses the tile in
    several pipes (a loop that fills and reads a tile from outside), or the tile may be another one.
    """
    if not all(access.is_certain for access in accesses):
        return None
    home = home_of(accesses)
    if home is None:
        return None
    runs = _runs(home)
    if runs is None:
        return None
    hand_offs = [
        HandOff(before[0], after[0], before[2], after[1])
        for before, after in itertools.pairwise(runs)
    ]
    first, last = runs[0], runs[-1]
    if first[0] != last[0] and _runs_again(home.statements[0][0]):
        hand_offs.append(HandOff(last[0], first[0], last[2], first[1], is_rotation=True))
    is_local = block_of(allocation) == home.block
    slots = buffers_of(allocation) if is_local else 1
    return Chain(allocation, home.block, slots, tuple(hand_offs))


def _runs(home: Home) -> list[tuple[str, int, int]] | None:
    """Return pipe, first and last position of each run."""
    runs: list[tuple[str, int, int]] = []
    for (_, accesses), number in zip(home.statements, home.numbers, strict=True):
        pipes = {access.pipe for access in accesses}
        if len(pipes) > 1:
            return None
        (pipe,) = pipes
        if runs and runs[-1][0] == pipe:
            runs[-1] = (pipe, runs[-1][1], number)
        else:
            runs.append((pipe, number, number))
    return runs


def _runs_again(statement: Operation) -> bool:
    """Return whether a block may be executed more than once in a function."""
    if loops_around(statement):
        return True
    return any(
        len(list(region.blocks)) > 1 or not _is_branch(owner)
        for owner in list(enclosing(statement))[1:]
        for region in owner.regions
    )


def _is_branch(op: Operation) -> bool:
    """Return whether regions of `op` are executed at most once."""
    return str(op.name) in ("scf.if", "tt.func", "func.func")


def must_be_ordered(first: Access, second: Access) -> bool:
    """Return whether two accesses of different pipes need to stay in order."""
    if first.pipe == second.pipe or not (first.writes or second.writes):
        return False
    if isinstance(first, TileAccess) and isinstance(second, TileAccess):
        same = first.allocation == second.allocation
        return same or may_overlap(first.allocation, second.allocation)
    if isinstance(first, GlobalAccess) and isinstance(second, GlobalAccess):
        return first.base is None or second.base is None or first.base == second.base
    return False
