"""Whom a sequence of steps blames."""

import pytest

from flagc.check.each import CheckEachExecutor, Step

R, W, F, N = "right", "wrong", "fault", "refused"


@pytest.mark.parametrize(
    ("statuses", "incomplete", "culprit"),
    [
        ([R, R, R], False, ""),
        ([R, W, W], False, "1"),
        ([R, W, R], False, "1"),  # mended later, and still to blame
        ([R, W, R], True, ""),
        ([R, R, F], False, "2"),
        ([R, N, R], False, "1"),
        ([N, N, R], True, ""),
        ([N, N, R], False, ""),  # a user's pass makes it compile
        ([N, R, N], True, "2"),
        ([W, R, W, W], True, "2"),
        ([W, W, W], False, ""),  # not the passes
        ([N, W, W], True, "1"),
    ],
)
def test_the_first_bad_step_after_a_good_one(
    statuses: list[str], incomplete: bool, culprit: str
) -> None:
    steps = [Step(str(index), status, None) for index, status in enumerate(statuses)]
    executor = CheckEachExecutor([], incomplete)
    assert executor._culprit(steps) == culprit
