"""Let a fixed number of programs work through all tiles."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from flagc.ir.analysis import program_ids as analysis
from flagc.ir.analysis.memory_effects import accesses_of
from flagc.ir.analysis.tensor_axes import nested_ops
from flagc.ir.builder import Builder
from flagc.ir.launch_arguments import plan_of, script_grid, set_plan
from flagc.ir.launch_plan import LaunchPlan
from flagc.ir.module import Module, Operation, Value
from flagc.passes.ttir.swizzle_program_ids import grouped_tile
from flagc.passes.ttir.tile_loop import tile_loop
from flagc.pipeline.context import PassContext
from flagc.pipeline.passes import Pass, register

# What a program does to memory without learning of other programs.
_PLAIN = frozenset(
    {"tt.load", "tt.store", "tt.descriptor_load", "tt.descriptor_store", "tt.descriptor_gather",
     "tt.descriptor_scatter", "tt.descriptor_reduce", "tt.assert"}
)  # fmt: skip


@register
@dataclass(frozen=True)
class MakePersistent(Pass):
    """Launch at most `programs` programs, each of which computes every so many-th tile.

    for tile in range(program, tiles, programs):    # as many as there were programs
        ...                                         # the kernel, with `tile` for its program id

    The launcher shrinks the grid and hands the script's own to the kernel
    (`flagc.ir.launch_plan`); that is what flagc's launchers do: `flagc --run` and `--bench`,
    bundles, `flagc.install` and `flagc.use_passes`. The kernel is right for any number of programs.

    `programs` is by default the number of multiprocessors of the target, times `resident`; on
    Ascend of cube cores, or of vector cores for a kernel without matrix products. Where registers
    and shared memory leave room for two (`--resources` tells), `resident=2` lets one program's
    products hide the other's epilogue. With `group_m`, tiles of a grid of two
    axes are visited in groups of so many rows, as `swizzle-program-ids` does. `flatten` marks the
    loop for Triton's fusion with the loop inside it, so that a tile's first loads overlap the tile
    before.

    What does not depend on the tile, descriptors among it, is computed once, before the loop. Run
    the pass after those that look at addresses and masks. Refused are kernels whose programs could
    wait for one another: atomics whose result is used, volatile loads, impure assembly.
    """

    name = "make-persistent"
    level = "ttir"
    programs: int = 0
    group_m: int = 0
    flatten: bool = False
    resident: int = 1

    def run(self, module: Module, context: PassContext) -> None:
        """Wrap the kernel's body in a loop over tiles."""
        if self.programs < 0 or self.group_m < 0:
            context.error(None, "programs and group-m must not be negative")
        if self.resident < 1:
            context.error(None, f"resident is {self.resident}; at least 1 program runs at a time")
        programs = self.programs or self.resident * _at_a_time(module, context.target)
        if not programs:
            context.error(None, "say how many programs: this target's number is not known")
        function = context.only_function()
        if function is None:
            return
        obstacle = _obstacle(function)
        if obstacle is not None:
            context.remark(obstacle[0], f"not applied: {obstacle[1]}")
            return
        loop = _wrap(module, function, programs, self.group_m)
        if self.flatten:
            loop.attributes["tt.flatten"] = module.attribute("unit")
        context.statistic("kernels made persistent")


def _at_a_time(module: Module, target: Any) -> int:
    """Return how many programs the target runs at a time, 0 where that is not known."""
    if hasattr(target, "multiprocessors"):
        return int(target.multiprocessors)
    products = next(iter(module.walk("tt.dot")), None)
    return int(getattr(target, "vector_cores" if products is None else "cube_cores", 0))


