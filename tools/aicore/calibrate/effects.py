"""Effects that practitioners measure, as the model has them: K tile, buffers, order of tiles."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from gemm import Gemm, launch, swizzled_tiles

from flagc.aicore.native import native
from flagc.aicore.timing.costs import native_costs
from flagc.targets.ascend.chips import AscendChip, facts_of

CHIP = "910B3"
BASE_M, BASE_N, BASE_K = 128, 256, 64
ELEMENT = 2


def buffers_that_fit(chip: AscendChip, depth: int) -> int:
    """How many pairs of tiles of A and B of `depth` k fit L1."""
    return chip.l1_bytes // ((BASE_M + BASE_N) * depth * ELEMENT)


def microseconds(
    shape: Gemm, values: Mapping[str, float], chip: AscendChip, offset: int, direction: int = 0
) -> float:
    """Time of a launch on all cores, tiles in bands of `offset`."""
    tiles = swizzled_tiles(shape, chip.cube_cores, offset, direction)
    clock = float(chip.clock_mhz or 0)
    costs = native_costs(chip, clock, values)
    result: Any = native().simulate(launch(shape, tiles), costs)
    return float(result.cycles / clock)


def k_tiles(values: Mapping[str, float], side: int = 2048) -> dict[int, float]:
    """Time by depth of the tile in L1, two buffers where they fit."""
    chip = facts_of(CHIP)
    result = {}
    for depth in (16, 32, 64, 128, 256, 512):
        buffers = min(2, buffers_that_fit(chip, depth))
        if buffers == 0:
            continue
        base, step = min(depth, BASE_K), max(1, depth // BASE_K)
        shape = Gemm(
            side, side, side, BASE_M, BASE_N, base, step, step, buffers_a=buffers, buffers_b=buffers
        )
        result[depth] = microseconds(shape, values, chip, 3)
    return result


def buffers(values: Mapping[str, float], side: int = 2048) -> dict[int, float]:
    """Time by number of buffers, of tiles as deep as still fit L1 (at most 128)."""
    chip = facts_of(CHIP)
    result = {}
    for count in (1, 2, 3, 4, 8):
        depth = 128
        while depth > 16 and buffers_that_fit(chip, depth) < count:
            depth //= 2
        base, step = min(depth, BASE_K), max(1, depth // BASE_K)
        shape = Gemm(
            side, side, side, BASE_M, BASE_N, base, step, step, buffers_a=count, buffers_b=count
        )
        result[count] = microseconds(shape, values, chip, 3)
    return result


def swizzles(values: Mapping[str, float], side: int, l2_mib: int) -> dict[int, float]:
    """Time by width of the bands in which tiles are visited, with an L2 of `l2_mib`."""
    chip = replace(facts_of(CHIP), l2_bytes=l2_mib << 20)
    shape = Gemm(side, side, side, BASE_M, BASE_N, BASE_K, 4, 4)
    return {offset: microseconds(shape, values, chip, offset) for offset in (1, 2, 4, 8)}
