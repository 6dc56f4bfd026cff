"""Write a load or store through a tensor descriptor, as a `DescriptorPlan` says."""

from __future__ import annotations

from flagc.ir.analysis.descriptor_plan import DescriptorPlan
from flagc.ir.builder import Builder
from flagc.ir.dead_code import erase_unused
from flagc.ir.descriptor_abi import types_are_bare
from flagc.ir.formula_ops import compute, values_of
from flagc.ir.module import Module, Operation, Value, defining_op
from flagc.ir.regions import block_operations, is_inside
from flagc.ir.types import TensorDescType, TensorType

_PAD_WITH_ZERO = "1 : i32"
_CACHE_POLICY = ("cache", "evict", "cachePolicy")  # 3.6 has the first two, 3.9 the last


class DescriptorWriter:
    """Rewrites accesses of one kernel; equal descriptors made at one place are made once.

    Descriptors are made as far out as their operands allow, but not outside of `inside`.
    """

    def __init__(self, module: Module, inside: Operation) -> None:
        self._module = module
        self._inside = inside
        self._made: dict[tuple[object, ...], Value] = {}

    def rewrite(self, plan: DescriptorPlan) -> None:
        """Replace the access by one through a descriptor."""
        access = plan.access.op
        descriptor = self._descriptor(plan)
        build = Builder(self._module, before=access)
        starts = [compute(build, start, "i32") for start in plan.starts]
        block = TensorType(plan.block, plan.element)
        if plan.access.is_load:
            self._load(plan, build, [descriptor, *starts], block)
        else:
            value = _to_descriptor(build, plan, access.operands[1], block)
            operands = [descriptor, value, *starts]
            self._module.create("tt.descriptor_store", operands, before=access)
            feeding = list(access.operands)
            access.erase()
            erase_unused(feeding)

    def _load(
        self, plan: DescriptorPlan, build: Builder, operands: list[Value], block: TensorType
    ) -> None:
        access = plan.access.op
        attributes = {n: access.attributes[n] for n in _CACHE_POLICY if n in access.attributes}
        loaded = build.op("tt.descriptor_load", operands, block.text(), attributes)
        feeding = list(access.operands)
        self._module.replace(access, [_from_descriptor(build, plan, loaded, access.results[0])])
        erase_unused(feeding)

    def _descriptor(self, plan: DescriptorPlan) -> Value:
        place = self._place(plan)
        block = TensorType(plan.block, plan.element)
        # A block is known by its last op.
        key = (block_operations(place)[-1], plan.access.base, plan.offset, plan.block, plan.sizes,
               plan.strides)  # fmt: skip
        if key not in self._made:
            build = Builder(self._module, before=place)
            base = plan.access.base
            if plan.offset.number != 0:
                offset = compute(build, plan.offset, "i64")
                base = build.op("tt.addptr", [base, offset], base.type)
            sizes = [compute(build, size, "i32") for size in plan.sizes]
            strides = [compute(build, stride, "i64") for stride in plan.strides]
            self._made[key] = build.op(
                "tt.make_tensor_descriptor",
                [base, *sizes, *strides],
                TensorDescType(block, bare=types_are_bare()).text(),
                {"padding": _PAD_WITH_ZERO},
            )
        return self._made[key]

    def _place(self, plan: DescriptorPlan) -> Operation:
        """Return the op before which the descriptor is made: the outermost one that can be."""
        formulas = (plan.offset, *plan.sizes, *plan.strides)
        needed = [value for formula in formulas for value in values_of(formula)]
        owners = [op for op in (defining_op(value) for value in needed) if op is not None]
        place = plan.access.op
        while True:
            parent = place.parent.operation
            if parent == self._inside or any(is_inside(owner, parent) for owner in owners):
                return self._after(place, owners)
            place = parent

    def _after(self, place: Operation, owners: list[Operation]) -> Operation:
        """Return the earliest op of the block of `place` at which all operands are known."""
        ops = [op.operation for op in block_operations(place)]
        made = [descriptor for descriptor in map(defining_op, self._made.values()) if descriptor]
        known = [ops.index(op) for op in (*owners, *made) if op in ops]
        earliest = 1 + max(known, default=-1)
        return ops[min(earliest, ops.index(place))]


def _from_descriptor(build: Builder, plan: DescriptorPlan, loaded: Value, like: Value) -> Value:
    """Bring what was loaded to the dimensions that the kernel has."""
    wanted = TensorType.of(like)
    assert wanted is not None
    ordered = sorted(plan.order)
    if list(plan.order) != ordered:
        order = [plan.order.index(dim) for dim in ordered]
        shape = tuple(plan.block[place] for place in order)
        loaded = _transposed(build, loaded, order, shape, plan.element)
    return _reshaped(build, loaded, wanted.with_element(plan.element))


def _to_descriptor(build: Builder, plan: DescriptorPlan, value: Value, block: TensorType) -> Value:
    """Bring what is stored to the descriptor's dimensions."""
    ordered = sorted(plan.order)
    shape = tuple(plan.block[plan.order.index(dim)] for dim in ordered)
    value = _reshaped(build, value, TensorType(shape, plan.element))
    if list(plan.order) == ordered:
        return value
    order = [ordered.index(dim) for dim in plan.order]
    return _transposed(build, value, order, block.shape, plan.element)


def _transposed(
    build: Builder, value: Value, order: list[int], shape: tuple[int, ...], element: str
) -> Value:
    text = ", ".join(str(dim) for dim in order)
    kind = TensorType(shape, element).text()
    return build.op("tt.trans", [value], kind, {"order": f"array<i32: {text}>"})


def _reshaped(build: Builder, value: Value, wanted: TensorType) -> Value:
    if str(value.type) == wanted.text():
        return value
    return build.op("tt.reshape", [value], wanted.text())
