"""Numbers in float64 with a bound of what fp32 arithmetic loses, carried from op to op.

    x = Bounded(exact, lost)
    y = x * x + 1.0          # y.exact, y.lost

Each op adds half a unit of its fp32 result; functions as many half units as they are allowed to be
off. Bounds are first order and hold for any input, as comparing.py wants them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch

from support.comparing import ROUND

_LEAST = 2.0**-149  # what underflow to zero can lose


@dataclass(frozen=True)
class Bounded:
    exact: torch.Tensor
    lost: torch.Tensor

    @staticmethod
    def of(value: Bounded | torch.Tensor | float) -> Bounded:
        if isinstance(value, Bounded):
            return value
        exact = torch.as_tensor(value, dtype=torch.float64)
        return Bounded(exact, torch.zeros_like(exact))

    def rounded(self, units: float = 1.0) -> Bounded:
        """One more rounding to fp32."""
        return Bounded(self.exact, self.lost + units * ROUND * self.exact.abs() + _LEAST)

    def to(self, dtype: torch.dtype) -> Bounded:
        """Rounded to a smaller type."""
        info = torch.finfo(dtype)
        unit = torch.maximum(self.exact.abs() * info.eps / 2, torch.tensor(info.tiny * info.eps))
        return Bounded(self.exact, self.lost + unit * (1 + info.eps))

    def __add__(self, other: Bounded | torch.Tensor | float) -> Bounded:
        other = Bounded.of(other)
        return Bounded(self.exact + other.exact, self.lost + other.lost).rounded()

    def __neg__(self) -> Bounded:
        return Bounded(-self.exact, self.lost)

    def __sub__(self, other: Bounded | torch.Tensor | float) -> Bounded:
        return self + -Bounded.of(other)

    def __rsub__(self, other: float) -> Bounded:
        return Bounded.of(other) - self

    def __mul__(self, other: Bounded | torch.Tensor | float) -> Bounded:
        other = Bounded.of(other)
        lost = self.exact.abs() * other.lost + (other.exact.abs() + other.lost) * self.lost
        return Bounded(self.exact * other.exact, lost).rounded()

    def __truediv__(self, other: Bounded | torch.Tensor | float) -> Bounded:
        other = Bounded.of(other)
        quotient = self.exact / other.exact
        least = (other.exact.abs() - other.lost).clamp(min=0)
        return Bounded(quotient, (self.lost + quotient.abs() * other.lost) / least).rounded()

    def __rtruediv__(self, other: float) -> Bounded:
        return Bounded.of(other) / self

    __radd__ = __add__
    __rmul__ = __mul__

    def apply(self, function: Callable[[torch.Tensor], torch.Tensor], units: float) -> Bounded:
        """A monotonous function that is off by at most `units` half units."""
        exact = function(self.exact)
        ends = [function(self.exact + sign * self.lost) for sign in (-1, 1)]
        lost = torch.maximum(*((end - exact).abs().nan_to_num(0.0) for end in ends))
        return Bounded(exact, lost).rounded(units)

    def abs(self) -> Bounded:
        return Bounded(self.exact.abs(), self.lost)


def choose(left: Bounded, right: Bounded | float, yes: Bounded, no: Bounded | float) -> Bounded:
    """`left > right ? yes : no`; either where rounding may decide."""
    right, no = Bounded.of(right), Bounded.of(no)
    exact = torch.where(left.exact > right.exact, yes.exact, no.exact)
    open_ = (left.exact - right.exact).abs() <= left.lost + right.lost
    lost = torch.where(left.exact > right.exact, yes.lost, no.lost)
    either = (yes.exact - no.exact).abs() + torch.maximum(yes.lost, no.lost)
    return Bounded(exact, torch.where(open_, either, lost))
