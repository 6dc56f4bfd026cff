"""Branch on the access where a kernel chooses between pointers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from flagc.ir.builder import Builder
from flagc.ir.dead_code import is_pure, is_unused
from flagc.ir.module import Module, Operation, Value, defining_op
from flagc.ir.regions import append, copy_to, create_if
from flagc.ir.types import TensorType, element_of
from flagc.pipeline.context import PassContext
from flagc.pipeline.passes import Pass, register

# Ops through which a chosen pointer reaches an access; operand 0 is the pointer.
_ADDRESS_OPS = frozenset(
    {"tt.addptr", "tt.splat", "tt.broadcast", "tt.expand_dims", "tt.bitcast", "tt.reshape"}
)
# Ops that may run although the branch they stand in is not taken.
_SPECULATABLE = frozenset(
    {"tt.addptr", "tt.splat", "tt.broadcast", "tt.expand_dims", "tt.bitcast", "tt.get_program_id",
     "tt.get_num_programs", "tt.make_range"}
)  # fmt: skip
_DIVISIONS = ("arith.div", "arith.rem", "arith.ceildiv", "arith.floordiv")


@register
@dataclass(frozen=True)
class SelectValuesNotPointers(Pass):
    """Access memory through either of two pointers under a branch, instead of choosing a pointer.

        load(c ? p : q)          becomes  c ? load(p) : load(q), as an scf.if
        store(c ? p : q, value)  becomes  an scf.if with a store in each branch

    Each program still accesses what it accessed before, and nothing else. Pointers chosen by
    `arith.select` and pointers that an `scf.if` yields are handled, nested as they come; conditions
    per lane become masks. The branches of such an `scf.if` may hold only ops that can run in any
    case; others are left alone with a remark, and so are pointers chosen before a loop that moves
    them.

    The vendor's Ascend adapter crashes on chosen pointers (triton-to-unstructure).
    """

    name = "select-values-not-pointers"
    level = "ttir"

    def run(self, module: Module, context: PassContext) -> None:
        """Turn `scf.if`s that yield pointers into selects, then split the accesses."""
        for op in reversed(list(module.walk("scf.if"))):  # inner ones first
            if any(_is_pointer(result) for result in op.results):
                _to_selects(module, op, context)
        pending = list(module.walk("tt.load", "tt.store"))
        while pending:
            access = pending.pop()
            chain = _chain_from_choice(access.operands[0])
            if chain is not None:
                pending += _split(module, access, chain)
                context.statistic("accesses split")
        for op in reversed(list(module.walk())):
            if is_pure(op) and is_unused(op) and _is_pointer(op.results[0]):
                op.erase()
        for op in module.walk("arith.select"):
            if _is_pointer(op.results[0]):
                context.remark(
                    op, "not applied: this choice of a pointer reaches more than loads and stores"
                )


def _is_pointer(value: Value) -> bool:
    return element_of(value).startswith("!tt.ptr")


def _to_selects(module: Module, op: Operation, context: PassContext) -> None:
    """Replace an `scf.if` whose branches can run in any case by selects of what they yield."""
    blocks = [region.blocks[0] for region in op.regions]
    inside = [child.operation for block in blocks for child in list(block.operations)[:-1]]
    for child in inside:
        if not _is_speculatable(child):
            context.remark(
                child, "not applied: the branch that chooses a pointer does more than compute it"
            )
            return
    for child in inside:
        child.move_before(op)
    yields = [list(block.operations)[-1].operation.operands for block in blocks]
    build = Builder(module, before=op)
    module.replace(
        op, [build.select(op.operands[0], left, right) for left, right in zip(*yields, strict=True)]
    )
    context.statistic("branches made selects")


def _is_speculatable(op: Operation) -> bool:
    if op.name.startswith(("arith.", "math.")):
        return not op.name.startswith(_DIVISIONS)
    return op.name in _SPECULATABLE


def _chain_from_choice(pointer: Value) -> list[Operation] | None:
    """Return the ops from the select of a pointer (first) to `pointer`, or None."""
    chain: list[Operation] = []
    op = defining_op(pointer)
    while op is not None and op.name in _ADDRESS_OPS:
        chain.append(op)
        op = defining_op(op.operands[0])
    if op is None or op.name != "arith.select":
        return None
    return [op, *reversed(chain)]


def _split(module: Module, access: Operation, chain: list[Operation]) -> list[Operation]:
    """Replace `access` by one through each pointer of the choice, and return the two."""
    choice, *rest = chain
    if TensorType.of(choice.operands[0]) is None:
        return list(_branch(module, access, choice, rest))
    return _mask(module, access, choice, rest)


def _branch(
    module: Module, access: Operation, choice: Operation, rest: list[Operation]
) -> Iterator[Operation]:
    """Access memory in one or the other branch of an `scf.if`."""
    condition, *pointers = choice.operands
    types = [result.type for result in access.results]
    branch, *blocks = create_if(module, condition, types, before=access)
    for pointer, block in zip(pointers, blocks, strict=True):
        values = {choice.results[0]: pointer}
        copy_to(block, [*rest, access], values)
        outputs = [values[result] for result in access.results]
        append(module, block, "scf.yield", outputs, location=access.location)
        yield list(block.operations)[-2].operation
    module.replace(access, list(branch.results))


def _mask(
    module: Module, access: Operation, choice: Operation, rest: list[Operation]
) -> list[Operation]:
    """Access memory twice, each time in the lanes that chose that pointer."""
    condition = _condition_for_lanes(module, access, choice, rest)
    build = Builder(module, before=access)
    opposite = build.binary("arith.xori", condition, build.constant(True, condition.type))
    created = []
    for chooses, pointer in zip((condition, opposite), list(choice.operands)[1:], strict=True):
        values = {choice.results[0]: pointer}
        for op in rest:
            operands = [values.get(operand, operand) for operand in op.operands]
            attributes = {name: op.attributes[name] for name in op.attributes}
            values[op.results[0]] = build.op(op.name, operands, op.results[0].type, attributes)
        address = values.get(access.operands[0], pointer)
        created.append(_masked_access(module, access, address, chooses))
    if access.name == "tt.load":
        loaded = [op.results[0] for op in created]
        module.replace(access, [build.select(condition, *loaded)])
    else:
        access.erase()
    return created


def _condition_for_lanes(
    module: Module, access: Operation, choice: Operation, rest: list[Operation]
) -> Value:
    """Bring the choice's condition to the shape of the access, the way the pointer goes."""
    condition = choice.operands[0]
    build = Builder(module, before=access)
    for op in rest:
        tensor = TensorType.of(op.results[0])
        if op.name not in ("tt.addptr", "tt.bitcast") and tensor is not None:
            attributes = {name: op.attributes[name] for name in op.attributes}
            kind = tensor.with_element("i1").text()
            condition = build.op(op.name, [condition], kind, attributes)
    return condition


def _masked_access(module: Module, access: Operation, address: Value, chooses: Value) -> Operation:
    """Create `access` at `address` for the lanes that `chooses` names."""
    build = Builder(module, before=access)
    operands = list(access.operands)
    attributes = {name: access.attributes[name] for name in access.attributes}
    mask_at = 1 if access.name == "tt.load" else 2
    if access.name == "tt.load":
        segments = list(access.attributes["operandSegmentSizes"])
        has_mask = segments[1] == 1
        segments[1] = 1
        text = f"array<i32: {', '.join(map(str, segments))}>"
        attributes["operandSegmentSizes"] = module.attribute(text)
    else:
        has_mask = len(operands) == 3
    mask = build.andi(operands[mask_at], chooses) if has_mask else chooses
    operands = [address, *operands[1:mask_at], mask, *operands[mask_at + has_mask :]]
    results = [result.type for result in access.results]
    return module.create(access.name, operands, results, attributes, before=access)
