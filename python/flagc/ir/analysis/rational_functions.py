"""Functions that vector cores have no instruction for, as x * P(x*x) / Q(x*x) in f32.

Fitted by us with numpy: least squares of the relative error on Chebyshev nodes, reweighted towards
the minimax (Lawson). The fit is off by less than 0.4 * 2**-24 of the result; with f32 arithmetic,
by less than 8 * 2**-24, from 1e-6 up to the limit (test_rational_functions.py).
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Rational:
    """Coefficients from the constant one on; from `limit` on, the function is 1 in f32."""

    limit: float
    numerator: tuple[float, ...]
    denominator: tuple[float, ...]


RATIONALS = {
    "erf": Rational(
        3.9192059,
        (
            *(1.1283791065216064, 0.1903763860464096, 0.052745405584573746),
            *(0.003764500143006444, 0.000284888461465016, 2.050733428404783e-06),
        ),
        (
            *(1.0, 0.5020493865013123, 0.11409727483987808, 0.014966964721679688),
            *(0.0011623214231804013, 3.8098682125564665e-05),
        ),
    ),
    "tanh": Rational(
        9.0,
        (
            *(1.0, 0.13786321878433228, 0.004009730648249388),
            *(3.1615698389941826e-05, 5.085620813360947e-08),
        ),
        (
            *(1.0, 0.4711965322494507, 0.0277419276535511, 0.0004209619073662907),
            *(1.619554495846387e-06, 7.39340311195491e-10),
        ),
    ),
}
