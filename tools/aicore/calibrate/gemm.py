"""Streams of matrix multiplications as published kernels order them."""

from __future__ import annotations

from dataclasses import dataclass

from launches import LaunchBuilder

from flagc.aicore.timing.operations import ND2NZ, UNIT_FLAG, Stream

A, B, C = 0, 1, 2
FRACTAL_SIDE = 16


def ceil(value: int, unit: int) -> int:
    """`value` in whole units."""
    return -(-value // unit)


@dataclass(frozen=True)
class Gemm:
    """A tiled matrix multiplication.

    Attributes:
        base_m, base_n, base_k: tile of one MAD.
        step_a, step_b: base_k steps in one copy of A and of B.
        buffers_a, buffers_b: L1 buffers (copies that may be there at once).
        layout_b: `nk` (k contiguous), `kn` or `zn` (fractal columns, contiguous tiles).
        element, out_element: bytes of an input and of an output element.
        k_per_step: k of one fractal step (fp16 16, fp32 4).
        api: cycles of the scalar unit in each base_k step.
        tile_barrier: all pipes meet after each output tile.
        keep_a: all of k of A stays in L1 from the first tile of a core on.
    """

    m: int
    n: int
    k: int
    base_m: int
    base_n: int
    base_k: int
    step_a: int = 1
    step_b: int = 1
    buffers_a: int = 2
    buffers_b: int = 2
    layout_b: str = "nk"
    element: int = 2
    out_element: int = 2
    k_per_step: int = 16
    unit_flag: bool = False
    api: int = 0
    start: int = 0
    tile_barrier: bool = False
    l0_buffers: int = 2
    b_row_pitch: int = 0
    keep_a: bool = False

    def region_bytes(self) -> list[int]:
        """Sizes of A, B and C."""
        pitch = self.b_row_pitch or self.n * self.element
        rows = self.k if self.layout_b == "kn" else self.n * self.element * self.k // pitch
        b_bytes = rows * pitch if self.layout_b == "kn" else self.n * self.k * self.element
        return [self.m * self.k * self.element, b_bytes, self.m * self.n * self.out_element]

    def bases(self, row: int, column: int) -> list[int]:
        """Where the tile at (row, column) begins in A, B and C."""
        b = column * self.element * (1 if self.layout_b == "kn" else self.k)
        return [
            row * self.k * self.element,
            b,
            (row * self.n + column) * self.out_element,
        ]


def prologue(shape: Gemm) -> Stream:
    """Sets every flag that says that a buffer is free, once for each core."""
    stream = Stream()
    if shape.start:
        stream.scalar(shape.start)
    for buffer in range(shape.buffers_a):
        stream.set("MTE1", "MTE2", buffer)
    for buffer in range(shape.buffers_b):
        stream.set("MTE1", "MTE2", 4 + buffer)
    for buffer in range(shape.l0_buffers):
        stream.set("M", "MTE1", buffer)
    stream.set("FIX", "M", 0)
    return stream


def _copy_a(stream: Stream, shape: Gemm, rows: int, at: int, width: int) -> None:
    stream.read(A, at * shape.element, rows, width * shape.element, shape.k * shape.element)


def _copy_b(stream: Stream, shape: Gemm, columns: int, at: int, width: int) -> None:
    size = shape.element
    if shape.layout_b == "nk":
        stream.read(B, at * size, columns, width * size, shape.k * size)
    elif shape.layout_b == "kn":
        pitch = shape.b_row_pitch or shape.n * size
        stream.read(B, at * pitch, width, columns * size, pitch, ND2NZ)
    else:  # zn: [n/16][k][16]: each group of 16 columns is contiguous along k
        side = FRACTAL_SIDE
        stream.read(
            B, at * side * size, ceil(columns, side), width * side * size, shape.k * side * size, 0
        )


def tile(shape: Gemm, rows: int, columns: int, first_step: int = 0, with_a: bool = True) -> Stream:
    """One output tile; the k loop begins at `first_step` and wraps around."""
    stream = Stream()
    steps = ceil(shape.k, shape.base_k)
    padded_rows = ceil(rows, FRACTAL_SIDE) * FRACTAL_SIDE
    padded_columns = ceil(columns, FRACTAL_SIDE) * FRACTAL_SIDE
    operands = [("b", shape.step_b, shape.buffers_b, 4), ("a", shape.step_a, shape.buffers_a, 0)]

    def copy(operand: str, width: int, buffers: int, flag: int, packet: int) -> None:
        if packet * width >= steps:
            return
        event = flag + packet % buffers
        k_at = (packet * width + first_step) % steps * shape.base_k
        reach = min(width * shape.base_k, shape.k - k_at)
        stream.wait("MTE1", "MTE2", event)
        if operand == "b":
            _copy_b(stream, shape, columns, k_at, reach)
        elif with_a:
            _copy_a(stream, shape, rows, k_at, reach)
        stream.set("MTE2", "MTE1", event)

    for operand in operands:
        copy(*operand, 0)
    for step in range(steps):
        k_at = (step + first_step) % steps * shape.base_k
        depth = min(shape.base_k, shape.k - k_at)
        l0 = step % shape.l0_buffers
        if shape.api:
            stream.scalar(shape.api)
        stream.wait("M", "MTE1", l0)
        for _, width, buffers, flag in operands:
            if step % width == 0:
                stream.wait("MTE2", "MTE1", flag + step // width % buffers)
        stream.to_l0(padded_rows * depth * shape.element, 256)
        stream.to_l0(padded_columns * depth * shape.element, 128)
        for _, width, buffers, flag in operands:
            if step % width == width - 1 or step == steps - 1:
                stream.set("MTE1", "MTE2", flag + step // width % buffers)
        stream.set("MTE1", "M", l0)
        stream.wait("MTE1", "M", l0)
        if step == 0 and not shape.unit_flag:
            stream.wait("FIX", "M", 0)
        work = padded_rows * padded_columns // 256 * ceil(depth, shape.k_per_step)
        stream.mad(work, unit_flag=shape.unit_flag and step in (0, steps - 1))
        stream.set("M", "MTE1", l0)
        # The first step fills the other buffers, the last of each packet the one that it leaves.
        for operand in operands:
            _, width, buffers, _ = operand
            if step == 0:
                for packet in range(1, buffers):
                    copy(*operand, packet)
            if step % width == width - 1:
                copy(*operand, step // width + buffers)
    if not shape.unit_flag:
        stream.set("M", "FIX", 0)
        stream.wait("M", "FIX", 0)
    stream.write(
        "FIX",
        C,
        0,
        rows,
        columns * shape.out_element,
        shape.n * shape.out_element,
        padded_rows * padded_columns * 4,
        UNIT_FLAG if shape.unit_flag else 0,
    )
    if not shape.unit_flag:
        stream.set("FIX", "M", 0)
    if shape.tile_barrier:
        stream.barrier()
    return stream


def launch(
    shape: Gemm,
    tiles: list[list[tuple[int, int, int, int]]],
    first_steps: list[int] | None = None,
) -> object:
    """Tiles (row, column, rows, columns) of each core, in the order in which it works on them."""
    builder = LaunchBuilder(shape.region_bytes(), cores=len(tiles))
    builder.add_class("prologue", prologue(shape))
    for core, list_of_core in enumerate(tiles):
        first = first_steps[core] if first_steps else 0
        if list_of_core:
            builder.block(core, "prologue", [0, 0, 0])
        for index, (row, column, rows, columns) in enumerate(list_of_core):
            with_a = index == 0 or not shape.keep_a
            key = (rows, columns, first, with_a)
            if not builder.known(key):
                builder.add_class(key, tile(shape, rows, columns, first, with_a))
            builder.block(core, key, shape.bases(row, column))
    return builder.done()


def split_tiles(
    shape: Gemm, cores_m: int, cores_n: int, *, m_outer: bool, halves: int = 1, single_n: int = 0
) -> list[list[tuple[int, int, int, int]]]:
    """A rectangle of output for each core, as a grid of cores_m x cores_n (n varies fastest).

    With `halves`, the rows of all cores are done in that many parts one after the other.
    """
    part = shape.m // halves
    single_m = ceil(ceil(part, cores_m), shape.base_m) * shape.base_m
    single_n = single_n or ceil(ceil(shape.n, cores_n), shape.base_n) * shape.base_n
    result = []
    for core in range(cores_m * cores_n):
        mine = []
        for half in range(halves):
            first_row = half * part + core // cores_n * single_m
            last_row = min((half + 1) * part, first_row + single_m)
            first_column = core % cores_n * single_n
            last_column = min(shape.n, first_column + single_n)
            rows = range(first_row, last_row, shape.base_m)
            columns = range(first_column, last_column, shape.base_n)
            order = (
                [(r, c) for r in rows for c in columns]
                if m_outer
                else [(r, c) for c in columns for r in rows]
            )
            mine += [
                (r, c, min(shape.base_m, last_row - r), min(shape.base_n, last_column - c))
                for r, c in order
            ]
        result.append(mine)
    return result


def swizzled_tiles(
    shape: Gemm, cores: int, offset: int, direction: int
) -> list[list[tuple[int, int, int, int]]]:
    """CATLASS GemmIdentityBlockSwizzle<offset, direction>: tile i goes to core i mod cores.

    Direction 0 walks down `offset` columns of tiles in zigzag (Zn), 1 along rows (Nz).
    """
    tiles_m, tiles_n = ceil(shape.m, shape.base_m), ceil(shape.n, shape.base_n)
    result: list[list[tuple[int, int, int, int]]] = [[] for _ in range(cores)]
    across, along = (tiles_m, tiles_n) if direction == 0 else (tiles_n, tiles_m)
    for index in range(tiles_m * tiles_n):
        band, inside = divmod(index, offset * along)
        height = min(offset, across - band * offset)
        i = band * offset + inside % height
        j = inside // height
        if band % 2:
            j = along - 1 - j
        tile_m, tile_n = (i, j) if direction == 0 else (j, i)
        row, column = tile_m * shape.base_m, tile_n * shape.base_n
        result[index % cores].append(
            (row, column, min(shape.base_m, shape.m - row), min(shape.base_n, shape.n - column))
        )
    return result
