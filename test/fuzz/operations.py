"""Operations of random expressions: source, bound of the result, value and what rounding loses."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import NamedTuple

import torch


class Float(NamedTuple):
    """A floating-point dtype."""

    relative: float  # half a unit in the last place
    least: float  # smallest distance between two numbers
    room: float  # magnitude with room for an operation
    most: float  # a power of two that it holds


FLOAT = {
    "fp32": Float(2.0**-24, 2.0**-149, 2.0**20, 2.0**60),
    "fp16": Float(2.0**-11, 2.0**-24, 2.0**6, 2.0**14),
    "bf16": Float(2.0**-8, 2.0**-133, 2.0**20, 2.0**60),
}
UNKNOWN = 2.0**60  # lost: more than any value
FP32 = FLOAT["fp32"].relative


class Values(NamedTuple):
    """Exact values (float64; whole numbers for integers) and how far a kernel's may be off."""

    exact: torch.Tensor
    lost: torch.Tensor


class Operation(NamedTuple):
    """`text` over {0}, {1}, ...; `bound` of the operands' bounds; `evaluate(kind, *operands)`."""

    arity: int
    text: str
    bound: Callable[..., float]
    evaluate: Callable[..., Values]


def rounded(kind: str, exact: torch.Tensor, lost: torch.Tensor, units: float = 1) -> Values:
    """After an operation that is off by `units` half units of its result."""
    relative, least, *_ = FLOAT[kind]
    return Values(exact, lost + units * (relative * (exact.abs() + lost) + least))


def _add(kind: str, a: Values, b: Values) -> Values:
    return rounded(kind, a.exact + b.exact, a.lost + b.lost)


def _subtract(kind: str, a: Values, b: Values) -> Values:
    return rounded(kind, a.exact - b.exact, a.lost + b.lost)


def _multiply(kind: str, a: Values, b: Values) -> Values:
    lost = a.exact.abs() * b.lost + b.exact.abs() * a.lost + a.lost * b.lost
    return rounded(kind, a.exact * b.exact, lost)


def _divide(kind: str, a: Values, b: Values) -> Values:
    """a / (|b| + 1), whose denominator is computed in `kind` and never below 1."""
    below = rounded(kind, b.exact.abs() + 1, b.lost)
    exact = a.exact / below.exact
    lost = (a.lost + exact.abs() * below.lost) / (below.exact - below.lost).clamp(min=1)
    return rounded(kind, exact, lost, 2)


def _maximum(kind: str, a: Values, b: Values) -> Values:
    return Values(torch.maximum(a.exact, b.exact), torch.maximum(a.lost, b.lost))


def _minimum(kind: str, a: Values, b: Values) -> Values:
    return Values(torch.minimum(a.exact, b.exact), torch.maximum(a.lost, b.lost))


def _negate(kind: str, a: Values) -> Values:
    return Values(-a.exact, a.lost)


def _absolute(kind: str, a: Values) -> Values:
    return Values(a.exact.abs(), a.lost)


def _square_root(kind: str, a: Values) -> Values:
    exact = a.exact.abs().sqrt()
    lost = torch.minimum(a.lost / exact, a.lost.sqrt()).nan_to_num(0)
    return rounded(kind, exact, lost, 2)


def _floor(kind: str, a: Values) -> Values:
    whole = a.exact.floor()
    moved = ((a.exact + a.lost).floor() != whole) | ((a.exact - a.lost).floor() != whole)
    # A whole number of this magnitude may need rounding only where its unit is above 1.
    return Values(whole, torch.where(moved, 1.0 + a.lost.ceil(), 0.0))


def _selection(compare: Callable[..., torch.Tensor]) -> Callable[..., Values]:
    def evaluate(kind: str, a: Values, b: Values, c: Values, d: Values) -> Values:
        chosen = compare(a.exact, b.exact)
        lost = torch.where(chosen, c.lost, d.lost)
        doubt = (a.exact - b.exact).abs() <= a.lost + b.lost
        doubt &= (a.lost + b.lost) > 0
        either = (c.exact - d.exact).abs() + torch.maximum(c.lost, d.lost)
        return Values(torch.where(chosen, c.exact, d.exact), torch.where(doubt, either, lost))

    return evaluate


def _smooth(
    function: Callable[[torch.Tensor], torch.Tensor], slope: float, absolute: float, units: float
) -> Callable[..., Values]:
    """A function computed in fp32: how steep it is, and its own error: absolute, and of units."""

    def evaluate(kind: str, a: Values) -> Values:
        exact = function(a.exact)
        lost = slope * a.lost + FP32 * (absolute + units * exact.abs()) + 2.0**-126
        return rounded(kind, exact, lost)

    return evaluate


