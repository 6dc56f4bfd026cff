"""Create ops that hold regions, and copy or move ops into and out of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from flagc.ir.module import AttributeLike, Module, Operation, Value
from flagc.mlir import ir

Block = Any  # torch_mlir.ir.Block


def append(
    module: Module,
    block: Block,
    name: str,
    operands: Sequence[Value] = (),
    results: Sequence[Any] = (),
    attributes: Mapping[str, AttributeLike] | None = None,
    *,
    location: Any,
    regions: int = 0,
) -> Operation:
    """Create an op at the end of `block`. `results` holds types, as objects or as text."""
    types = [module.type(kind) if isinstance(kind, str) else kind for kind in results]
    named = {key: module.attribute(value) for key, value in (attributes or {}).items()}
    return ir.Operation.create(
        name,
        results=types,
        operands=list(operands),
        attributes=named,
        regions=regions,
        loc=location,
        ip=ir.InsertionPoint(block),
    )


def block_operations(op: Operation) -> list[Operation]:
    """Return the ops of the block that `op` lies in, itself included, in order."""
    for region in op.parent.operation.regions:
        for block in region.blocks:
            operations = [child.operation for child in block.operations]
            if op in operations:
                return operations
    raise AssertionError("an op lies in its parent")


def is_inside(op: Operation, ancestor: Operation) -> bool:
    """Return whether `op` lies in `ancestor`, at any depth."""
    owner = op.parent
    while owner is not None:
        if owner.operation == ancestor:
            return True
        owner = owner.operation.parent
    return False


def copy_to(block: Block, ops: Iterable[Operation], values: dict[Value, Value]) -> None:
    """Append copies of `ops` to `block`, with operands replaced as `values` says, nested ones too.

    What the copies result in is added to `values`, for the results of the originals.
    """
    _copy(ir.InsertionPoint(block), ops, values)


def copy_before(op: Operation, ops: Iterable[Operation], values: dict[Value, Value]) -> None:
    """Copy `ops` to right before `op`, as `copy_to` does."""
    _copy(ir.InsertionPoint(op), ops, values)


def _copy(place: Any, ops: Iterable[Operation], values: dict[Value, Value]) -> None:
    for op in ops:
        copy = op.clone(place).operation
        _replace_operands(copy, values)
        values.update(zip(op.results, copy.results, strict=True))


def _replace_operands(op: Operation, values: Mapping[Value, Value]) -> None:
    for number, operand in enumerate(op.operands):
        if operand in values:
            op.operands[number] = values[operand]
    for region in op.regions:
        for block in region.blocks:
            for child in block.operations:
                _replace_operands(child.operation, values)


def create_if(
    module: Module, condition: Value, results: Sequence[Any], *, before: Operation
) -> tuple[Operation, Block, Block]:
    """Create an `scf.if` with two empty blocks, to be filled and ended by `scf.yield`."""
    op = module.create("scf.if", [condition], results, before=before, regions=2)
    return op, op.regions[0].blocks.append(), op.regions[1].blocks.append()


def create_reduce(module: Module, name: str, value: Value, axis: int, before: Operation) -> Value:
    """Reduce the tensor `value` along `axis` by the op `name`, `arith.addf` for instance."""
    shape, element = list(value.type.shape), value.type.element_type
    rest = [size for number, size in enumerate(shape) if number != axis]
    dimensions = "".join(f"{size}x" for size in rest)
    result = module.type(f"tensor<{dimensions}{element}>" if rest else str(element))
    op = module.create(
        "tt.reduce", [value], [result], {"axis": f"{axis} : i32"}, before=before, regions=1
    )
    where = before.location
    block = op.regions[0].blocks.append(element, element, arg_locs=[where, where])
    combined = append(module, block, name, list(block.arguments), [element], location=where)
    append(module, block, "tt.reduce.return", list(combined.results), location=where)
    return op.results[0]
