"""Access memory under the mask's bounds alone, and apply its other conditions to the values."""

from __future__ import annotations

from dataclasses import dataclass

from flagc.ir.analysis.accesses import Access, describe
from flagc.ir.analysis.index_values import IndexValues
from flagc.ir.analysis.masks import PASSED_ON
from flagc.ir.builder import Builder
from flagc.ir.dead_code import erase_unused
from flagc.ir.module import Module, Operation, Value, defining_op
from flagc.ir.types import TensorType
from flagc.pipeline.context import PassContext
from flagc.pipeline.passes import Pass, register


@register
@dataclass(frozen=True)
class BoundsBeforeConditions(Pass):
    """Split a mask `inside && condition`, of which `inside` bounds the indices.

        load(p, inside && c, other)   becomes  c ? load(p, inside, other) : other
        store(p, v, inside && c)      becomes  store(p, c ? v : load(p, inside), inside)

    Afterwards lanes of which the condition is false are written as well, with what they held: a
    program that writes them at the same time can lose its value. Where the address or the bounds
    are no formula of the indices, or there are no bounds, the access stays. Volatile loads stay.

    The vendor's Ascend adapter does the same to every mask with a condition that is no bound, but
    forgets the bounds (discrete-mask-access-conversion): the whole block is read, and written
    back, beyond the end of the tensor too.
    """

    name = "bounds-before-conditions"
    level = "ttir"

    def run(self, module: Module, context: PassContext) -> None:
        """Examine each load and store of tensors that has a mask."""
        values = IndexValues()
        for op in module.walk("tt.load", "tt.store"):
            if TensorType.of(op.operands[0]) is None or _is_volatile(op):
                continue
            access = describe(values, op)
            if not isinstance(access, Access) or access.mask is None or not access.irregular:
                continue
            bounds, conditions = _split(
                Builder(module, before=op),
                access.mask,
                {term.value for term in access.irregular},
            )
            if bounds is None or conditions is None:
                erase_unused([part for part in (bounds, conditions) if part is not None])
                continue
            (_rewrite_load if access.is_load else _rewrite_store)(module, op, bounds, conditions)
            erase_unused([access.mask])
            context.statistic("masks split")


def _is_volatile(op: Operation) -> bool:
    return "isVolatile" in op.attributes and bool(op.attributes["isVolatile"].value)


def _split(
    build: Builder, mask: Value, conditions: set[Value]
) -> tuple[Value | None, Value | None]:
    """Return the conjunctions of the terms that are not in `conditions`, and of those that are."""
    op = defining_op(mask)
    if mask not in conditions and op is not None:
        if op.name == "arith.andi":
            left, right = (_split(build, operand, conditions) for operand in op.operands)
            return _both(build, left[0], right[0]), _both(build, left[1], right[1])
        if op.name in PASSED_ON:
            inner = _split(build, op.operands[0], conditions)
            attributes = {name: op.attributes[name] for name in op.attributes}
            bounds, others = (
                None if part is None else build.op(op.name, [part], mask.type, attributes)
                for part in inner
            )
            return bounds, others
    return (None, mask) if mask in conditions else (mask, None)


def _both(build: Builder, left: Value | None, right: Value | None) -> Value | None:
    if left is None or right is None:
        return left if right is None else right
    return build.andi(left, right)


def _rewrite_load(module: Module, load: Operation, bounds: Value, conditions: Value) -> None:
    build = Builder(module, before=load)
    pointer, _, *other = load.operands
    kind = load.results[0].type
    attributes = {name: load.attributes[name] for name in load.attributes}
    value = build.op("tt.load", [pointer, bounds, *other], kind, attributes)
    if other:
        value = build.select(conditions, value, other[0])
    module.replace(load, [value])


def _rewrite_store(module: Module, store: Operation, bounds: Value, conditions: Value) -> None:
    build = Builder(module, before=store)
    pointer, value, _ = store.operands
    segments = module.attribute("array<i32: 1, 1, 0>")
    held = build.op("tt.load", [pointer, bounds], value.type, {"operandSegmentSizes": segments})
    attributes = {name: store.attributes[name] for name in store.attributes}
    module.create(
        "tt.store",
        [pointer, build.select(conditions, value, held), bounds],
        [],
        attributes,
        before=store,
    )
    store.erase()
