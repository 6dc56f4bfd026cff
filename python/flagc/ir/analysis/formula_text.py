"""Formulas as text for people: `M - 128*program_id(0)`."""

from __future__ import annotations

from flagc.ir.analysis import affine
from flagc.ir.analysis.affine import Affine, Symbol
from flagc.ir.locations import names
from flagc.ir.module import Value, defining_op


def text(formula: Affine) -> str:
    """Return `formula` with the kernel's own names for what it is made of."""
    result = ""
    for product, number in formula.terms.items():
        factors = [_name(symbol) for symbol in product]
        if abs(number) != 1 or not factors:
            factors.insert(0, str(abs(number)))
        sign = "-" if number < 0 else "+"
        result += f" {sign} {'*'.join(factors)}"
    if result.startswith(" - "):
        return f"-{result.removeprefix(' - ')}"
    return result.removeprefix(" + ") or "0"


def _name(symbol: Symbol) -> str:
    if symbol.kind == affine.SCALAR:
        return _value_name(symbol.operands[0])
    if symbol.kind == affine.LANE:
        return f"lane({symbol.operands[0]})"
    if symbol.kind == affine.ITERATION:
        return "iteration"
    left, right = (text(operand) for operand in symbol.affine_operands)
    if symbol.kind in (affine.MINIMUM, affine.MAXIMUM):
        return f"{symbol.kind[:3]}({left}, {right})"
    sign = "/" if symbol.kind == affine.QUOTIENT else "%"
    return f"({_bracketed(left)} {sign} {_bracketed(right)})"


def _bracketed(formula: str) -> str:
    is_one = formula.isidentifier() or formula.isdigit() or formula[0] == "("
    return formula if is_one else f"({formula})"


def _value_name(value: Value) -> str:
    op = defining_op(value)
    if op is not None and op.name in ("tt.get_program_id", "tt.get_num_programs"):
        return f"{op.name.removeprefix('tt.get_')}({op.attributes['axis'].value})"
    location = op.location if op is not None else getattr(value, "location", None)
    found = next(names(location), None) if location is not None else None
    if found:
        return found
    if op is not None:
        return f"<{op.name}>"
    if value.owner.owner.name == "scf.for" and value.arg_number == 0:
        return "counter"
    return f"arg{value.arg_number}"
