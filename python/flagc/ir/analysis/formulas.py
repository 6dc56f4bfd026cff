"""What a block of floating-point ops computes, in a form that can be compared with a formula.

    a, b = argument(0), argument(1)
    formula(yielded, block) == add(mul(a, a), mul(b, b))      # in whatever order it is written

Sums and products compare equal in any order and grouping, though floating-point numbers round
differently: the question is what is meant.
"""

from __future__ import annotations

from typing import Any

from flagc.ir.module import Value, defining_op

Formula = tuple[Any, ...]
_SAME = {"arith.maximumf": "arith.maxnumf", "arith.minimumf": "arith.minnumf"}
_ANY_ORDER = frozenset({"arith.addf", "arith.mulf", "arith.maxnumf", "arith.minnumf"})


def formula(value: Value, block: Any) -> Formula:
    """Return what `value`, computed in `block` from the block's arguments, is."""
    op = defining_op(value)
    if op is None:
        is_argument = value.owner == block
        return argument(value.arg_number) if is_argument else ("value", value)
    if op.name == "arith.constant":
        return constant(getattr(op.attributes["value"], "value", None))
    name = _SAME.get(op.name, op.name)
    if "predicate" in op.attributes:
        name = f"{name} {op.attributes['predicate'].value}"
    return apply(name, *(formula(operand, block) for operand in op.operands))


def apply(name: str, *operands: Formula) -> Formula:
    """Return the op `name` of `operands`."""
    if name not in _ANY_ORDER:
        return (name, *operands)
    flat: list[Formula] = []
    for operand in operands:
        flat += operand[1:] if operand[0] == name else [operand]
    return (name, *sorted(flat, key=repr))


def argument(number: int) -> Formula:
    """Return the block's argument `number`."""
    return ("argument", number)


def constant(number: float | None) -> Formula:
    """Return a constant."""
    return ("constant", number)


def add(*terms: Formula) -> Formula:
    """Return a sum."""
    return apply("arith.addf", *terms)


def mul(*factors: Formula) -> Formula:
    """Return a product."""
    return apply("arith.mulf", *factors)


def sub(left: Formula, right: Formula) -> Formula:
    """Return a difference."""
    return apply("arith.subf", left, right)


def div(left: Formula, right: Formula) -> Formula:
    """Return a quotient."""
    return apply("arith.divf", left, right)


def larger(left: Formula, right: Formula) -> Formula:
    """Return the maximum of two numbers."""
    return apply("arith.maxnumf", left, right)