def _whole(function: Callable[..., torch.Tensor]) -> Callable[..., Values]:
    """An operation on integers; where an operand is in doubt, so is all of the result."""

    def evaluate(kind: str, *operands: Values) -> Values:
        exact = function(*(operand.exact.long() for operand in operands)).double()
        doubt = torch.zeros_like(exact, dtype=torch.bool)
        for operand in operands:
            doubt = doubt | (operand.lost > 0)
        return Values(exact, torch.where(doubt, UNKNOWN, 0.0))

    return evaluate


def _bits(*bounds: float) -> float:
    """Bound of a bitwise operation: the next power of two."""
    return 2.0 ** int(max(bounds)).bit_length()


def _truncating(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return torch.div(a, b.abs() + 1, rounding_mode="trunc")


def _remainder(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return torch.fmod(a, b.abs() + 1)


_COMPARISONS = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}
_SELECTIONS = [
    Operation(
        4,
        f"tl.where({{0}} {sign} {{1}}, {{2}}, {{3}})",
        lambda a, b, c, d: max(c, d),
        _selection(compare),
    )
    for sign, compare in _COMPARISONS.items()
]
_EVERYWHERE = [
    Operation(2, "tl.maximum({0}, {1})", max, _maximum),
    Operation(2, "tl.minimum({0}, {1})", max, _minimum),
    Operation(1, "-({0})", abs, _negate),
    Operation(1, "tl.abs({0})", abs, _absolute),
]
_WIDE = "({0}).to(tl.float32)"  # Triton's functions want it
FLOAT_OPERATIONS = [
    *[Operation(2, "({0}) + ({1})", lambda a, b: a + b, _add)] * 3,
    *[Operation(2, "({0}) - ({1})", lambda a, b: a + b, _subtract)] * 3,
    *[Operation(2, "({0}) * ({1})", lambda a, b: a * b, _multiply)] * 3,
    *[Operation(2, "({0}) / (tl.abs({1}) + 1.0)", lambda a, b: a, _divide)] * 2,
    *_EVERYWHERE,
    *_SELECTIONS[:4],  # equality of rounded numbers is in doubt everywhere
    Operation(1, f"tl.sqrt(tl.abs({_WIDE}))", lambda a: a**0.5 + 1, _square_root),
    Operation(1, f"tl.floor({_WIDE})", lambda a: a + 1, _floor),
    Operation(
        1,
        f"tl.exp(-tl.abs({_WIDE}))",
        lambda a: 1,
        _smooth(lambda x: (-x.abs()).exp(), 1, 0, 3),
    ),
    Operation(
        1,
        f"tl.log(tl.abs({_WIDE}) + 1.0)",
        lambda a: a + 1,
        _smooth(lambda x: x.abs().log1p(), 1, 2, 3),
    ),
    Operation(
        1,
        f"tl.rsqrt(tl.abs({_WIDE}) + 1.0)",
        lambda a: 1,
        _smooth(lambda x: (x.abs() + 1).rsqrt(), 0.5, 0, 5),
    ),
    Operation(
        1,
        f"tl.sigmoid({_WIDE})",
        lambda a: 1,
        _smooth(torch.sigmoid, 0.25, 0, 8),
    ),
    Operation(1, f"tl.erf({_WIDE})", lambda a: 1, _smooth(torch.erf, 1.13, 0, 8)),
]
INTEGER_OPERATIONS = [
    *[Operation(2, "({0}) + ({1})", lambda a, b: a + b, _whole(operator.add))] * 2,
    *[Operation(2, "({0}) - ({1})", lambda a, b: a + b, _whole(operator.sub))] * 2,
    *[Operation(2, "({0}) * ({1})", lambda a, b: a * b, _whole(operator.mul))] * 2,
    *_EVERYWHERE,
    *_SELECTIONS,
    Operation(2, "({0}) // (tl.abs({1}) + 1)", lambda a, b: a, _whole(_truncating)),
    Operation(2, "({0}) % (tl.abs({1}) + 1)", lambda a, b: a, _whole(_remainder)),
    Operation(2, "({0}) & ({1})", _bits, _whole(torch.bitwise_and)),
    Operation(2, "({0}) | ({1})", _bits, _whole(torch.bitwise_or)),
    Operation(2, "({0}) ^ ({1})", _bits, _whole(torch.bitwise_xor)),
    Operation(1, "~({0})", _bits, _whole(torch.bitwise_not)),
    Operation(1, "({0}) << 2", lambda a: 4 * a, _whole(lambda a: a << 2)),
    Operation(1, "({0}) >> 3", lambda a: a / 8 + 1, _whole(lambda a: a >> 3)),
]
