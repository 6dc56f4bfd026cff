"""Put a kernel's work on a tile into a loop over tiles."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from flagc.ir.analysis.program_ids import of_a_tile
from flagc.ir.builder import Builder
from flagc.ir.module import Module, Operation, Value
from flagc.ir.regions import append

Coordinates = Callable[[Builder, Value], Sequence[Value]]


def tile_loop(
    module: Module,
    body: tuple[list[Operation], Operation],
    ids: list[Operation],
    bounds: Sequence[Value],
    coordinates: Coordinates,
) -> Operation:
    """Move what depends on the tile into a loop over tiles; return the loop.

    `body` is the kernel's ops and the one at its end, before which the loop stands; `ids` are its
    program ids. `bounds` are the first tile, the number of tiles and the step, i32. `coordinates`
    computes, in the loop, the program id of each axis that a tile's number stands for.
    """
    operations, end = body
    loop = module.create("scf.for", bounds, before=end, regions=1)
    block = loop.regions[0].blocks.append(module.type("i32"), arg_locs=[loop.location])
    last = append(module, block, "scf.yield", location=loop.location)
    tile = coordinates(Builder(module, before=last), block.arguments[0])
    for op in of_a_tile(operations, ids):
        op.move_before(last)
    for op in ids:
        module.replace(op, [tile[op.attributes["axis"].value]])
    return loop
