"""Between which numbers a formula lies, from the ranges of its symbols alone."""

from __future__ import annotations

from flagc.ir.analysis import affine
from flagc.ir.analysis.affine import Affine, Number, Product, Symbol
from flagc.ir.module import defining_op

Range = tuple[Number | None, Number | None]
_NOT_NEGATIVE = frozenset({"tt.get_program_id", "tt.get_num_programs", "arith.extui"})
_DEPTH = 8


def numeric_range(formula: Affine, depth: int = _DEPTH) -> Range:
    """Return the least and the greatest number that `formula` can be; None for no limit known."""
    low: Number | None = 0
    high: Number | None = 0
    for product, number in formula.terms.items():
        bounds = _of_product(product, depth)
        if number < 0:
            bounds = (bounds[1], bounds[0])
        low = None if low is None or bounds[0] is None else low + bounds[0] * number
        high = None if high is None or bounds[1] is None else high + bounds[1] * number
    return low, high


def _of_product(product: Product, depth: int) -> Range:
    if not product:
        return 1, 1
    ranges = [_of_symbol(symbol, depth) for symbol in product]
    if len(ranges) == 1:
        return ranges[0]
    if any(low is None or low < 0 for low, _ in ranges):
        is_square = len(set(product)) == 1 and len(product) % 2 == 0
        return (0 if is_square else None), None
    low: Number = 1
    high: Number | None = 1
    for least, most in ranges:
        assert least is not None
        low *= least
        high = None if high is None or most is None else high * most
    return low, high


def _of_symbol(symbol: Symbol, depth: int) -> Range:
    if depth == 0:
        return None, None
    if symbol.kind == affine.LANE:
        return 0, symbol.operands[1] - 1
    if symbol.kind == affine.ITERATION:
        return 0, None
    if symbol.kind == affine.SCALAR:
        return _of_scalar(symbol)
    (low, high), (other_low, other_high) = (
        numeric_range(operand, depth - 1) for operand in symbol.affine_operands
    )
    if symbol.kind == affine.MINIMUM:
        both = None if low is None or other_low is None else min(low, other_low)
        return both, min((n for n in (high, other_high) if n is not None), default=None)
    if symbol.kind == affine.MAXIMUM:
        both = None if high is None or other_high is None else max(high, other_high)
        return max((n for n in (low, other_low) if n is not None), default=None), both
    if low is None or low < 0:
        return None, None
    if symbol.kind == affine.REMAINDER:
        below = None if other_high is None else other_high - 1
        return 0, min((n for n in (high, below) if n is not None), default=None)
    return 0, high


def _of_scalar(symbol: Symbol) -> Range:
    value = symbol.operands[0]
    op = defining_op(value)
    if op is not None:
        return (0 if op.name in _NOT_NEGATIVE else None), None
    return None, None
