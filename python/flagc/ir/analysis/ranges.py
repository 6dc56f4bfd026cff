"""What is known of the values that integers can take."""

from __future__ import annotations

from typing import Any

from flagc.ir.module import Value, defining_op

_KEEP_SIGN = frozenset(
    {
        "arith.addi",
        "arith.muli",
        "arith.divsi",
        "arith.minsi",
        "arith.andi",
        "arith.select",
        "arith.extsi",
    }
)
_NEVER_NEGATIVE = frozenset({"tt.get_program_id", "tt.get_num_programs", "arith.extui"})
_DEPTH = 16


def constant_value(value: Value) -> int | None:
    """Return the number that an integer value, or every element of a tensor, is; else None."""
    definition = defining_op(value)
    if definition is None or definition.name != "arith.constant":
        return None
    attribute: Any = definition.attributes["value"]
    if getattr(attribute, "is_splat", False):
        attribute = attribute.get_splat_value()
    number = getattr(attribute, "value", None)
    return int(number) if isinstance(number, int) else None


def is_non_negative(value: Value, depth: int = _DEPTH) -> bool:
    """Return whether `value` is known not to be negative, if nothing overflows."""
    number = constant_value(value)
    if number is not None:
        return number >= 0
    definition = defining_op(value)
    if depth == 0:
        return False
    if definition is None:
        return _is_non_negative_counter(value, depth)
    if definition.name in _NEVER_NEGATIVE:
        return True
    if definition.name == "arith.remsi":
        return is_non_negative(definition.operands[0], depth - 1)
    if definition.name == "arith.maxsi":
        return any(is_non_negative(operand, depth - 1) for operand in definition.operands)
    if definition.name in _KEEP_SIGN:
        operands = list(definition.operands)[1 if definition.name == "arith.select" else 0 :]
        return all(is_non_negative(operand, depth - 1) for operand in operands)
    return False


def _is_non_negative_counter(argument: Value, depth: int) -> bool:
    """Return whether `argument` is the counter of a loop that starts at 0 or above.

    `scf.for`'s step is positive by definition.
    """
    loop = argument.owner.owner
    if loop is None or loop.name != "scf.for" or argument.arg_number != 0:
        return False
    return is_non_negative(loop.operation.operands[0], depth - 1)
