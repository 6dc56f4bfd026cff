"""How many iterations of a K loop to move to L1 at once.

What a move costs besides its bytes is spent once for all iterations of a pack: the time until the
first bytes come, and for rows that a pack makes longer, that of each row. Of what still fits, the
operand that saves most for the bytes it takes is packed twice as much, until nothing fits.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from flagc.ir.analysis.packable_moves import Move
from flagc.ir.analysis.signs import integer_constant
from flagc.ir.analysis.tensor_axes import nested_ops
from flagc.ir.analysis.tile_accesses import (
    block_of,
    loops_around,
    tile_of,
)
from flagc.ir.analysis.tile_liveness import lifetimes
from flagc.ir.module import Operation

# Cycles of an ND2NZ move until its bytes come, and of each row: aicore/timing/costs.toml, l1_head +
# hit_latency, and row.
_MOVE_CYCLES = 137.0
_ROW_CYCLES = 2.6
# Each packed tile has to fit twice: one is filled while the other is read.
_BUFFERS = 2
# Packs of more iterations leave nothing to overlap with.
_MOST_STEPS = 32


def choose_steps(
    loop: Operation, moves: Sequence[Move], given: Mapping[str, int], capacity: int
) -> dict[str, int]:
    """Return how many iterations the moves of A (`a`) and of B (`b`) take together.

    `given` holds what the user wants, 0 for a choice; `capacity` is L1's bytes, 0 when unknown.
    """
    steps = {name: given[name] or 1 for name in ("a", "b")}
    trips = _trips(loop)
    room = capacity - _other_bytes(loop, moves)
    while True:
        names = [name for name in steps if not given[name] and _has(moves, name)]
        candidates = []
        for name in names:
            doubled = {**steps, name: steps[name] * 2}
            if doubled[name] > min(trips, _MOST_STEPS) or max(doubled.values()) % min(
                doubled.values()
            ):
                continue
            if _BUFFERS * _bytes(moves, doubled) <= room:
                candidates.append(name)
        if not candidates:
            return steps
        best = max(candidates, key=lambda name: _gain(moves, steps, name))
        steps[best] *= 2


def _has(moves: Sequence[Move], name: str) -> bool:
    return any(move.feeds == name for move in moves)


def _bytes(moves: Sequence[Move], steps: Mapping[str, int]) -> int:
    return sum(move.packed(steps[move.feeds]).reserved_bytes for move in moves)


def _gain(moves: Sequence[Move], steps: Mapping[str, int], name: str) -> float:
    """Return the cycles that packing twice as much saves an iteration, for each byte it takes."""
    saved = 0.0
    for move in moves:
        if move.feeds == name:
            rows = move.tile.rows if move.along == "columns" else 0
            saved += (_MOVE_CYCLES + rows * _ROW_CYCLES) / (2 * steps[name])
    more = _bytes(moves, {**steps, name: 2 * steps[name]}) - _bytes(moves, steps)
    return saved / more


def _trips(loop: Operation) -> int:
    """Return how often the loop runs, `_MOST_STEPS` when that is not known."""
    start, end, step = (integer_constant(value) for value in list(loop.operands)[:3])
    if start is None or end is None or step is None:
        return _MOST_STEPS
    return max(1, -(-(end - start) // step))


def _other_bytes(loop: Operation, moves: Sequence[Move]) -> int:
    """Return the bytes of L1 that other tiles have while the loop runs.

    Those beside the loop count also where they are done with before it: once blocks are persistent
    they rotate, and the next one is filled meanwhile.
    """
    packed = [move.allocation for move in moves]
    function = loops_around(loop)[-1] if loops_around(loop) else loop
    while str(function.name) not in ("tt.func", "func.func"):
        function = function.parent.operation
    positions = {op: number for number, op in enumerate(nested_ops(function))}
    start = positions[loop]
    end = max(positions[op] for op in nested_ops(loop))
    total = 0
    for life in lifetimes(function):
        op = life.allocation
        if tile_of(op).memory != "l1" or op in packed:
            continue
        is_apart = life.end < start or life.start > end
        if is_apart and block_of(op) != block_of(loop):
            continue
        inside = block_of(op) == loop.regions[0].blocks[0]
        total += tile_of(op).reserved_bytes * (_BUFFERS if inside else 1)
    return total
