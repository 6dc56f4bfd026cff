"""Comparison of outputs: what counts as right, and how a difference is described."""

import math

import pytest
import torch

from flagc.check.compare import compare, mismatch_of
from flagc.check.tolerance import CONFIDENCE, FUNCTIONS, bound, given

HALF = bound(torch.float16, terms=1)
SINGLE = bound(torch.float32, terms=1)


def test_rounding_is_right_and_two_units_are_not() -> None:
    expected = torch.linspace(1.0, 1.999, 64, dtype=torch.float64)
    assert compare("c", expected.half(), expected, HALF).is_right
    # The next fp16 number is one unit, 2**-10 here, away.
    up = torch.nextafter(expected.half(), torch.tensor(2.0, dtype=torch.float16))
    up = torch.nextafter(up, torch.tensor(2.0, dtype=torch.float16))
    assert not compare("c", up, expected, HALF).is_right


def test_the_bound_follows_from_terms_additions_and_roundings() -> None:
    unit = 2.0**-24
    assert SINGLE.own == 2 * unit
    assert SINGLE.shared == pytest.approx(unit * (FUNCTIONS + CONFIDENCE))
    long = bound(torch.float32, terms=4096)
    assert long.shared - SINGLE.shared == pytest.approx(unit * CONFIDENCE * 63)
    added = {n: bound(torch.float16, terms=1, additions=n).shared - HALF.shared for n in (4, 100)}
    assert added == pytest.approx({4: 4 * 2.0**-10, 100: 40 * 2.0**-10})
    narrow = bound(torch.float32, terms=1, roundings={"bf16": 2})
    assert narrow.shared - SINGLE.shared == pytest.approx(4 * 2.0**-8)
    assert bound(torch.int32).own == bound(torch.int32).shared == 0.0


def test_long_sums_in_fp32_stay_within_the_bound_and_wrong_ones_do_not() -> None:
    generator = torch.Generator().manual_seed(1)
    for terms in (10, 1000, 20000):
        values = torch.randn((64, terms), generator=generator)
        exact = values.double().sum(1)
        total = torch.zeros(64)
        for k in range(terms):
            total += values[:, k]
        comparison = compare("s", total, exact, bound(torch.float32, terms=terms))
        assert comparison.is_right
        # One term too few is not rounding.
        short = exact - values[:, 0].double() * (values[:, 0].abs() > 0.5)
        assert not compare("s", short.float(), exact, bound(torch.float32, terms=terms)).is_right


def test_small_elements_are_measured_by_the_whole_output() -> None:
    expected = torch.tensor([100.0, -100.0, 0.0], dtype=torch.float64)
    assert compare("c", torch.tensor([100.0, -100.0, 1e-4]), expected, SINGLE).is_right
    assert not compare("c", torch.tensor([100.0, -100.0, 1e-1]), expected, SINGLE).is_right


def test_a_number_too_large_for_the_type_is_infinity() -> None:
    expected = torch.tensor([70000.0, 1.0], dtype=torch.float64)
    found = torch.tensor([math.inf, 1.0], dtype=torch.float16)
    assert compare("c", found, expected, HALF).is_right
    found[0] = 65504.0
    assert not compare("c", found, expected, HALF).is_right


def test_a_mismatch_says_where_and_how_much() -> None:
    expected = torch.zeros((6, 10), dtype=torch.float64)
    expected[:] = 1.0
    found = expected.float()
    found[4:, 2] = 3.0
    mismatch = mismatch_of(compare("out", found, expected, SINGLE))
    assert (mismatch.wrong, mismatch.total, mismatch.first) == (2, 60, (4, 2))
    assert (mismatch.low, mismatch.high, mismatch.worst) == ((4, 2), (5, 2), 2.0)
    assert "2 of 60 elements are wrong, only in the tail of dimension 0" in str(mismatch)
    found = expected.float()
    found[0, 0] = 0.0
    assert "in the interior" in str(mismatch_of(compare("out", found, expected, SINGLE)))
    found[:] = 0.0
    assert "everywhere" in str(mismatch_of(compare("out", found, expected, SINGLE)))


@pytest.mark.parametrize(
    ("found", "expected", "right"),
    [
        ([float("nan")], [float("nan")], True),
        ([float("nan")], [1.0], False),
        ([1.0], [float("nan")], False),
        ([float("inf")], [float("inf")], True),
        ([float("-inf")], [float("inf")], False),
        ([1e30], [float("inf")], False),
    ],
)
def test_not_numbers_and_infinities(found: list, expected: list, right: bool) -> None:
    wanted = torch.tensor(expected, dtype=torch.float64)
    assert compare("x", torch.tensor(found), wanted, given(0.5)).is_right == right


def test_integers_are_exact() -> None:
    exact = bound(torch.int64)
    assert compare("n", torch.tensor([3, 4]), torch.tensor([3, 4]), exact).is_right
    assert not compare("n", torch.tensor([3, 5]), torch.tensor([3, 4]), exact).is_right
    large = torch.tensor([(1 << 60) + 1])  # not a float64
    assert compare("n", large, large.clone(), exact).is_right
    assert not compare("n", large, large - 1, exact).is_right


def test_shapes_must_agree() -> None:
    with pytest.raises(ValueError, match=r"shape \(3,\), the output \(2,\)"):
        compare("n", torch.zeros(2), torch.zeros(3), SINGLE)
