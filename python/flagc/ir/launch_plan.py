"""How a kernel that passes have given another grid is launched.

The script's grid stays what it was; the launcher makes the kernel's own from it, and hands the
script's to the kernel as three i32 after its last argument. With `ways`, two pointers follow: a
workspace, and a counter (i32) for each tile, which is 0 before a launch and after it.
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
        ways: so many programs share each tile; neighbours along axis 0 do.
        workspace: bytes of the workspace for each program that is launched.
        limits: by axis, there are at most so many tiles; 0 means as many as the grid has.
    """

    old_blocks: Grid = (1, 1, 1)
    new_blocks: Grid = (1, 1, 1)
    programs: int = 0
    ways: int = 1
    workspace: int = 0
    limits: Grid = (0, 0, 0)

    def with_block(self, axis: int, old: int, new: int) -> LaunchPlan:
        """Return the plan in which tiles of `axis` are `new` long instead of `old`."""
        olds, news = list(self.old_blocks), list(self.new_blocks)
        olds[axis], news[axis] = old, new
        return replace(self, old_blocks=tuple(olds), new_blocks=tuple(news))  # type: ignore[arg-type]

    def tiles(self, grid: Grid) -> Grid:
        """Return how many tiles there are along each axis when the script's grid is `grid`."""
        blocks = zip(grid, self.old_blocks, self.new_blocks, self.limits, strict=True)
        counts = ((-(-size * old // new), limit) for size, old, new, limit in blocks)
        x, y, z = (min(count, limit) if limit else count for count, limit in counts)
        return x, y, z

    def launched(self, grid: Grid) -> Grid:
        """Return the grid to launch."""
        tiles = self.tiles(grid)
        if not self.programs:
            return tiles[0] * self.ways, tiles[1], tiles[2]
        return min(tiles[0] * tiles[1] * tiles[2], self.programs), 1, 1

    def memory(self, grid: Grid) -> tuple[int, int]:
        """Return the bytes of the workspace and how many counters there are, 0 and 0 for none."""
        x, y, z = self.launched(grid)
        programs = x * y * z if self.workspace else 0
        return programs * self.workspace, programs // self.ways

    def describe(self) -> dict[str, Any]:
        """Return the plan as plain data."""
        return {
            "old_blocks": list(self.old_blocks),
            "new_blocks": list(self.new_blocks),
            "programs": self.programs,
            "ways": self.ways,
            "workspace": self.workspace,
            "limits": list(self.limits),
        }

    @classmethod
    def of(cls, description: Mapping[str, Any]) -> LaunchPlan:
        """Return the plan that `describe` described."""
        parts: dict[str, Any] = dict(description)
        grids = ("old_blocks", "new_blocks", "limits")
        parts.update({name: tuple(parts[name]) for name in grids})
        return cls(**parts)
