"""How a kernel that passes have given another grid is launched.

The script's grid stays what it was; the launcher makes the kernel's own from it, and hands the
script's to the kernel as three i32 after its last argument. With `ways`, two pointers follow: a
workspace, and a counter (i32) for each tile, which is 0 before a launch and after it. Tensor
descriptors that the launcher makes come last, in the form of those that a script makes: the
descriptor, its sizes (i32) and its strides (i64).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

Grid = tuple[int, int, int]

# The metadata's entry; also the name of the attribute of the kernel's function.
METADATA = "flagc_launch"

# An int is that number; a tuple has the position of the launch's argument that is the number.
Number = int | tuple[int]


@dataclass(frozen=True)
class DescribedTensor:
    """What a launcher makes a tensor descriptor of; it has the fields of Triton's TensorDescriptor.

    Attributes:
        base: the tensor as the script passes it, or its address.
    """

    base: Any
    shape: list[int]
    strides: list[int]
    padding: str
    round_f32_to_tf32: bool = False


@dataclass(frozen=True)
class PlannedDescriptor:
    """A tensor descriptor that the launcher makes from the launch's arguments.

    Positions of arguments leave out constexprs.

    Attributes:
        base: the position of the tensor.
        element: the element's type, as MLIR spells it.
        block: what one access moves, outermost dimension first.
        sizes: of the tensor, in elements.
        strides: in elements; the last is 1.
        padding: "zero" or "nan", what lies outside of the tensor.
    """

    base: int
    element: str
    block: tuple[int, ...]
    sizes: tuple[Number, ...]
    strides: tuple[Number, ...]
    padding: str = "zero"

    @property
    def signature(self) -> str:
        """The type as Triton writes it in signatures."""
        return f"tensordesc<{self.element}[{','.join(map(str, self.block))}]>"

    @property
    def arguments(self) -> int:
        """How many arguments the kernel has for it."""
        return 1 + 2 * len(self.block)

    def tensor(self, arguments: Sequence[Any]) -> DescribedTensor:
        """Return what is described, for a launch with `arguments`, constexprs left out."""
        shape, strides = (
            [int(number if isinstance(number, int) else arguments[number[0]]) for number in numbers]
            for numbers in (self.sizes, self.strides)
        )
        return DescribedTensor(arguments[self.base], shape, strides, self.padding)

    @classmethod
    def of(cls, description: Mapping[str, Any]) -> PlannedDescriptor:
        """Return the descriptor of which `asdict` gave `description`, by way of JSON perhaps."""
        parts = dict(description)
        for name in ("sizes", "strides"):
            parts[name] = tuple(n if isinstance(n, int) else (int(n[0]),) for n in parts[name])
        return cls(**{**parts, "block": tuple(parts["block"])})


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
        descriptors: tensor descriptors that the launcher makes.
    """

    old_blocks: Grid = (1, 1, 1)
    new_blocks: Grid = (1, 1, 1)
    programs: int = 0
    ways: int = 1
    workspace: int = 0
    limits: Grid = (0, 0, 0)
    descriptors: tuple[PlannedDescriptor, ...] = ()

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
            "descriptors": [asdict(descriptor) for descriptor in self.descriptors],
        }

    @classmethod
    def of(cls, description: Mapping[str, Any]) -> LaunchPlan:
        """Return the plan that `describe` described."""
        parts: dict[str, Any] = dict(description)
        grids = ("old_blocks", "new_blocks", "limits")
        parts.update({name: tuple(parts[name]) for name in grids})
        parts["descriptors"] = tuple(map(PlannedDescriptor.of, parts["descriptors"]))
        return cls(**parts)
