"""Launch as many blocks as there are cores, and let each work through several tiles."""

from __future__ import annotations

from dataclasses import dataclass

from flagc.ir.analysis.index_slice import feeding
from flagc.ir.analysis.tensor_axes import nested_ops
from flagc.ir.builder import Builder
from flagc.ir.module import Module, Operation, Value
from flagc.ir.staged.operations import MAX_BLOCKS, PREFIX, create, staged_op
from flagc.passes.ttir.swizzle_program_ids import grouped_tile
from flagc.passes.ttir.tile_loop import tile_loop
from flagc.pipeline.context import PassContext
from flagc.pipeline.passes import Pass, register

_AXES = 3


@register
@dataclass(frozen=True)
class PersistentBlocks(Pass):
    """Let each of `cores` blocks compute every so many-th tile.

    for tile in range(block, tiles, cores):     # as many tiles as the script has programs
        ...                                     # the kernel, with `tile` for its program id

    A tile's first loads then overlap the tile before, and no block has to be started for it. The
    launcher starts at most `cores` blocks; 0 takes the target's cube cores.

    Tiles are visited in the order in which a launch would, or with `group_m`, in groups of so many
    rows, each group column by column (Triton's matmul tutorial). That takes a grid of two axes, one
    for rows and one for columns; kernels that split one program id themselves keep their order.

    What does not depend on the tile is computed once, before the loop.
    """

    name = "persistent-blocks"
    level = "staged"
    cores: int = 0
    group_m: int = 0

    def run(self, module: Module, context: PassContext) -> None:
        """Wrap the kernel's body in a loop over tiles."""
        if self.cores < 0 or self.group_m < 0:
            context.error(None, "cores and group-m must not be negative")
        cores = self.cores or int(getattr(context.target, "cube_cores", 0))
        if not cores:
            context.error(None, "say how many cores: this target's number is not known")
        function = context.only_function()
        if function is None:
            return
        if (found := obstacle(function)) is not None:
            context.remark(found[0], f"not applied: {found[1]}")
            return
        rows = _row_axis(function) if self.group_m else None
        if self.group_m and rows is None:
            text = (
                "group-m is left out: it takes a kernel whose rows and columns of tiles are two "
                "axes of the grid; swizzle-program-ids can group those that split one program id"
            )
            context.remark(next(iter(module.walk("tt.get_program_id")), function), text)
        _wrap(module, function, cores, self.group_m if rows is not None else 0, rows or 0)
        context.statistic("kernels made persistent")


def obstacle(function: Operation) -> tuple[Operation, str] | None:
    """Return an op because of which tiles cannot share a block, and why."""
    if MAX_BLOCKS in function.attributes:
        return function, "the kernel is persistent already"
    blocks = list(function.regions[0].blocks)
    if len(blocks) > 1:
        end = list(blocks[0].operations)[-1].operation
        return end, "the kernel returns early; structured-early-return makes it one block"
    for op in nested_ops(function):
        name = str(op.name)
        if name == "scf.for":
            if any(source.name == "tt.get_num_programs" for source in feeding(op.operands[2])):
                return op, "this loop works through tiles already, a program's each"
        elif name in ("tt.atomic_rmw", "tt.atomic_cas"):
            return op, "programs may wait for one another through this atomic"
        elif name == "tt.load" and _is_volatile(op):
            return op, "programs may wait for one another by this volatile load"
    return None


def _is_volatile(load: Operation) -> bool:
    return "isVolatile" in load.attributes and bool(load.attributes["isVolatile"].value)


def _row_axis(function: Operation) -> int | None:
    """Return the axis of the grid along which A's rows go; None unless B's go along another."""
    axes: dict[str, set[int]] = {"load_l0a": set(), "load_l0b": set()}
    for op in nested_ops(function):
        view = staged_op(op)
        if view is None or view.name not in axes:
            continue
        for use in view.operand("source").uses:
            move = staged_op(use.owner.operation)
            if move is not None and move.name == "nd2nz":
                sources = feeding(move.operand("offset"))
                ids = (source for source in sources if source.name == "tt.get_program_id")
                axes[view.name] |= {int(source.attributes["axis"].value) for source in ids}
    rows, columns = axes["load_l0a"], axes["load_l0b"]
    # A batch moves both.
    rows, columns = rows - columns, columns - rows
    if len(rows) == 1 and len(columns) == 1 and rows | columns == {0, 1}:
        return rows.pop()
    return None


def _wrap(module: Module, function: Operation, cores: int, group_m: int, rows: int) -> None:
    ids = list(module.walk("tt.get_program_id"))
    *operations, end = [op.operation for op in function.regions[0].blocks[0].operations]
    first = operations[0] if operations else end
    build = Builder(module, before=first)
    sizes = grid_sizes(module, first)
    block = build.op(PREFIX + "block_index", [], "i32")
    total = build.muli(build.muli(sizes[0], sizes[1]), sizes[2])
    step = build.constant(cores, "i32")

    def place(build: Builder, tile: Value) -> tuple[Value, Value, Value]:
        return coordinates(build, tile, sizes, group_m, rows)

    tile_loop(module, (operations, end), ids, [block, total, step], place)
    function.attributes[MAX_BLOCKS] = module.integer(cores)


def grid_sizes(module: Module, before: Operation) -> list[Value]:
    """Create the sizes of the script's grid."""
    return [
        create(
            module, "grid_size", {}, {"axis": f"{axis} : i32"}, results=["i32"], before=before
        ).results[0]
        for axis in range(_AXES)
    ]


def coordinates(
    build: Builder, tile: Value, sizes: list[Value], group_m: int = 0, rows: int = 0
) -> tuple[Value, Value, Value]:
    """Return the program ids that tile number `tile` stands for; in a launch, z runs fastest."""
    plane, z = build.divsi(tile, sizes[2]), build.remsi(tile, sizes[2])
    if not group_m:
        return build.divsi(plane, sizes[1]), build.remsi(plane, sizes[1]), z
    # A batch is done before the next one begins.
    area = build.muli(sizes[0], sizes[1])
    z, place = build.divsi(tile, area), build.remsi(tile, area)
    row, column = grouped_tile(build, place, sizes[rows], sizes[1 - rows], group_m)
    return (row, column, z) if rows == 0 else (column, row, z)
