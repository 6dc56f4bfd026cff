"""Streams of copies, vector kernels and single instructions as published examples order them."""

from __future__ import annotations

from collections.abc import Callable

from launches import LaunchBuilder

from flagc.aicore.timing.operations import BYPASS, ND2NZ, TO_UB, Stream

IN, SECOND, OUT = 0, 1, 2


def copy_matrix(
    *,
    cores: int,
    m: int,
    n: int,
    tile_m: int,
    tile_n: int,
    to_ub: bool,
    passes: int = 1,
    parts: int = 1,
    pitch: int = 0,
    everything: bool = False,
    rotate: bool = False,
) -> object:
    """fp16 matrix copied by tiles; core i owns rows i m/cores, or everything.

    `parts` cuts the columns in so many parts, each copied `passes` times before the next;
    `rotate` starts each core at a tile of its own.
    """
    flags = TO_UB if to_ub else ND2NZ
    pitch = pitch or n * 2
    rows_of_core = m if everything else m // cores
    builder = LaunchBuilder([m * pitch], cores=cores, cube=not to_ub)
    part = n // parts
    order = [
        (row, first + column)
        for first in range(0, part * parts, part)
        for _ in range(passes)
        for row in range(0, rows_of_core, tile_m)
        for column in range(0, part, tile_n)
    ]
    for core in range(cores):
        start = core * len(order) // cores if rotate else 0
        if not builder.known(start):
            stream = Stream()
            for row, column in order[start:] + order[:start]:
                stream.read(
                    0,
                    row * pitch + column * 2,
                    min(tile_m, rows_of_core - row),
                    min(tile_n, n - column) * 2,
                    pitch,
                    flags,
                )
            builder.add_class(start, stream)
        builder.block(core, start, [0 if everything else core * rows_of_core * pitch])
    return builder.done()


def elementwise(
    *,
    cores: int,
    elements: int,
    chunk: int,
    element: int,
    inputs: int,
    compute: Callable[[Stream, int], None],
    buffers: int = 1,
    bypass: bool = False,
) -> object:
    """`elements` over all cores, `chunk` at a time: read, compute, write, with `buffers` in UB.

    `compute(stream, elements)` adds the vector instructions.
    """
    flags = TO_UB | (BYPASS if bypass else 0)
    mine = elements // cores
    builder = LaunchBuilder([elements * element] * 3, cores=cores, cube=False)
    first = Stream()
    for buffer in range(buffers):
        first.set("V", "MTE2", buffer)
        first.set("MTE3", "V", buffer)
    builder.add_class("first", first)
    stream = Stream()
    for index, at in enumerate(range(0, mine, chunk)):
        count = min(chunk, mine - at)
        buffer = index % buffers
        stream.wait("V", "MTE2", buffer)
        for region in range(inputs):
            stream.read(region, at * element, 1, count * element, 0, flags)
        stream.set("MTE2", "V", buffer)
        stream.wait("MTE2", "V", buffer)
        stream.wait("MTE3", "V", buffer)
        compute(stream, count)
        stream.set("V", "MTE2", buffer)
        stream.set("V", "MTE3", buffer)
        stream.wait("V", "MTE3", buffer)
        stream.write("MTE3", OUT, at * element, 1, count * element, 0, count * element)
        stream.set("MTE3", "V", buffer)
    builder.add_class("work", stream)
    for core in range(cores):
        builder.block(core, "first", [0, 0, 0])
        builder.block(core, "work", [core * mine * element] * 3)
    return builder.done()


def nd2nz_by_vcopy(
    *, cores: int, side: int, tile_m: int, tile_n: int, name: int, conflict: int
) -> object:
    """fp16 matrix to fractals: tiles read by rows, one VCOPY of tile_m repeats, strips written."""
    builder = LaunchBuilder([side * side * 2] * 3, cores=cores, cube=False)
    first = Stream()
    for buffer in range(2):
        first.set("V", "MTE2", buffer)
        first.set("MTE3", "V", buffer)
    builder.add_class("first", first)
    tiles = [(r, c) for r in range(0, side, tile_m) for c in range(0, side, tile_n)]
    share = -(-len(tiles) // cores)
    for core in range(cores):
        builder.block(core, "first", [0, 0, 0])
        for index, (row, column) in enumerate(tiles[core * share : (core + 1) * share]):
            rows = min(tile_m, side - row)
            key = (rows, index % 2)
            if not builder.known(key):
                stream = Stream()
                buffer = index % 2
                stream.wait("V", "MTE2", buffer)
                stream.read(IN, 0, rows, tile_n * 2, side * 2, TO_UB)
                stream.set("MTE2", "V", buffer)
                stream.wait("MTE2", "V", buffer)
                stream.wait("MTE3", "V", buffer)
                stream.vector(name, rows, conflict)
                stream.set("V", "MTE2", buffer)
                stream.set("V", "MTE3", buffer)
                stream.wait("V", "MTE3", buffer)
                strip = rows * 32
                stream.write("MTE3", OUT, 0, tile_n // 16, strip, side * 32, rows * tile_n * 2)
                stream.set("MTE3", "V", buffer)
                builder.add_class(key, stream)
            builder.block(core, key, [(row * side + column) * 2, 0, column * side * 2 + row * 32])
    return builder.done()


def repeated(
    body: Callable[[Stream, int], None],
    *,
    count: int,
    region_bytes: int,
    cores: int = 1,
    cube: bool = True,
    apart: int = 0,
    overhead: int = 0,
    synchronise: bool = True,
) -> object:
    """One instruction `count` times on each core, pipes meeting in between when `synchronise`."""
    builder = LaunchBuilder([region_bytes] * 3, cores=cores, cube=cube)
    stream = Stream()
    for index in range(count):
        if overhead:
            stream.scalar(overhead)
        body(stream, index)
        if synchronise:
            stream.barrier()
    builder.add_class("all", stream)
    for core in range(cores):
        builder.block(core, "all", [core * apart] * 3)
    return builder.done()
