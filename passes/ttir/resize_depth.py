"""Let a GEMM's loop take larger or smaller steps."""

from __future__ import annotations

from dataclasses import dataclass

from flagc.ir.analysis.accesses import Access, describe
from flagc.ir.analysis.index_values import IndexValues
from flagc.ir.analysis.product_loops import other_effect, own_products
from flagc.ir.analysis.program_ids import users
from flagc.ir.analysis.signs import integer_constant, is_zero
from flagc.ir.analysis.tensor_axes import Flaw, Key, TensorAxes
from flagc.ir.analysis.tile_index import indices_from, stray_lanes
from flagc.ir.builder import Builder
from flagc.ir.module import Module, Operation, Value, defining_op
from flagc.passes.ttir.resize_axis import resize
from flagc.pipeline.context import PassContext
from flagc.pipeline.passes import Pass, register

# Triton's frontend: tl.dot wants a depth of at least 16.
_SMALLEST = 16
# Ops that make zero of zero, element by element.
_KEEP_ZERO = frozenset({"arith.extf", "arith.truncf", "tt.fp_to_fp", "tt.trans"})


@register
@dataclass(frozen=True)
class ResizeDepth(Pass):
    """Let loops that sum up matrix products go `size` elements of the depth a step.

    for start in range(0, K, 64):                  for start in range(0, K, 128):
        inner = start + tl.arange(0, 64)      =>       inner = start + tl.arange(0, 128)

    Handled are loops from 0 that do nothing but add products of what they load, masked by the
    loop's end (`inner < K`) with zeros beyond, and whose counter does nothing but number the depth.
    Sums are added in another order. Run it before passes that change masks or use descriptors.
    """

    name = "resize-depth"
    level = "ttir"
    size: int = 64

    def run(self, module: Module, context: PassContext) -> None:
        """Resize each loop that has a matrix product of its own."""
        if self.size < _SMALLEST or self.size & (self.size - 1):
            context.error(None, f"a depth of {self.size}; powers of two from {_SMALLEST} on can be")
        loops = [loop for loop in module.walk("scf.for") if own_products(loop)]
        if not loops:
            context.remark(None, "not applied: no loop has a matrix product")
        for loop in loops:
            flaw = _resize(module, loop, self.size)
            if flaw is not None:
                context.remark(flaw.op, f"depth left as it is: {flaw.reason}")
                continue
            context.statistic("loops resized")


def _resize(module: Module, loop: Operation, size: int) -> Flaw | None:
    function = loop.parent.operation
    while function.name != "tt.func":
        function = function.parent.operation
    axes = TensorAxes(function, depth_is_flaw=False)
    start, step = (integer_constant(loop.operands[number]) for number in (0, 2))
    if start != 0 or step is None:
        return Flaw(loop, "the loop does not begin at 0, or its step is not constant")
    axis = _depth_axis(axes, loop, step)
    flaw = axis if isinstance(axis, Flaw) else _flaw(axes, loop, axis)
    if isinstance(axis, Flaw) or flaw is not None:
        return flaw
    if step == size:
        return None
    resize(module, axes, axis, size)
    kind = loop.operands[2].type
    loop.operands[2] = Builder(module, before=loop).constant(size, kind)
    return None


def _depth_axis(axes: TensorAxes, loop: Operation, step: int) -> Key | Flaw:
    """Return the axis that the loop's counter numbers, and nothing else."""
    sums: list[Operation] = []
    for user in users(loop.regions[0].blocks[0].arguments[0]):
        found = indices_from(user, step)
        if isinstance(found, Flaw):
            return Flaw(found.op, "the loop's counter does more than number the depth")
        sums += found
    keys = {axes.of_value(op.results[0])[0] for op in sums}
    if len(keys) != 1:
        return Flaw(loop, "the loop's counter numbers no axis, or several")
    (axis,) = keys
    return stray_lanes(axes, axis, sums) or axis


def _flaw(axes: TensorAxes, loop: Operation, axis: Key) -> Flaw | None:
    """Return what else depends on how many steps there are, or on their length."""
    if axis in axes.flaws:
        return axes.flaws[axis]
    for op in axes.reductions.get(axis, []):
        return Flaw(op, "something else than a product is summed up along it")
    products = axes.depths.get(axis, [])
    if not products or any(op not in own_products(loop) for op in products):
        return Flaw(loop, "it is not the depth of the loop's own matrix products alone")
    values = IndexValues()
    for op in products:
        for operand in list(op.operands)[:2]:
            flaw = _not_zero_beyond(axes, axis, loop, values, operand)
            if flaw is not None:
                return flaw
    return other_effect(loop)


def _not_zero_beyond(
    axes: TensorAxes, axis: Key, loop: Operation, values: IndexValues, operand: Value
) -> Flaw | None:
    """Return why a product's operand may not be zero where the depth is beyond the loop's end."""
    op = defining_op(operand)
    while op is not None and op.name in _KEEP_ZERO:
        op = defining_op(op.operands[0])
    if op is None or op.name != "tt.load":
        return Flaw(op or loop, "the product's operand is not what is loaded")
    access = describe(values, op)
    dimension = axes.dimension(op, 0, axis)
    if not isinstance(access, Access) or dimension is None:
        return Flaw(op, "its address is no formula of the depth")
    counter = loop.regions[0].blocks[0].arguments[0]
    rest = values.index(loop.operands[1]) - values.index(counter)
    if all(bound.limit != rest for bound in access.dimensions[dimension].upper):
        return Flaw(op, "it is not masked by the loop's end")
    if access.other is None or (not isinstance(access.other, float) and not is_zero(access.other)):
        return Flaw(op, "it is not zero beyond the loop's end")
    return None
