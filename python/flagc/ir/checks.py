"""Checks of well-formedness that Triton's own verifier does not make, on which it crashes later."""

from __future__ import annotations

from flagc.ir.module import Module, Operation
from flagc.mlir import ir


def find_malformed(module: Module) -> tuple[Operation, str] | None:
    """Return the first malformed op of `module` and what is wrong with it, or None."""
    for op in module.walk("tt.reduce", "tt.scan"):
        rank = _rank(op)
        axis = op.attributes["axis"].value if "axis" in op.attributes else None
        if rank is not None and axis is not None and not 0 <= axis < rank:
            valid = f"0 to {rank - 1}" if rank > 1 else "0"
            return op, f"axis {axis} of a rank-{rank} tensor; valid: {valid}"
    return None


def _rank(op: Operation) -> int | None:
    if not len(op.operands):
        return None
    operand_type = op.operands[0].type
    return operand_type.rank if isinstance(operand_type, ir.RankedTensorType) else None
