"""Which conditions of a loop's masks can fail in its last iterations only, and from which one on.

margin of a condition       K - counter - lane(1) - 1,  lanes 0 to 63
least margin                K - counter - 64
holds while                 counter <= K - 64
"""

from __future__ import annotations

from dataclasses import dataclass

from flagc.ir.analysis import affine
from flagc.ir.analysis.affine import Affine, Symbol
from flagc.ir.analysis.index_values import IndexValues
from flagc.ir.analysis.integer_facts import Facts
from flagc.ir.analysis.loop_carried import is_defined_inside
from flagc.ir.analysis.masks import mask_terms
from flagc.ir.module import Operation, Value


@dataclass(frozen=True)
class TailCondition:
    """A condition that holds in the first iterations.

    Attributes:
        value: the condition as the kernel computes it.
        margin: it holds where this is not negative; a formula of the counter, without lanes.
        always: it is known to hold in every iteration.
    """

    value: Value
    margin: Affine
    always: bool


@dataclass(frozen=True)
class SafeEnd:
    """Where a loop is to stop so that conditions hold in all its iterations.

    Attributes:
        formula: the counter's end; the counter takes this value if the loop goes on.
        leaves_at_most_one: no more than one iteration of the loop is left from there on.
    """

    formula: Affine
    leaves_at_most_one: bool


def tail_condition(
    values: IndexValues, facts: Facts, loop: Operation, mask: Value
) -> list[TailCondition]:
    """Return the conditions of `mask` that fail in the last iterations of `loop` only, if at all.

    They depend on the loop's counter and on values from outside the loop.
    """
    found = []
    for term in mask_terms(values, mask):
        margin = _least(term.margin) if term.margin is not None else None
        if margin is None:
            continue
        counter = _counter(values, loop)
        slope = margin.coefficient(counter).number
        if slope is None or slope >= 0 or margin.degree(counter) != 1:
            continue
        if any(_varies(symbol, loop) for symbol in margin.without(counter).all_symbols()):
            continue
        found.append(TailCondition(term.value, margin, facts.is_non_negative(margin)))
    return found


def safe_end(values: IndexValues, facts: Facts, loop: Operation, margins: list[Affine]) -> SafeEnd:
    """Return where `loop`, whose counter starts at 0 or above, has to stop.

    The result is `first + count * step`, with `count` the number of iterations before the first
    in which one of `margins` is negative.
    """
    first, last, step = (values.index(loop.operands[index]) for index in range(3))
    ends = [_end(values, loop, margin) for margin in margins]
    end = ends[0]
    for other in [*ends[1:], last]:
        end = _smaller(values, facts, end, other)
    count = _at_least_zero(values, facts, values.quotient(end - first + step - 1, step))
    is_single = facts.is_non_negative(end + step - last)
    return SafeEnd(first + count * step, is_single)


def _least(margin: Affine) -> Affine | None:
    """Return a margin for the lanes for which it is least."""
    for symbol in margin.symbols():
        if symbol.kind != affine.LANE:
            continue
        factor = margin.coefficient(symbol).number
        if factor is None or margin.degree(symbol) != 1:
            return None
        lane = 0 if factor > 0 else symbol.operands[1] - 1
        margin = margin.replaced(symbol, Affine.constant(lane))
    is_nested = any(symbol.kind == affine.LANE for symbol in margin.all_symbols())
    return None if is_nested else margin


def _counter(values: IndexValues, loop: Operation) -> Symbol:
    (symbol,) = values.scalar(loop.regions[0].blocks[0].arguments[0]).symbols()
    return symbol


def _varies(symbol: Symbol, loop: Operation) -> bool:
    if symbol.kind == affine.ITERATION:
        return bool(symbol.operands[0] == loop)
    return symbol.kind == affine.SCALAR and is_defined_inside(symbol.operands[0], loop)


def _end(values: IndexValues, loop: Operation, margin: Affine) -> Affine:
    """Return one more than the greatest counter with which `margin` is not negative.

    For a counter that is never negative: rounding towards zero then makes no difference.
    """
    counter = _counter(values, loop)
    slope = -int(margin.coefficient(counter).number or 0)
    return values.quotient(margin.without(counter) + slope, Affine.constant(slope))


def _smaller(values: IndexValues, facts: Facts, left: Affine, right: Affine) -> Affine:
    if facts.is_non_negative(right - left):
        return left
    if facts.is_non_negative(left - right):
        return right
    return values.symbols.get(affine.MINIMUM, left, right)


def _at_least_zero(values: IndexValues, facts: Facts, formula: Affine) -> Affine:
    if facts.is_non_negative(formula):
        return formula
    return values.symbols.get(affine.MAXIMUM, formula, Affine.constant(0))
