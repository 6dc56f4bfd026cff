"""What the value of an index is computed from."""

from __future__ import annotations

from flagc.ir.module import Operation, Value, defining_op


def feeding(value: Value) -> list[Operation]:
    """Return the ops that `value` depends on, through loops' and branches' values as well."""
    found: list[Operation] = []
    pending, seen = [value], set()
    while pending:
        current = pending.pop()
        if current in seen:
            continue
        seen.add(current)
        op = defining_op(current)
        if op is None:
            owner = current.owner.owner.operation
            if str(owner.name) in ("tt.func", "func.func"):
                continue
            op = owner
        if op not in found:
            found.append(op)
        pending += list(op.operands)
        for region in op.regions:
            for block in region.blocks:
                pending += list(list(block.operations)[-1].operation.operands)
    return found
