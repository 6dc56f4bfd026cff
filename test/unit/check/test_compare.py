"""Comparison of outputs: what counts as right, and how a difference is described."""

import pytest
import torch

from flagc.check.compare import TOLERANCES, compare


def test_rounding_is_right_and_a_few_units_are_the_limit() -> None:
    expected = torch.linspace(1.0, 2.0, 64, dtype=torch.float64)
    assert compare("c", expected.half(), expected) is None
    limit = TOLERANCES[torch.float16]
    assert compare("c", (expected * (1 + 0.5 * limit)).half(), expected) is None
    assert compare("c", (expected * (1 + 4 * limit)).half(), expected) is not None


def test_small_elements_are_measured_by_the_whole_output() -> None:
    expected = torch.tensor([100.0, -100.0, 0.0], dtype=torch.float64)
    assert compare("c", torch.tensor([100.0, -100.0, 1e-4]), expected) is None
    assert compare("c", torch.tensor([100.0, -100.0, 1e-1]), expected) is not None


def test_a_mismatch_says_where_and_how_much() -> None:
    expected = torch.zeros((6, 10), dtype=torch.float64)
    expected[:] = 1.0
    found = expected.float()
    found[4:, 2] = 3.0
    mismatch = compare("out", found, expected)
    assert mismatch is not None
    assert (mismatch.wrong, mismatch.total, mismatch.first) == (2, 60, (4, 2))
    assert (mismatch.low, mismatch.high, mismatch.worst) == ((4, 2), (5, 2), 2.0)
    assert "2 of 60 elements are wrong, only in the tail of dimension 0" in str(mismatch)
    found = expected.float()
    found[0, 0] = 0.0
    assert "in the interior" in str(compare("out", found, expected))


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
    result = compare("x", torch.tensor(found), torch.tensor(expected, dtype=torch.float64))
    assert (result is None) == right


def test_integers_are_exact() -> None:
    assert compare("n", torch.tensor([3, 4]), torch.tensor([3, 4])) is None
    assert compare("n", torch.tensor([3, 5]), torch.tensor([3, 4])) is not None


def test_shapes_must_agree() -> None:
    with pytest.raises(ValueError, match=r"shape \(3,\), the output \(2,\)"):
        compare("n", torch.zeros(2), torch.zeros(3))
