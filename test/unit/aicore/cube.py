"""Programs for the cube core, and the layouts of its memories as numpy arrays."""

from __future__ import annotations

import numpy as np
from assembling import FIX, GM, L0A, L0B, L0C, L1, MTE1, MTE2, MTE3, M, Program, at, run, word

BLOCK, FRACTAL = 32, 512
CLEAR = 1 << 63  # of MAD's configuration: C starts at zero
BIAS = 1 << 62
ROWS = 1 << 43  # of the fixpipe's options: rows instead of fractals


def c0_of(kind: type) -> int:
    return BLOCK // np.dtype(kind).itemsize


def padded(matrix: np.ndarray, rows: int, columns: int, fill: float = 0) -> np.ndarray:
    """`matrix` with extents rounded up to multiples of `rows` and `columns`."""
    wide = [
        -(-size // unit) * unit for size, unit in zip(matrix.shape, (rows, columns), strict=True)
    ]
    out = np.full(wide, fill, matrix.dtype)
    out[: matrix.shape[0], : matrix.shape[1]] = matrix
    return out


def as_l0a(a: np.ndarray, c0: int, fill: float = 0) -> np.ndarray:
    """[m][k] as zZ: [m/16][k/C0][16][C0]."""
    wide = padded(a, 16, c0, fill)
    return wide.reshape(wide.shape[0] // 16, 16, -1, c0).transpose(0, 2, 1, 3).copy()


def as_l0b(b: np.ndarray, c0: int, fill: float = 0) -> np.ndarray:
    """[k][n] as nZ: [k/C0][n/16][16 n][C0 k]."""
    wide = padded(b, c0, 16, fill)
    return wide.reshape(-1, c0, wide.shape[1] // 16, 16).transpose(0, 2, 3, 1).copy()


def as_l1(a: np.ndarray, c0: int, rows: int = 16) -> np.ndarray:
    """[rows][columns] as zN: [columns/C0][rows][C0]."""
    wide = padded(a, rows, c0)
    return wide.reshape(wide.shape[0], -1, c0).transpose(1, 0, 2).copy()


def nibbles(values: np.ndarray) -> np.ndarray:
    """Pairs of int4 along the last axis as bytes, the first in the low half."""
    low, high = values[..., 0::2] & 15, values[..., 1::2] & 15
    return (low | high << 4).astype(np.uint8)


class Cube(Program):
    """A program of the cube core; `fenced` after each move, so that order is never the question."""

    def to_l1(self, index: int, offset: int, size: int) -> Cube:
        move = "MOV.OUT.TO.L1.v220"
        blocks = -(-size // BLOCK)
        self.do(move, at(L1, offset), self.tensor(index), word(1 << 4 | blocks << 16), word(0))
        self.fence(MTE2, MTE1)
        return self

    def from_l1(self, index: int, offset: int, size: int) -> Cube:
        self.fence(MTE2, MTE3)
        blocks = word(1 << 4 | size // BLOCK << 16)
        self.do("MOV.L1.TO.OUT.V220.CUBE", self.tensor(index), at(L1, offset), blocks)
        return self

    def load(self, side: str, source: int, target: int, fractals: int) -> Cube:
        """Whole fractals from L1 to L0A or L0B."""
        space = L0A if side == "A" else L0B
        name = f"LOAD.L1.TO.L0{side}.2D.V220.f16.addr"
        fields = word(fractals << 16 | 1 << 24)
        self.do(name, at(space, target), at(L1, source), fields, word(0), word(0))
        self.fence(MTE1, M)
        return self

    def operands(self, a: int, a_bytes: int, b: int, b_bytes: int) -> Cube:
        """Tensors `a` and `b`, already in the layouts of L0A and L0B, to these memories."""
        self.to_l1(a, 0, a_bytes).to_l1(b, 131072, b_bytes)
        return self.load("A", 0, 0, a_bytes // FRACTAL).load("B", 131072, 0, b_bytes // FRACTAL)

    def mad(self, kind: str, m: int, k: int, n: int, flags: int = CLEAR, c: int = 0) -> Cube:
        fields = word(m | k << 12 | n << 24 | flags)
        self.do(f"MAD.{kind}", at(L0C, c), at(L0A, 0), at(L0B, 0), fields)
        self.fence(M, FIX)
        return self

    def store(
        self, kind: str, index: int, m: int, n: int, *, stride: int, rows: int, options: int = 0
    ) -> Cube:
        """L0C to tensor `index`; `stride` of the target, `rows` of the accumulators."""
        shape = word(n << 4 | m << 16 | stride << 32)
        fields = word(rows | options)
        self.do(f"FIX.L0C.TO.OUT.{kind}", self.tensor(index), at(L0C, 0), shape, fields)
        return self


def product(
    kind: str,
    a: np.ndarray,
    b: np.ndarray,
    shape: tuple[int, int, int],
    flags: int = CLEAR,
    before: Program | None = None,
) -> np.ndarray:
    """C of one MAD of operands that are in their layouts; [m][n]."""
    m, k, n = shape
    integer = kind in ("s8", "s4")
    c = np.zeros((m, n), np.int32 if integer else np.float32)
    program = Cube(3)
    if before is not None:
        program.declared |= before.declared
        program.lines += before.lines
    program.operands(0, a.nbytes, 1, b.nbytes).mad(kind, m, k, n, flags)
    rows = -(-m // 16) * 16
    program.do("SET.ND.PARA", word(1))
    program.store("s32" if integer else "f32", 2, m, n, stride=n, rows=rows, options=ROWS)
    run(program, a, b, c, core="aic")
    return c


__all__ = ["BIAS", "CLEAR", "GM", "ROWS", "Cube", "as_l0a", "as_l0b", "as_l1", "c0_of", "nibbles"]
