"""Triton kernels of the microbenchmarks."""

import triton
import triton.language as tl


@triton.jit
def read_rows(
    x, out, pitch, tiles, ROWS: tl.constexpr, WIDTH: tl.constexpr, TILES_IN_ROW: tl.constexpr
):
    """The largest of `tiles` tiles of ROWS rows, WIDTH elements each, `pitch` elements apart."""
    rows, columns = tl.arange(0, ROWS), tl.arange(0, WIDTH)
    block = tl.program_id(0)
    largest = tl.full((ROWS, WIDTH), -float("inf"), tl.float16)
    for index in range(tiles):
        tile = block * tiles + index
        first = tile // TILES_IN_ROW * ROWS * pitch + tile % TILES_IN_ROW * WIDTH
        value = tl.load(x + first + rows[:, None] * pitch + columns[None, :])
        largest = tl.maximum(largest, value)
    tl.store(out + block * WIDTH + columns, tl.max(largest, 0))


@triton.jit
def copy(x, out, chunks, CHUNK: tl.constexpr):
    """Contiguous elements, CHUNK at a time, `chunks` to a block."""
    columns = tl.arange(0, CHUNK)
    first = tl.program_id(0) * chunks * CHUNK
    for index in range(chunks):
        at = first + index * CHUNK + columns
        tl.store(out + at, tl.load(x + at))


@triton.jit
def elementwise(x, out, repeats, OPERATION: tl.constexpr, WIDTH: tl.constexpr):
    """One operation `repeats` times on the same WIDTH fp32 elements."""
    columns = tl.arange(0, WIDTH)
    at = tl.program_id(0) * WIDTH + columns
    value = tl.load(x + at)
    for _ in range(repeats):
        if OPERATION == "add":
            value = value + 1.5
        elif OPERATION == "exp":
            value = tl.exp(value)
        elif OPERATION == "div":
            value = 1.5 / value
        else:
            value = tl.sqrt(value)
    tl.store(out + at, value)


@triton.jit
def row_sums(x, out, rows, WIDTH: tl.constexpr):
    """Sums of `rows` rows a block."""
    columns = tl.arange(0, WIDTH)
    for index in range(rows):
        row = tl.program_id(0) * rows + index
        tl.store(out + row, tl.sum(tl.load(x + row * WIDTH + columns), 0))


@triton.jit
def gemm(a, b, c, N, K, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr):
    """c = a @ b, all row-major, sizes multiples of the tiles."""
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    columns = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    depth = tl.arange(0, BLOCK_K)
    total = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for first in range(0, K, BLOCK_K):
        left = tl.load(a + rows[:, None] * K + (first + depth)[None, :])
        right = tl.load(b + (first + depth)[:, None] * N + columns[None, :])
        total = tl.dot(left, right, total)
    tl.store(c + rows[:, None] * N + columns[None, :], total.to(tl.float16))
