"""Give a kernel's tiles other sizes than the script launched it with."""

from __future__ import annotations

from dataclasses import dataclass

from flagc.ir.analysis.accesses import mask_of
from flagc.ir.analysis.memory_effects import accesses_of
from flagc.ir.analysis.program_ids import program_ids
from flagc.ir.analysis.tensor_axes import Flaw, TensorAxes
from flagc.ir.analysis.tile_index import TileIndex, tile_index
from flagc.ir.builder import Builder
from flagc.ir.launch_arguments import plan_of, script_grid, set_plan
from flagc.ir.launch_plan import LaunchPlan
from flagc.ir.module import Module, Operation, Value
from flagc.ir.types import TensorType
from flagc.passes.ttir.resize_axis import resize
from flagc.pipeline.context import PassContext
from flagc.pipeline.passes import Pass, register

# Triton's frontend: tl.dot wants M and N of at least 16 (ops without a matrix unit aside).
_SMALLEST_DOT = 16


@register
@dataclass(frozen=True)
class ResizeTiles(Pass):
    """Let a program compute a larger or smaller tile: `x`, `y` and `z` elements of the grid's axes.

    rows = tl.program_id(0) * 128 + tl.arange(0, 128)  =>  ... * 256 + tl.arange(0, 256)

    0 leaves an axis as it is. The grid shrinks or grows to match, and flagc's launchers launch it
    (`flagc.ir.launch_plan`); the elements that are computed are those of the script's grid, also
    where the new tiles do not divide it: accesses of a longer tile are masked by the grid's end.

    Handled is an axis whose program id does nothing but number elements, as above, and along which
    nothing is reduced, scanned or reshaped; matrix products along their rows and columns are fine.
    Run it before passes that map program ids to tiles or use descriptors.
    """

    name = "resize-tiles"
    level = "ttir"
    x: int = 0
    y: int = 0
    z: int = 0

    def run(self, module: Module, context: PassContext) -> None:
        """Resize one axis after the other."""
        for size in (self.x, self.y, self.z):
            if size < 0 or size & (size - 1):
                context.error(None, f"a tile of {size} elements; sizes are powers of two")
        function = context.only_function()
        if function is None:
            return
        for axis, size in enumerate((self.x, self.y, self.z)):
            if not size:
                continue
            flaw = _resize_axis(module, function, axis, size)
            if flaw is not None:
                context.remark(flaw.op, f"axis {'xyz'[axis]} left as it is: {flaw.reason}")
                continue
            context.statistic("axes resized")


def _resize_axis(module: Module, function: Operation, axis: int, size: int) -> Flaw | None:
    """Resize the tiles along one axis of the grid, or say why not."""
    axes = TensorAxes(function)
    ids = program_ids(module).get(axis, [])
    found = tile_index(axes, ids) if ids else Flaw(function, "the kernel has no such program id")
    if isinstance(found, Flaw):
        return found
    if found.block == size:
        return None
    flaw = _flaw(axes, function, axis, found, size)
    if flaw is not None:
        return flaw
    plan = plan_of(function) or LaunchPlan()
    set_plan(module, function, plan.with_block(axis, found.block, size))
    along = [
        (op, dimension)
        for op in axes.ops
        if op.name in ("tt.load", "tt.store")
        and (dimension := axes.dimension(op, 0, found.axis)) is not None
    ]
    resize(module, axes, found.axis, size)
    for product in found.products:
        build = Builder(module, before=product)
        factor = build.constant(size, "i32")
        program = next(v for v in product.operands if v in [op.results[0] for op in ids])
        module.replace(product, [build.muli(program, factor)])
    if size > found.block:
        _mask_beyond_the_grid(module, function, along, axis, found.block, size)
    return None


def _flaw(
    axes: TensorAxes, function: Operation, axis: int, found: TileIndex, size: int
) -> Flaw | None:
    """Return what else there is in the kernel that depends on the tile's size."""
    plan = plan_of(function)
    if plan is not None and (plan.programs or plan.new_blocks[axis] != 1):
        return Flaw(function, "another pass has changed the grid already")
    if found.axis in axes.flaws:
        return axes.flaws[found.axis]
    for op in axes.reductions.get(found.axis, []):
        return Flaw(op, "the tile is reduced along it")
    for op in axes.ops:
        if op.name == "tt.get_num_programs" and op.attributes["axis"].value == axis:
            return Flaw(op, "the kernel reads the size of the grid")
        if op.name == "tt.dot" and size < _SMALLEST_DOT and _touches(axes, op, found):
            return Flaw(op, f"a matrix product needs at least {_SMALLEST_DOT} rows and columns")
        if op.name.startswith("tt.atomic"):
            return Flaw(op, "each program does it once, or reads what others wrote")
        if any(access.pointer is None for access in accesses_of(op)):
            return Flaw(op, f"'{op.name}' shows how many programs there are")
    return None


def _touches(axes: TensorAxes, op: Operation, found: TileIndex) -> bool:
    return axes.result_dimension(op.results[0], found.axis) is not None


def _mask_beyond_the_grid(
    module: Module,
    function: Operation,
    along: list[tuple[Operation, int]],
    axis: int,
    old: int,
    new: int,
) -> None:
    """Mask loads and stores, each with its dimension of the axis, beyond the script's grid."""
    ids = program_ids(module)[axis]
    entry = list(function.regions[0].blocks[0].operations)
    # One op for all, so that the new bound's formula is the index's.
    ids[0].move_before(entry[0].operation)
    program = ids[0].results[0]
    for op in ids[1:]:
        module.replace(op, [program])
    build = Builder(module, before=entry[0].operation)
    kind = TensorType((new,), "i32").text()
    first = build.op("tt.splat", [build.muli(program, build.constant(new, "i32"))], kind)
    ends = {"start": "0 : i32", "end": f"{new} : i32"}
    index = build.addi(first, build.op("tt.make_range", [], kind, ends))
    end = build.muli(script_grid(function)[axis], build.constant(old, "i32"))
    inside = build.cmpi("slt", index, build.op("tt.splat", [end], kind))
    for op, dimension in along:
        build = Builder(module, before=op)
        tensor = TensorType.of(op.operands[0])
        assert tensor is not None
        _add_condition(module, op, _spread(build, inside, dimension, tensor.shape))


def _spread(build: Builder, vector: Value, dimension: int, shape: tuple[int, ...]) -> Value:
    """Return a vector of i1 repeated in all dimensions of `shape` but one."""
    kept = [shape[dimension]]
    for other in range(len(shape)):
        if other != dimension:
            kept.insert(other, 1)
            kind = TensorType(tuple(kept), "i1").text()
            vector = build.op("tt.expand_dims", [vector], kind, {"axis": f"{other} : i32"})
    return build.op("tt.broadcast", [vector], TensorType(shape, "i1").text())


def _add_condition(module: Module, op: Operation, condition: Value) -> None:
    """Let the load or store `op` pass only lanes that fulfil `condition` too."""
    build = Builder(module, before=op)
    mask = mask_of(op)
    number = 1 if op.name == "tt.load" else 2
    if mask is not None:
        op.operands[number] = build.andi(mask, condition)
        return
    attributes = {name: op.attributes[name] for name in op.attributes}
    if op.name == "tt.load":
        attributes["operandSegmentSizes"] = module.attribute("array<i32: 1, 1, 0>")
    operands = [*list(op.operands)[:number], condition]
    types = [result.type for result in op.results]
    new = module.create(op.name, operands, types, attributes, before=op)
    module.replace(op, list(new.results))
