"""Loops that add up matrix products and do nothing else."""

from __future__ import annotations

from flagc.ir.analysis.memory_effects import accesses_of
from flagc.ir.analysis.tensor_axes import Flaw, nested_ops
from flagc.ir.module import Operation, defining_op

# Not among those of `memory_effects`; it reads, as a load does.
_READS = frozenset({"tt.descriptor_load"})


def own_products(loop: Operation) -> list[Operation]:
    """Return the matrix products in the body of `loop` itself."""
    body = loop.regions[0].blocks[0]
    return [op.operation for op in body.operations if op.operation.name == "tt.dot"]


def other_effect(loop: Operation) -> Flaw | None:
    """Return what `loop` does besides adding up its products, one for each value it carries."""
    body = loop.regions[0].blocks[0]
    for op in list(nested_ops(loop))[1:]:
        if op.name in ("scf.for", "scf.while", "scf.if"):
            return Flaw(op, "the loop has branches or loops inside")
        if op.name not in _READS and any(access.writes for access in accesses_of(op)):
            return Flaw(op, "the loop writes to memory")
    last = list(body.operations)[-1].operation
    products = own_products(loop)
    for number, result in enumerate(last.operands):
        carried = body.arguments[1 + number]
        dot = defining_op(result)
        is_sum = dot is not None and dot in products and dot.operands[2] == carried
        if not is_sum or [len(list(value.uses)) for value in (carried, result)] != [1, 1]:
            return Flaw(loop, "the loop carries something else than sums of products")
    return None
