"""Polynomials that stand for functions on vector cores: their error, in fp32 as it is computed."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from flagc.ir.analysis.rational_functions import RATIONALS

FUNCTIONS = {"erf": torch.erf, "tanh": torch.tanh}


def computed(name: str, values: np.ndarray) -> np.ndarray:
    """Return what the vector ops give, each rounded to fp32."""
    function = RATIONALS[name]
    limit = np.float32(function.limit)
    x = np.clip(values, -limit, limit)
    z = x * x

    def polynomial(coefficients: tuple[float, ...]) -> np.ndarray:
        total = np.full_like(z, np.float32(coefficients[-1]))
        for coefficient in coefficients[-2::-1]:
            total = z * total + np.float32(coefficient)
        return total

    result = x * polynomial(function.numerator) / polynomial(function.denominator)
    return np.clip(result, np.float32(-1), np.float32(1))


@pytest.mark.parametrize("name", RATIONALS)
def test_error_is_below_eight_half_units(name: str) -> None:
    limit = RATIONALS[name].limit
    sizes = np.concatenate(
        [np.geomspace(1e-6, 1.0, 100_000), np.linspace(0.5, 1.5 * limit, 400_000)]
    ).astype(np.float32)
    exact = FUNCTIONS[name](torch.from_numpy(sizes).double()).numpy()
    for sign in (np.float32(1), np.float32(-1)):
        found = computed(name, sign * sizes).astype(np.float64)
        assert (np.abs(found - sign * exact) <= 8 * 2.0**-24 * exact).all()


@pytest.mark.parametrize("name", RATIONALS)
def test_ends(name: str) -> None:
    values = np.array([0.0, -0.0, np.inf, -np.inf, 1e-30], np.float32)
    found = computed(name, values)
    assert found[:2].tolist() == [0.0, 0.0]
    # Beyond the limit, to eight half units.
    assert np.abs(found[2:4] - np.array([1.0, -1.0])).max() <= 8 * 2.0**-24
    assert found[4] > 0
