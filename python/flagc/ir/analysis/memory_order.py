"""Whether a load or store may go through another path to memory than the accesses around it.

TMA accesses belong to the asynchronous proxy (PTX ISA, "Async proxy"): their order with plain
accesses to the same memory is not kept, and a flag set by an atomic does not wait for them.
"""

from __future__ import annotations

from collections.abc import Iterator

from flagc.ir.analysis.memory_effects import Access, accesses_of, base_of
from flagc.ir.module import Operation, defining_op

_ATOMICS = frozenset({"tt.atomic_rmw", "tt.atomic_cas"})
_DESCRIPTOR_ACCESSES = {"tt.descriptor_load": False, "tt.descriptor_store": True}
_TOUCH_NO_TENSOR = frozenset({"tt.print", "tt.assert"})


def order_obstacle(function: Operation, op: Operation) -> str | None:
    """Return why the order of `op` with others of `function` would show, or None."""
    (own,) = accesses_of(op)
    for other in _nested(function):
        if other == op or other.name in _TOUCH_NO_TENSOR:
            continue
        if own.writes and other.name in _ATOMICS:
            return "the kernel has atomics, which might tell others that it is done"
        for access in _accesses(other):
            is_unknown = access.base is None or own.base is None
            is_same = access.base == own.base if not is_unknown else True
            if is_same and access.writes != own.writes:
                return "the kernel both loads and stores through this pointer"
            if is_unknown and access.writes:
                return f"'{other.name}' may access the same memory"
    return None


def _accesses(op: Operation) -> list[Access]:
    writes = _DESCRIPTOR_ACCESSES.get(op.name)
    if writes is None:
        return accesses_of(op)
    made = defining_op(op.operands[0])
    base = made.operands[0] if made is not None and made.name.startswith("tt.make_") else None
    return [Access(op, writes, base, base_of(base) if base is not None else None)]


def _nested(op: Operation) -> Iterator[Operation]:
    for region in op.regions:
        for block in region.blocks:
            for child in block.operations:
                yield child.operation
                yield from _nested(child.operation)
