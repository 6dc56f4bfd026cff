"""Give every tile its addresses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from flagc.ir.analysis.tile_accesses import buffers_of, tile_of
from flagc.ir.analysis.tile_liveness import Lifetime, lifetimes
from flagc.ir.locations import source_location
from flagc.ir.module import Module, Operation
from flagc.ir.staged.tiles import ALIGNMENT, MEMORIES
from flagc.pipeline.context import PassContext
from flagc.pipeline.passes import Pass, register

# What helps where a memory overflows.
_ADVICE = {
    "l1": "smaller blocks, fewer buffers (multi-buffer{l1=...} or num_stages), or pack-k left out",
    "l0a": "smaller blocks of M or K, or fewer buffers (multi-buffer{l0=1})",
    "l0b": "smaller blocks of N or K, or fewer buffers (multi-buffer{l0=1})",
    "l0c": "smaller blocks of M or N (resize-tiles), or one buffer (multi-buffer{l0c=1})",
    "bt": "a smaller block of N, or fewer buffers (multi-buffer{l0=1})",
    "ub": "fewer rows at a time (stage-epilogue{rows=...}), or fewer buffers (multi-buffer{ub=1})",
}


@dataclass(frozen=True)
class _Placed:
    """A tile's buffers, one after the other from `start` to `end`."""

    life: Lifetime
    start: int
    end: int


@register
@dataclass(frozen=True)
class PlanMemory(Pass):
    """Place the buffers of all tiles in their memories (attribute `addresses`).

    Each gets bytes of its own as long as there are enough. Where there are not, tiles that are not
    in use at the same time share bytes; `insert-sync` then keeps them apart with barriers.
    """

    name = "plan-memory"
    level = "staged"

    def run(self, module: Module, context: PassContext) -> None:
        """Add the attribute `addresses` to each alloc."""
        for function in module.functions():
            found = lifetimes(function)
            for memory in MEMORIES:
                tiles = [life for life in found if tile_of(life.allocation).memory == memory]
                if tiles:
                    _plan(module, context, memory, tiles)


def _plan(module: Module, context: PassContext, memory: str, tiles: Sequence[Lifetime]) -> None:
    # The launcher allocates as much workspace as there is need of.
    capacity = getattr(context.target, f"{memory}_bytes", None) if memory != "gm" else None
    placed = _place(tiles, shared=False)
    if capacity is not None and _end(placed) > capacity:
        placed = _place(tiles, shared=True)
        if _end(placed) > capacity:
            context.decline(_largest(tiles), _overflow(memory, capacity, placed))
        context.statistic(f"tiles of {memory} that share bytes", _sharing(placed))
    for entry in placed:
        allocation = entry.life.allocation
        size = tile_of(allocation).reserved_bytes
        addresses = [entry.start + size * number for number in range(buffers_of(allocation))]
        text = ", ".join(map(str, addresses))
        allocation.attributes["addresses"] = module.attribute(f"array<i64: {text}>")
    context.statistic(f"bytes of {memory}", _end(placed))


def _place(tiles: Sequence[Lifetime], *, shared: bool) -> list[_Placed]:
    """Give each tile the lowest bytes that no tile has that it must not share with.

    Those that live long come first: the short ones then fill what is left between them.
    """
    order = sorted(tiles, key=lambda life: life.start - life.end) if shared else tiles
    placed: list[_Placed] = []
    for life in order:
        size = _bytes_of(life.allocation)
        alignment = ALIGNMENT[tile_of(life.allocation).memory]
        start = 0
        for other in sorted(placed, key=lambda entry: entry.start):
            if shared and not other.life.meets(life):
                continue
            if start + size <= other.start:
                break
            start = max(start, -(-other.end // alignment) * alignment)
        placed.append(_Placed(life, start, start + size))
    return placed


def _bytes_of(allocation: Operation) -> int:
    return buffers_of(allocation) * tile_of(allocation).reserved_bytes


def _end(placed: Sequence[_Placed]) -> int:
    return max(entry.end for entry in placed)


def _sharing(placed: Sequence[_Placed]) -> int:
    """How many tiles have bytes of another one."""
    return sum(
        any(
            other is not entry and other.start < entry.end and entry.start < other.end
            for other in placed
        )
        for entry in placed
    )


def _largest(tiles: Sequence[Lifetime]) -> Operation:
    return max((life.allocation for life in tiles), key=_bytes_of)


def _overflow(memory: str, capacity: int, placed: Sequence[_Placed]) -> str:
    """Say which buffers do not fit, one to a line."""
    lines = [
        f"{memory.upper()} overflow: the tiles need {_end(placed)} bytes, there are {capacity}:"
    ]
    for entry in sorted(placed, key=lambda entry: entry.life.start):
        allocation = entry.life.allocation
        tile, where = tile_of(allocation), source_location(allocation.location)
        place = where.short if where is not None else "unknown line"
        shape = f"{tile.rows}x{tile.columns}x{tile.element}"
        count = buffers_of(allocation)
        total = _bytes_of(allocation)
        buffers = f"{count} buffer{'s' if count > 1 else ''}"
        lines.append(f"  {place}: {shape}, {buffers} of {tile.reserved_bytes} bytes: {total}")
    lines.append(f"use {_ADVICE[memory]}")
    return "\n".join(lines)
