"""On-chip buffers of a kernel as the vendor's memory planner sees them, and which sizes would fit.

All sizes are bytes unless a name says otherwise.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from flagc.targets.ascend.generic_ir import (
    ADDRESS_SPACES,
    integer_address_spaces,
    parse_generic,
    plain_context,
    walk,
)
from flagc.targets.ascend.vendor_process import place_of_location

# Rows and columns of a tile in L1 and L0C are padded to this many elements.
FRACTAL = 16


@dataclass(frozen=True)
class Buffer:
    """One on-chip allocation. `shape` is the logical one: fractal layouts are unfolded."""

    space: str
    shape: tuple[int, ...]
    element: str
    bytes: int
    file: str | None
    line: int

    @property
    def elements(self) -> int:
        """Number of elements."""
        return math.prod(self.shape)

    def __str__(self) -> str:
        size = "x".join(map(str, self.shape)) or "1"
        return f"{size} x {self.element} ({self.bytes} bytes)"


def buffers_in(module_text: str, space: str) -> list[Buffer]:
    """Allocations in memory `space` (`ub`, `cbuf`, `cc`) of a generic module, biggest first."""
    found = []
    with plain_context() as context:
        module = parse_generic(integer_address_spaces(module_text), context)
        for operation in walk(module.operation):
            if operation.name == "memref.alloc":
                buffer = _buffer(operation)
                if buffer is not None and buffer.space == space:
                    found.append(buffer)
    return sorted(found, key=lambda entry: -entry.bytes)


def _buffer(operation: Any) -> Buffer | None:
    memref = operation.results[0].type
    if memref.memory_space is None or any(size < 0 for size in memref.shape):
        return None
    spaces = {str(number): name for name, number in ADDRESS_SPACES.items()}
    space = spaces.get(str(memref.memory_space).partition(" ")[0])
    if space is None:
        return None
    element = str(memref.element_type)
    bits = int("".join(c for c in element.partition("E")[0] if c.isdigit()) or 64)
    if element == "bf16":
        bits = 16
    shape = _unfold(tuple(memref.shape), space)
    size = math.ceil(math.prod(memref.shape) * bits / 8)
    file, line, _ = place_of_location(str(operation.location))
    return Buffer(space, shape, element, size, file, line)


def _unfold(shape: tuple[int, ...], space: str) -> tuple[int, ...]:
    """(columns/c, rows/16, 16, c) of the zN layout as (rows, columns)."""
    if space in {"cbuf", "cc"} and len(shape) == 4 and shape[2] == FRACTAL:
        return (shape[1] * shape[2], shape[0] * shape[3])
    return shape


def power_of_two_below(limit: float) -> int:
    """Largest power of two not above `limit`, 0 when there is none."""
    return 1 << (math.floor(limit).bit_length() - 1) if limit >= 1 else 0


def largest_tile_rows(tile: Buffer, others: int, capacity: int) -> tuple[int, int]:
    """Largest powers of two (rows with these columns, columns with these rows) for an L0C tile.

    `others` bytes of the memory are taken by other buffers. 0 when not even one fractal fits.
    """
    rows, columns = tile.shape[-2:]
    unit = tile.bytes // tile.elements
    free = max(capacity - others, 0)
    fit_rows = power_of_two_below(free / (columns * unit))
    fit_columns = power_of_two_below(free / (rows * unit))
    return tuple(size if size >= FRACTAL else 0 for size in (fit_rows, fit_columns))  # type: ignore[return-value]


def scaled_block(elements: int, needed: int, capacity: int) -> int:
    """Largest power-of-two block that fits if the need shrinks in proportion to the block."""
    block = 1 << max(elements - 1, 0).bit_length()
    while block > 1 and needed * block > capacity * elements:
        block //= 2
    return block


def common_depth(tiles: Sequence[Buffer]) -> int | None:
    """BLOCK_K when the two biggest L1 tiles are an A (MxK) and a B (KxN) tile, else None."""
    if len(tiles) < 2 or any(len(tile.shape) != 2 for tile in tiles[:2]):
        return None
    first, second = tiles[0].shape, tiles[1].shape
    common = [size for size in first if size in second]
    return max(common) if common else None