def _obstacle(function: Operation) -> tuple[Operation, str] | None:
    """Return an op because of which tiles cannot share a program, and why."""
    plan = plan_of(function)
    if plan is not None and plan.programs:
        return function, "the kernel is persistent already"
    blocks = list(function.regions[0].blocks)
    if len(blocks) > 1:
        end = list(blocks[0].operations)[-1].operation
        return end, "the kernel returns early; structured-early-return makes it one block"
    for op in list(nested_ops(function))[1:]:
        if op.name in ("tt.atomic_rmw", "tt.atomic_cas"):
            if op.name == "tt.atomic_cas" or any(True for _ in op.results[0].uses):
                return op, "programs may wait for one another through this atomic's result"
        elif op.name in _PLAIN:
            if "isVolatile" in op.attributes and op.attributes["isVolatile"].value:
                return op, "programs may wait for one another by this volatile load"
        elif accesses_of(op):
            return op, f"'{op.name}' may depend on which programs run at a time"
    return None


def _wrap(module: Module, function: Operation, programs: int, group_m: int) -> Operation:
    """Move what depends on the tile into a loop over tiles; return the loop."""
    ids = list(module.walk("tt.get_program_id"))
    sizes = list(module.walk("tt.get_num_programs"))
    row_axis = _row_axis(ids)
    plan = replace(plan_of(function) or LaunchPlan(), programs=programs)
    set_plan(module, function, plan)
    operations = [op.operation for op in function.regions[0].blocks[0].operations]
    build = Builder(module, before=operations[0])
    counts = _tile_counts(build, plan, script_grid(function))
    for op in sizes:
        module.replace(op, [counts[op.attributes["axis"].value]])
    first, step = _linear_program(build)
    total = build.muli(build.muli(counts[0], counts[1]), counts[2])
    *operations, end = [op.operation for op in function.regions[0].blocks[0].operations]

    def coordinates(build: Builder, tile: Value) -> tuple[Value, Value, Value]:
        return _coordinates(build, tile, counts, row_axis, group_m)

    return tile_loop(module, (operations, end), ids, [first, total, step], coordinates)


def _row_axis(ids: list[Operation]) -> int:
    scores = {0: 0, 1: 0, 2: 0}
    for op in ids:
        scores[op.attributes["axis"].value] += analysis.row_score(op.results[0])
    return 0 if scores[0] >= scores[1] else 1


def _tile_counts(build: Builder, plan: LaunchPlan, grid: tuple[Value, ...]) -> list[Value]:
    """Return how many tiles there are along each axis, as `LaunchPlan.tiles` has it."""
    counts = []
    for axis, (old, new) in enumerate(zip(plan.old_blocks, plan.new_blocks, strict=True)):
        count = _tile_count(build, grid[axis], old, new)
        if plan.limits[axis]:
            limit = build.constant(plan.limits[axis], "i32")
            count = build.binary("arith.minsi", count, limit)
        counts.append(count)
    return counts


def _tile_count(build: Builder, size: Value, old: int, new: int) -> Value:
    if old == new:
        return size
    if old % new == 0:
        return build.muli(size, build.constant(old // new, "i32"))
    length = build.muli(size, build.constant(old, "i32"))
    rounded = build.addi(length, build.constant(new - 1, "i32"))
    return build.divsi(rounded, build.constant(new, "i32"))


def _linear_program(build: Builder) -> tuple[Value, Value]:
    """Return the number of this program among those that run, and how many those are."""
    number, count = (
        [build.op(name, [], "i32", {"axis": f"{axis} : i32"}) for axis in range(3)]
        for name in ("tt.get_program_id", "tt.get_num_programs")
    )
    plane = build.muli(count[0], count[1])
    line = build.addi(number[0], build.muli(number[1], count[0]))
    return build.addi(line, build.muli(number[2], plane)), build.muli(plane, count[2])


def _coordinates(
    build: Builder, tile: Value, counts: list[Value], row_axis: int, group_m: int
) -> tuple[Value, Value, Value]:
    """Return the program ids that tile number `tile` stands for."""
    plane = build.muli(counts[0], counts[1])
    place, z = build.remsi(tile, plane), build.divsi(tile, plane)
    if not group_m:
        return build.remsi(place, counts[0]), build.divsi(place, counts[0]), z
    row, column = grouped_tile(build, place, counts[row_axis], counts[1 - row_axis], group_m)
    return (row, column, z) if row_axis == 0 else (column, row, z)
