"""Where wrong elements are, in terms of the programs of the grid that store them."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from flagc.check.shadow import NOBODY

Box = tuple[tuple[int, int], ...]

_SHOWN = 3


@dataclass(frozen=True)
class Tile:
    """One program's part of an output: the box it stores to, and the box that wrong elements span.

    A box has the first and last index of each dimension; `count` elements of it are wrong.
    """

    program: tuple[int, int, int]
    stores: Box
    wrong: Box
    count: int

    def __str__(self) -> str:
        return (
            f"program {self.program} stores {_box(self.stores)}, {self.count} are wrong in "
            f"{_box(self.wrong)}"
        )


@dataclass(frozen=True)
class Place:
    """The programs that own wrong elements.

    Attributes:
        programs: how many do; `stored` is how many store to the output at all.
        tiles: the first few.
        cut: dimensions in which all of them are smaller than the largest one: the tail's tiles.
        unowned: wrong elements that no program of the reference stores to.
    """

    programs: int
    stored: int
    tiles: tuple[Tile, ...]
    cut: tuple[int, ...]
    unowned: int

    def __str__(self) -> str:
        parts = []
        if self.programs:
            parts.append(f"in the tiles of {self.programs} of {self.stored} programs")
            if self.cut and self.programs < self.stored:
                named = " and ".join(str(dimension) for dimension in self.cut)
                parts[-1] += f", all cut short by the end of dimension {named}"
        if self.unowned:
            parts.append(f"{self.unowned} of them no program should store to")
        return "; ".join([*parts, *map(str, self.tiles)])


def locate(
    wrong: torch.Tensor, stored_by: torch.Tensor, grid: tuple[int, int, int]
) -> Place | None:
    """Return where `wrong` elements are; None when nothing is known about who stores them.

    `stored_by` holds the linear id of the program that stores each element, or -1.
    """
    if wrong.dim() == 0 or wrong.shape != stored_by.shape or not (stored_by != NOBODY).any():
        return None
    owners = [int(number) for number in stored_by[wrong].unique() if number != NOBODY]
    everyone = [int(number) for number in stored_by.unique() if number != NOBODY]
    boxes = {number: _bounds(stored_by == number) for number in everyone[:4096]}
    largest = [
        max(high - low for low, high in (box[dimension] for box in boxes.values()))
        for dimension in range(wrong.dim())
    ]
    shown = [number for number in owners if number in boxes]
    cut = tuple(
        dimension
        for dimension in range(wrong.dim())
        if shown
        and all(boxes[n][dimension][1] - boxes[n][dimension][0] < largest[dimension] for n in shown)
    )
    tiles = []
    for number in shown[:_SHOWN]:
        own = wrong & (stored_by == number)
        tiles.append(Tile(_program(number, grid), boxes[number], _bounds(own), int(own.sum())))
    unowned = int((wrong & (stored_by == NOBODY)).sum())
    return Place(len(owners), len(everyone), tuple(tiles), cut, unowned)


def _program(number: int, grid: tuple[int, int, int]) -> tuple[int, int, int]:
    return number % grid[0], number // grid[0] % grid[1], number // (grid[0] * grid[1])


def _bounds(mask: torch.Tensor) -> Box:
    places = mask.nonzero()
    lows, highs = places.min(0).values, places.max(0).values
    return tuple((int(low), int(high)) for low, high in zip(lows, highs, strict=True))


def _box(box: Box) -> str:
    return "[" + ", ".join(f"{low}..{high}" for low, high in box) + "]"
