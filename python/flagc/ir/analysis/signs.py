"""Which integers cannot be negative, whatever overflows on the way.

`ranges` answers the like for index arithmetic, which by agreement does not overflow. Hashes and
random numbers wrap on purpose; what is said of them must hold all the same.
"""

from __future__ import annotations

from flagc.ir.module import Value, defining_op
from flagc.mlir import ir

_DEPTH = 16
_KEEP_SHAPE_CHANGES = frozenset(
    {"tt.splat", "tt.broadcast", "tt.expand_dims", "tt.reshape", "tt.trans", "arith.extsi"}
)
_NEVER_NEGATIVE = frozenset({"tt.get_program_id", "tt.get_num_programs", "arith.extui"})


def integer_constant(value: Value) -> int | None:
    """Return the number that an integer is, or that fills an integer tensor; else None."""
    number = _constant(value)
    return int(number) if isinstance(number, int) else None


def is_zero(value: Value) -> bool:
    """Return whether `value` is the number 0, or a tensor of it; -0.0 is not."""
    number = _constant(value)
    return number == 0 and not str(number).startswith("-")


def _constant(value: Value) -> int | float | None:
    """Return the number that a constant is, or that fills a constant tensor; else None."""
    op = defining_op(value)
    if op is None or op.name != "arith.constant":
        return None
    attribute = op.attributes["value"]
    if isinstance(attribute, ir.DenseElementsAttr):
        if not attribute.is_splat:
            return None
        attribute = attribute.get_splat_value()
    number: int | float | None = getattr(attribute, "value", None)
    return number


def cannot_be_negative(value: Value, depth: int = _DEPTH) -> bool:
    """Return whether `value`, read as signed, is known to be at least 0."""
    number = integer_constant(value)
    if number is not None:
        return number >= 0
    op = defining_op(value)
    if op is None or depth == 0:
        return False
    operands = list(op.operands)

    def known(operand: Value) -> bool:
        return cannot_be_negative(operand, depth - 1)

    if op.name in _NEVER_NEGATIVE:
        return True
    if op.name == "tt.make_range":
        return int(op.attributes["start"].value) >= 0
    if op.name in _KEEP_SHAPE_CHANGES or op.name in ("arith.shrsi", "arith.remsi"):
        return known(operands[0])
    if op.name in ("arith.andi", "arith.maxsi"):
        return known(operands[0]) or known(operands[1])
    if op.name in ("arith.minsi", "arith.divsi"):
        return known(operands[0]) and known(operands[1])
    if op.name == "arith.select":
        return known(operands[1]) and known(operands[2])
    if op.name == "arith.shrui":
        return (integer_constant(operands[1]) or 0) > 0 or known(operands[0])
    return False
