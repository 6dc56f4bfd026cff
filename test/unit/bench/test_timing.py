"""The timing layer, on a device whose launches take known times."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from flagc.bench.timing import MOST_LAUNCHES, REPLAY_SECONDS, Call, Timing, measure, ratio


class Device:
    """Every call adds its time to the clock; each round is slower by `drift` than the last."""

    def __init__(self, drift: float = 0.0) -> None:
        self.now = 0.0
        self.drift = drift
        self.rounds: list[list[int]] = []
        self.cycles: list[list[int]] = []
        self.current: list[int] = []

    def call(self, seconds: float, label: int = 0) -> Call:
        def run() -> None:
            self.now += seconds
            self.current.append(label)

        return run

    def record(self, calls: Sequence[Call]) -> Any:
        return list(calls)

    def time(self, replays: Sequence[Any]) -> list[float]:
        slower = 1 + self.drift * len(self.rounds)
        found = []
        self.rounds.append([])
        for replay in replays:
            before = self.now
            self.current = []
            for call in replay:
                call()
            self.cycles.append(self.current)
            self.rounds[-1].append(self.current[0])
            found.append((self.now - before) * slower)
        return found


def test_times_per_launch_and_whole_cycles_over_the_sets() -> None:
    device = Device()
    fast = [device.call(4e-6, label) for label in range(7)]
    slow = [device.call(3e-3, 100 + label) for label in range(2)]
    timings = measure(device, {"fast": fast, "slow": slow}, seconds=0.5)
    assert timings["fast"].median == pytest.approx(4e-6)
    assert timings["slow"].mean == pytest.approx(3e-3)
    assert timings["slow"].launches == 2
    assert timings["fast"].launches % 7 == 0
    assert timings["fast"].launches * 4e-6 >= REPLAY_SECONDS
    last = device.cycles[-1] if device.cycles[-1][0] < 100 else device.cycles[-2]
    assert last == [index % 7 for index in range(timings["fast"].launches)]
    # 6 ms and 2.016 ms a round, in half a second.
    assert len(timings["fast"].samples) == int(0.5 / (2 * 3e-3 + timings["fast"].launches * 4e-6))


def test_candidates_take_turns_at_being_first() -> None:
    device = Device()
    measure(device, {str(i): [device.call(1e-3, i)] for i in range(3)}, seconds=0.0)
    rounds = [order for order in device.rounds if len(order) == 3]
    assert {order[0] for order in rounds} == {0, 1, 2}
    assert all(sorted(order) == [0, 1, 2] for order in rounds)


def test_a_replay_is_not_longer_than_the_queue() -> None:
    device = Device()
    timings = measure(device, {"tiny": [device.call(1e-8)]}, seconds=0.01)
    assert timings["tiny"].launches == MOST_LAUNCHES
    many = [device.call(1e-6) for _ in range(MOST_LAUNCHES + 5)]
    assert measure(device, {"many": many}, seconds=0.01)["many"].launches == len(many)


def test_ratios_are_of_the_same_round() -> None:
    """The clock falls by half over the run; the ratio of medians would be right as well, but not
    the spread."""
    device = Device(drift=0.02)
    timings = measure(device, {"a": [device.call(1e-3)], "b": [device.call(2e-3)]}, seconds=0.3)
    middle, low, high = ratio(timings, "a", "b")
    assert (middle, low, high) == pytest.approx((2.0, 2.0, 2.0))
    quartiles = timings["a"].quartiles
    assert quartiles[1] > 1.2 * quartiles[0]


def test_statistics() -> None:
    timing = Timing((4.0, 1.0, 2.0, 3.0, 10.0), 3)
    assert (timing.mean, timing.median, timing.quartiles) == (4.0, 3.0, (2.0, 4.0))
    described = timing.describe()
    assert (described["fastest"], described["slowest"], described["rounds"]) == (1.0, 10.0, 5)
