"""Tiles: `!staged.tile<l1, 128x64xf16>`, a matrix in one of the on-chip memories.

What lies where is a matter of the memory (AscendC, "data layouts"; sizes in elements, C0 is 32
bytes of them):

    l1    zN: [columns/C0][rows][C0]. One row alone is plain memory.
    l0a   zZ: [rows/16][columns/C0][16][C0], rows are m, columns are k
    l0b   nZ: [rows/C0][columns/16][16][C0], rows are k, columns are n
    l0c   zN of 16x16 accumulators: [columns/16][rows][16]
    bt    one row, the bias of 16 columns after the other
    ub    rows, one after the other
    gm    rows, one after the other, in the part of the launch's workspace that the block has for
          itself: how the cube core hands accumulators to its two vector cores
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from flagc.ir.opaque_text import Call, OpaqueTextError, parse
from flagc.ir.types import TensorType, element_bits

BLOCK_BYTES = 32  # C0
FRACTAL_ROWS = 16
FRACTAL_BYTES = 512
# What one row in L1 is rounded up to: moves to BT take 64 bytes at a time, products of bytes 32
# columns of i32.
ROW_BYTES = 128

# What a tile of each memory may hold. The Cube takes these and accumulates in f32 or i32
# (AscendC Mmad).
CUBE_ELEMENTS = ("f16", "bf16", "f32", "i8")
ACCUMULATORS = ("f32", "i32")
ELEMENTS = {
    "l1": (*CUBE_ELEMENTS, "i32"),
    "l0a": CUBE_ELEMENTS,
    "l0b": CUBE_ELEMENTS,
    "l0c": ACCUMULATORS,
    "bt": ACCUMULATORS,
    "ub": ("f16", "bf16", "f32", "i8", "i16", "i32"),
    "gm": ACCUMULATORS,
}
MEMORIES = tuple(ELEMENTS)

# Bytes to which a tile's address is aligned (AscendC, alignment of arch 2201; L0C there takes 64,
# and 512 keeps fractals whole; so much of global memory is one packet).
ALIGNMENT = {"l1": 32, "l0a": 512, "l0b": 512, "l0c": 512, "bt": 64, "ub": 32, "gm": 512}


def accumulator_of(element: str) -> str:
    """Return the type in which the Cube sums products of `element`."""
    return "i32" if element == "i8" else "f32"


def c0_of(element: str) -> int:
    """Return C0, the elements in 32 bytes."""
    return BLOCK_BYTES * 8 // element_bits(element)


def scratch_bytes(rows: int) -> int:
    """Return what a comparison of vectors needs: 64 bits a row, and a block for their address."""
    return -(-rows * 8 // BLOCK_BYTES) * BLOCK_BYTES + BLOCK_BYTES


@dataclass(frozen=True)
class TileType:
    """`!staged.tile<memory, rows x columns x element>`."""

    memory: str
    rows: int
    columns: int
    element: str

    @staticmethod
    def of(value_or_type: Any) -> TileType | None:
        """Return the view of a value's type, a type or its text; None for anything else."""
        text = str(getattr(value_or_type, "type", value_or_type))
        if not text.startswith("!staged.tile<"):
            return None
        try:
            node = parse(text)
        except OpaqueTextError:
            return None
        if not isinstance(node, Call) or len(node.items) != 2:
            return None
        shaped = TensorType.of(f"tensor<{node.items[1]}>")
        if shaped is None or len(shaped.shape) != 2:
            return None
        rows, columns = shaped.shape
        return TileType(str(node.items[0]), rows, columns, shaped.element)

    def text(self) -> str:
        """Return the type's text."""
        return f"!staged.tile<{self.memory}, {self.rows}x{self.columns}x{self.element}>"

    @property
    def bytes(self) -> int:
        """The bytes of one such tile, without alignment."""
        return self.rows * self.columns * element_bits(self.element) // 8

    @property
    def reserved_bytes(self) -> int:
        """The bytes that a buffer for it takes."""
        unit = ROW_BYTES if self.memory == "l1" and self.rows == 1 else ALIGNMENT[self.memory]
        return -(-self.bytes // unit) * unit

    def problem(self) -> str | None:
        """Say which rule the type breaks; None when it is legal."""
        if self.memory not in ELEMENTS:
            return f"'{self.memory}' is no memory of tiles; these are: {', '.join(MEMORIES)}"
        if self.element not in ELEMENTS[self.memory]:
            allowed = ", ".join(ELEMENTS[self.memory])
            return f"{self.memory} holds no {self.element}, only {allowed}"
        if self.rows < 1 or self.columns < 1:
            return "a tile has at least one row and one column"
        rows, columns = self.granule
        if self.rows % rows or self.columns % columns:
            return (
                f"a tile of {self.element} in {self.memory} is made of fractals of {rows}x{columns}"
                f", which {self.rows}x{self.columns} is no multiple of"
            )
        return None

    @property
    def granule(self) -> tuple[int, int]:
        """Rows and columns that a tile is a multiple of: its fractal. One row in L1 is plain."""
        c0 = c0_of(self.element)
        if self.memory in ("ub", "bt", "gm") or (self.memory == "l1" and self.rows == 1):
            return 1, c0
        if self.memory == "l0b":
            return c0, FRACTAL_ROWS
        if self.memory == "l0c":
            return FRACTAL_ROWS, FRACTAL_ROWS
        return FRACTAL_ROWS, c0
