"""How a kernel that passes have given another grid is launched.

The script's grid stays what it was; the launcher makes the kernel's own from it, and hands the
script's to the kernel as three i32 after its last argument.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

Grid = tuple[int, int, int]

# The metadata's entry; also the name of the attribute of the kernel's function.
METADATA = "flagc_launch"


@dataclass(frozen=True)
class LaunchPlan:
    """What a launcher does with the script's grid.

    Attributes:
        old_blocks: by axis, the length of the block that the script's program stands for.
        new_blocks: by axis, the length of the block of one of the kernel's tiles.
        programs: at most so many programs are launched, in one dimension, and share the tiles;
            0 means one program for each tile.
    """

    old_blocks: Grid = (1, 1, 1)
    new_blocks: Grid = (1, 1, 1)
    programs: int = 0

    def with_block(self, axis: int, old: int, new: int) -> LaunchPlan:
        """Return the plan in which tiles of `axis` are `new` long instead of `old`."""
        olds, news = list(self.old_blocks), list(self.new_blocks)
        olds[axis], news[axis] = old, new
        return replace(self, old_blocks=tuple(olds), new_blocks=tuple(news))  # type: ignore[arg-type]

    def tiles(self, grid: Grid) -> Grid:
        """Return how many tiles there are along each axis when the script's grid is `grid`."""
        x, y, z = (
            -(-size * old // new)
            for size, old, new in zip(grid, self.old_blocks, self.new_blocks, strict=True)
        )
        return x, y, z

    def launched(self, grid: Grid) -> Grid:
        """Return the grid to launch."""
        tiles = self.tiles(grid)
        if not self.programs:
            return tiles
        return min(tiles[0] * tiles[1] * tiles[2], self.programs), 1, 1

    def describe(self) -> dict[str, Any]:
        """Return the plan as plain data."""
        return {
            "old_blocks": list(self.old_blocks),
            "new_blocks": list(self.new_blocks),
            "programs": self.programs,
        }

    @classmethod
    def of(cls, description: Mapping[str, Any]) -> LaunchPlan:
        """Return the plan that `describe` described."""
        old, new = (tuple(description[name]) for name in ("old_blocks", "new_blocks"))
        return cls(old, new, description["programs"])
