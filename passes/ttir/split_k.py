"""Let several programs share the depth of a tile's matrix product."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from flagc.ir.analysis.memory_effects import accesses_of
from flagc.ir.analysis.product_loops import other_effect, own_products
from flagc.ir.analysis.signs import is_zero
from flagc.ir.analysis.tensor_axes import Flaw, nested_ops, shape_of
from flagc.ir.barriers import create_barrier
from flagc.ir.builder import Builder
from flagc.ir.launch_arguments import plan_of, set_plan, shared_memory
from flagc.ir.launch_plan import LaunchPlan
from flagc.ir.module import Module, Operation, Value
from flagc.ir.regions import append, create_if
from flagc.ir.types import TensorType, element_of
from flagc.pipeline.context import PassContext
from flagc.pipeline.passes import Pass, register

# Parts are loaded so many numbers at a time: 64 registers of each of 128 threads.
_IN_FLIGHT = 8192
_READS = frozenset({"tt.load", "tt.descriptor_load"})
# Numbers of tt.atomic_rmw: RMWOp, MemSemantic, MemSyncScope.
_ADD_ACQUIRE_RELEASE = {"atomic_rmw_op": "4 : i32", "sem": "4 : i32", "scope": "1 : i32"}


@register
@dataclass(frozen=True)
class SplitK(Pass):
    """Let `ways` programs each add up a part of a tile's depth, and the last of them the parts.

    Each program runs its share of the iterations of the kernel's main loop, and leaves its sums in
    a workspace. The one that finds that it is the last one of its tile adds up all parts, always in
    the same order, so that results do not depend on who was last, and goes on with the rest of the
    kernel. For few tiles with a long depth, which would leave multiprocessors idle.

    The launcher launches `ways` times as many programs, and provides workspace and counters
    (`flagc.ir.launch_plan`).

    Handled are kernels with one loop at the top level that adds f32 products to zero and does
    nothing else, and nothing written before it. Run it after passes that look at addresses and
    masks. Sums are added in another order than without it.
    """

    name = "split-k"
    level = "ttir"
    ways: int = 4

    def run(self, module: Module, context: PassContext) -> None:
        """Rewrite the kernel."""
        if self.ways < 2:
            context.error(None, f"ways is {self.ways}; at least 2 programs share a tile")
        if context.target is not None and not hasattr(context.target, "multiprocessors"):
            text = "only CUDA's atomics order other programs' stores; Ascend has split-k-on-cores"
            context.remark(None, f"not applied: {text}")
            return
        function = context.only_function()
        if function is None:
            return
        loop = _main_loop(function)
        if isinstance(loop, Flaw):
            context.remark(loop.op, f"not applied: {loop.reason}")
            return
        _split(module, function, loop, self.ways)
        context.statistic("kernels split")


def _main_loop(function: Operation) -> Operation | Flaw:
    """Return the loop to split, or why there is none."""
    plan = plan_of(function)
    if plan is not None and (plan.programs or plan.ways > 1):
        return Flaw(function, "programs share tiles already")
    if plan is not None and plan.descriptors:
        return Flaw(function, "descriptors-by-launcher has run already; it goes after split-k")
    blocks = list(function.regions[0].blocks)
    if len(blocks) > 1:
        end = list(blocks[0].operations)[-1].operation
        return Flaw(end, "the kernel returns early; structured-early-return makes it one block")
    ops = [op.operation for op in blocks[0].operations]
    loops = [op for op in ops if op.name == "scf.for" and own_products(op)]
    if len(loops) != 1:
        return Flaw(function, f"it has {len(loops)} loops with matrix products at its top level")
    (loop,) = loops
    flaw = other_effect(loop)
    if flaw is not None:
        return flaw
    for start, result in zip(list(loop.operands)[3:], loop.results, strict=True):
        if element_of(result) != "f32" or not is_zero(start):
            return Flaw(loop, "its sums are no f32, or do not begin at zero")
    for op in ops[: ops.index(loop)]:
        for nested in nested_ops(op):
            if nested.name not in _READS and any(a.writes for a in accesses_of(nested)):
                return Flaw(nested, "memory is written before the loop")
    if str(loop.operands[0].type) != "i32":
        return Flaw(loop, "its counter is no i32")
    return loop


def _split(module: Module, function: Operation, loop: Operation, ways: int) -> None:
    ids = list(module.walk("tt.get_program_id"))
    sizes = list(module.walk("tt.get_num_programs"))
    elements = sum(math.prod(shape_of(result)) for result in loop.results)
    plan = replace(plan_of(function) or LaunchPlan(), ways=ways, workspace=4 * elements)
    set_plan(module, function, plan)
    tile, way = _tile_and_way(Builder(module, before=_ops(function)[0]), ids, sizes, ways)
    for op in (*ids, *sizes):
        op.erase()
    _share_iterations(Builder(module, before=loop), loop, way, ways)
    ops = _ops(function)
    rest, end = ops[ops.index(loop) + 1 : -1], ops[-1]
    build = Builder(module, before=end)
    workspace, counters = shared_memory(function)
    first = build.muli(_wide(build, tile), build.constant(ways * elements, "i64"))
    base = build.op("tt.addptr", [workspace, first], workspace.type)
    mine = build.op(
        "tt.addptr", [base, build.muli(way, build.constant(elements, "i32"))], base.type
    )
    for pointers, result in zip(_places(build, mine, loop), loop.results, strict=True):
        module.create("tt.store", [pointers, result], before=end)
    counter = build.op("tt.addptr", [counters, tile], counters.type)
    create_barrier(module, before=end)
    one, true = build.constant(1, "i32"), build.constant(True, "i1")
    earlier = build.op("tt.atomic_rmw", [counter, one, true], "i32", _ADD_ACQUIRE_RELEASE)
    is_last = build.cmpi("eq", earlier, build.constant(ways - 1, "i32"))
    _, then, otherwise = create_if(module, is_last, [], before=end)
    append(module, otherwise, "scf.yield", location=loop.location)
    done = append(module, then, "scf.yield", location=loop.location)
    for op in rest:
        op.move_before(done)
    start = rest[0] if rest else done
    module.create("tt.store", [counter, Builder(module, start).constant(0, "i32")], before=start)
    _add_up(module, loop, base, ways, rest, before=start)


def _add_up(
    module: Module,
    loop: Operation,
    base: Value,
    ways: int,
    rest: list[Operation],
    before: Operation,
) -> None:
    """Load all parts, add them in their order, and let `rest` use the sums."""
    build = Builder(module, before=before)
    elements = sum(math.prod(shape_of(result)) for result in loop.results)
    at_a_time = max(1, _IN_FLIGHT // elements)
    totals = list(loop.operands)[3:]
    for first in range(0, ways, at_a_time):
        loaded = []
        for way in range(first, min(first + at_a_time, ways)):
            skipped = build.constant(way * elements, "i32")
            places = _places(build, build.op("tt.addptr", [base, skipped], base.type), loop)
            attributes = {"operandSegmentSizes": "array<i32: 1, 0, 0>"}
            kinds = [result.type for result in loop.results]
            loaded.append(
                [
                    build.op("tt.load", [place], kind, attributes)
                    for place, kind in zip(places, kinds, strict=True)
                ]
            )
        for parts in loaded:
            totals = [
                build.binary("arith.addf", total, part)
                for total, part in zip(totals, parts, strict=True)
            ]
    users = [op for outer in rest for op in nested_ops(outer)]
    for result, total in zip(loop.results, totals, strict=True):
        for use in list(result.uses):
            if use.owner.operation in users:
                use.owner.operation.operands[use.operand_number] = total


def _ops(function: Operation) -> list[Operation]:
    return [op.operation for op in function.regions[0].blocks[0].operations]


def _wide(build: Builder, value: Value) -> Value:
    return build.op("arith.extsi", [value], "i64")


def _tile_and_way(
    build: Builder, ids: list[Operation], sizes: list[Operation], ways: int
) -> tuple[Value, Value]:
    """Return the number of this program's tile and of its part; replace ids by the tile's."""
    number, count = (
        [build.op(name, [], "i32", {"axis": f"{axis} : i32"}) for axis in range(3)]
        for name in ("tt.get_program_id", "tt.get_num_programs")
    )
    factor = build.constant(ways, "i32")
    way = build.remsi(number[0], factor)
    number[0], count[0] = build.divsi(number[0], factor), build.divsi(count[0], factor)
    for ops, values in ((ids, number), (sizes, count)):
        for op in ops:
            op.results[0].replace_all_uses_with(values[op.attributes["axis"].value])
    plane = build.addi(number[1], build.muli(number[2], count[1]))
    return build.addi(number[0], build.muli(plane, count[0])), way


def _share_iterations(build: Builder, loop: Operation, way: Value, ways: int) -> None:
    """Let `loop` run part `way` of its iterations: so many as `ways` parts need, rounded up."""
    start, end, step = list(loop.operands)[:3]
    one = build.constant(1, "i32")
    length = build.addi(build.subi(end, start), build.subi(step, one))
    iterations = build.divsi(length, step)
    rounded = build.addi(iterations, build.constant(ways - 1, "i32"))
    share = build.muli(build.divsi(rounded, build.constant(ways, "i32")), step)
    first = build.addi(start, build.muli(way, share))
    loop.operands[0] = first
    loop.operands[1] = build.binary("arith.minsi", end, build.addi(first, share))


def _places(build: Builder, base: Value, loop: Operation) -> list[Value]:
    """Return pointers for all results of `loop`, which lie one after the other from `base` on."""
    found = []
    for result in loop.results:
        shape = shape_of(result)
        pointers = build.op("tt.splat", [base], TensorType(shape, str(base.type)).text())
        found.append(build.op("tt.addptr", [pointers, _dense(build, shape)], pointers.type))
        base = build.op("tt.addptr", [base, build.constant(math.prod(shape), "i32")], base.type)
    return found


def _dense(build: Builder, shape: tuple[int, ...]) -> Value:
    """Return 0, 1, 2, ... as a tensor of `shape`."""
    total: Value | None = None
    for dimension, size in enumerate(shape):
        kind = TensorType((size,), "i32").text()
        ends = {"start": "0 : i32", "end": f"{size} : i32"}
        index = build.op("tt.make_range", [], kind, ends)
        stride = math.prod(shape[dimension + 1 :])
        index = build.muli(index, build.constant(stride, kind))
        sizes = [size]
        for other in range(len(shape)):
            if other != dimension:
                sizes.insert(other, 1)
                text = TensorType(tuple(sizes), "i32").text()
                index = build.op("tt.expand_dims", [index], text, {"axis": f"{other} : i32"})
        if tuple(sizes) != shape:
            index = build.op("tt.broadcast", [index], TensorType(shape, "i32").text())
        total = index if total is None else build.addi(total, index)
    return total
