"""Compare a launch's outputs with what they should be, and say where and how they differ."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch

from flagc.check.outcome import Mismatch
from flagc.check.tolerance import Bound


@dataclass(frozen=True)
class Comparison:
    """An output against its reference.

    Attributes:
        wrong: which elements are out of bounds; `error` and `allowed` are absolute.
        used: the largest error as a part of what was allowed for its element.
    """

    argument: str
    found: torch.Tensor
    wanted: torch.Tensor
    wrong: torch.Tensor
    error: torch.Tensor
    allowed: torch.Tensor
    used: float

    @property
    def is_right(self) -> bool:
        """Whether every element is within bounds."""
        return not bool(self.wrong.any())

    @property
    def largest_error(self) -> float:
        """The largest finite absolute error."""
        finite = self.error[torch.isfinite(self.error)]
        return float(finite.max()) if finite.numel() else 0.0


def compare(argument: str, found: torch.Tensor, expected: Any, bound: Bound) -> Comparison:
    """Compare `found` with `expected` within `bound` (see `flagc.check.tolerance`).

    NaN and infinities must be the same; a number that the output's type cannot hold counts as the
    infinity. Integers must be equal.

    Raises:
        ValueError: the shapes differ.
    """
    reference = torch.as_tensor(expected).to(found.device)
    if reference.shape != found.shape:
        raise ValueError(
            f"the reference of '{argument}' has shape {tuple(reference.shape)}, the output "
            f"{tuple(found.shape)}"
        )
    wanted, got = reference.double(), found.double()
    if found.dtype.is_floating_point:
        held = wanted.to(found.dtype).double()
        wanted = torch.where(held.isinf(), held, wanted)
        same = (got == wanted) | (got.isnan() & wanted.isnan())
    else:  # by the integers themselves: float64 does not hold all of 64 bits
        same = found == (reference if not reference.is_floating_point() else wanted)
    finite = torch.isfinite(wanted)
    scale = wanted[finite].square().mean().sqrt() if finite.any() else wanted.new_zeros(())
    allowed = bound.own * wanted.abs() + bound.shared * torch.maximum(wanted.abs(), scale)
    error = torch.where(same, 0.0, (got - wanted).abs())
    wrong = ~same
    if found.dtype.is_floating_point:
        wrong &= ~(finite & (error <= allowed))
    measured = finite & torch.isfinite(error) & (allowed > 0)
    used = float((error[measured] / allowed[measured]).max()) if measured.any() else 0.0
    return Comparison(argument, found, wanted, wrong, error, allowed, used)


def mismatch_of(comparison: Comparison) -> Mismatch:
    """Describe the wrong elements of `comparison`, of which there is at least one."""
    wrong = comparison.wrong
    places = wrong.nonzero() if wrong.dim() else torch.zeros((1, 0), dtype=torch.long)
    first = tuple(int(index) for index in places[0])
    measured = comparison.error[wrong & torch.isfinite(comparison.error)]
    return Mismatch(
        comparison.argument,
        int(wrong.sum()),
        wrong.numel(),
        first,
        float(comparison.found[first]),
        float(comparison.wanted[first]),
        tuple(int(index) for index in places.min(0).values) if first else (),
        tuple(int(index) for index in places.max(0).values) if first else (),
        float(measured.max()) if measured.numel() else float("nan"),
        float(comparison.allowed[first]),
        tuple(comparison.found.shape),
    )
