"""FlagGems' random operators, and what their results must look like.

Distributions are compared by the largest distance between the result's distribution function and
the wanted one. For n independent samples it exceeds d with a probability of at most
2 exp(-2 n d^2) (Dvoretzky, Kiefer, Wolfowitz; Massart's constant), and so does the distance of a
frequency (Hoeffding). The bounds below are wrong once in 10^9 results.
"""

# ruff: noqa: E731 - argument builders read best as one-line lambdas

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from cases import args
from flaggems_operator import ANY, F32, Operator

SHAPE = (64, 128)
SHARE = 0.3


def bound(count: int) -> float:
    """The distance that `count` samples exceed once in 10^9 results."""
    return math.sqrt(math.log(2e9) / (2 * count))


def distributed(function: Callable[[Any], Any]) -> Callable[[tuple[Any, ...], Any], str]:
    """Whether all samples are finite and follow a distribution function."""

    def accepts(_: tuple[Any, ...], got: Any) -> str:
        samples = got.double().flatten().sort().values
        if not bool(samples.isfinite().all()):
            return "a sample that is not finite"
        steps = torch.arange(len(samples) + 1) / len(samples)
        wanted = function(samples)
        distance = max(float((wanted - side).abs().max()) for side in (steps[1:], steps[:-1]))
        limit = bound(len(samples))
        return "" if distance <= limit else f"distance {distance:.3g} of at most {limit:.3g}"

    return accepts


def is_share(arguments: tuple[Any, ...], got: Any) -> str:
    """Zeros and ones, the ones as often as the second argument says."""
    if not bool(((got == 0) | (got == 1)).all()):
        return "neither 0 nor 1"
    return share_problem(float(got.double().mean()), arguments[1], got.numel())


def share_problem(found: float, wanted: float, count: int) -> str:
    """'' if a frequency is within its bound."""
    far = abs(found - wanted) > bound(count)
    return f"a share of {found:.3g} instead of {wanted:.3g}" if far else ""


def is_dropped_out(arguments: tuple[Any, ...], got: Any) -> str:
    """Each element zero, or scaled up; zeros as often as asked for, where the mask says so."""
    x, share = arguments[:2]
    result, kept = got
    if not bool(((result != 0) == kept).all()):
        return "the mask does not tell the zeros"
    scaled = torch.where(kept, x / (1 - share), torch.zeros(()))
    if not torch.allclose(result, scaled, rtol=1e-6):
        return "an element is not the input's, scaled"
    return share_problem(1 - float(kept.double().mean()), share, x.numel())


def sampling() -> list[Operator]:
    """Distributions, dropout, permutations."""
    uniform = distributed(lambda x: x.clamp(0, 1))
    normal = distributed(torch.special.ndtr)
    exponential = distributed(flaggems_exponential)
    empty = lambda _: args(torch.empty(SHAPE))
    shaped = lambda _: args(SHAPE, device="cpu")
    rows = [
        ("rand", shaped, uniform),
        ("randn", shaped, normal),
        ("uniform_", empty, uniform),
        ("normal_", empty, normal),
        ("exponential_", empty, exponential),
        ("normal_tensor_float", lambda _: args(torch.zeros(SHAPE), 1.0), normal),
        ("bernoulli_", lambda _: args(torch.empty(SHAPE), SHARE), is_share),
        ("dropout", lambda _: args(1 + torch.rand(SHAPE), SHARE), is_dropped_out),
    ]
    return [
        *[Operator(name, make, nothing, F32, accepts=accepts) for name, make, accepts in rows],
        Operator("randperm", lambda _: args(1000, device="cpu"), nothing, ANY, accepts=is_shuffled),
    ]


def flaggems_exponential(samples: Any) -> Any:
    """The distribution function of minus FlagGems' `safe_fast_log_f32` of a uniform number.

    Its series of four terms is off by up to 0.11, so that no sample is below 0.1: an error of
    FlagGems, not of the kernel's compilation.
    """
    grid = 1 << 20
    mantissa, exponent = torch.frexp((torch.arange(grid) + 0.5).double() / grid)
    rest = 2 * mantissa - 1
    series = rest * (1 + rest * (-0.5 + rest * (1 / 3 - rest * 0.25)))
    logarithms = series + (exponent - 1) * math.log(2)
    return torch.searchsorted((-logarithms).sort().values, samples) / grid


def nothing(*_: Any, **__: Any) -> None:
    """In place of a reference."""


def is_shuffled(arguments: tuple[Any, ...], got: Any) -> str:
    """Each number once; in place about one, and more than 20 once in 10^18 results."""
    numbers = torch.arange(arguments[0])
    if not torch.equal(got.sort().values, numbers):
        return "not each number once"
    return "too many numbers in place" if int((got == numbers).sum()) > 20 else ""
