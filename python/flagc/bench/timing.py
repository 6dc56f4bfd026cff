"""Time candidates against each other: replays of recorded launches, interleaved round by round."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

Call = Callable[[], Any]

# One replay lasts at least this long, so that an event's resolution (about a microsecond) and the
# start of a replay do not count.
REPLAY_SECONDS = 2e-3
# A replay's launches are all queued before the first of them runs; more would not be.
MOST_LAUNCHES = 512
FEWEST_ROUNDS, MOST_ROUNDS = 15, 101
WARM_UP_ROUNDS = 2


class Stopwatch(Protocol):
    """A device that records launches and says how long replays take."""

    def record(self, calls: Sequence[Call]) -> Any:
        """Return something that replays the device work of `calls` in order.

        Every call has run once before, so that nothing is loaded or compiled while recording.
        """
        ...

    def time(self, replays: Sequence[Any]) -> list[float]:
        """Replay one after the other without a pause; return each one's seconds on the device."""
        ...


@dataclass(frozen=True)
class Timing:
    """Seconds per launch: one sample a round, each the mean over a replay of `launches`."""

    samples: tuple[float, ...]
    launches: int

    @property
    def mean(self) -> float:
        """The mean of the samples."""
        return statistics.fmean(self.samples)

    @property
    def median(self) -> float:
        """The middle sample."""
        return statistics.median(self.samples)

    @property
    def quartiles(self) -> tuple[float, float]:
        """The samples that a quarter and three quarters lie below."""
        if len(self.samples) < 2:
            return self.samples[0], self.samples[0]
        low, _, high = statistics.quantiles(self.samples, n=4, method="inclusive")
        return low, high

    def describe(self) -> dict[str, Any]:
        """Return the timing as plain data, in seconds."""
        return {
            "mean": self.mean,
            "median": self.median,
            "quartiles": list(self.quartiles),
            "fastest": min(self.samples),
            "slowest": max(self.samples),
            "rounds": len(self.samples),
            "launches_per_round": self.launches,
        }


def ratio(timings: Mapping[str, Timing], of: str, to: str) -> tuple[float, float, float]:
    """Return how much faster `of` is than `to`: the median over rounds, and its quartiles.

    Rounds are compared one by one, since both ran at the same clocks and temperature in each.
    """
    ratios = tuple(b / a for a, b in zip(timings[of].samples, timings[to].samples, strict=True))
    spread = Timing(ratios, 1)
    return (spread.median, *spread.quartiles)


def measure(
    stopwatch: Stopwatch, candidates: Mapping[str, Sequence[Call]], seconds: float
) -> dict[str, Timing]:
    """Time each candidate's launches; about `seconds` of device time for all of them.

    A candidate is one call for each set of inputs; they are cycled through, so that no set is in
    the cache when its turn comes again. All candidates take turns in every round, each round
    beginning with another one.
    """
    names = list(candidates)
    replays: dict[str, Any] = {}
    launches: dict[str, int] = {}
    expected = 0.0
    for name, calls in candidates.items():
        trial = stopwatch.record(calls)
        stopwatch.time([trial])
        per_launch = stopwatch.time([trial])[0] / len(calls)
        launches[name] = _launches(per_launch, len(calls))
        repeated = [calls[index % len(calls)] for index in range(launches[name])]
        replays[name] = trial if len(repeated) == len(calls) else stopwatch.record(repeated)
        expected += per_launch * launches[name]
    rounds = min(MOST_ROUNDS, max(FEWEST_ROUNDS, int(seconds / max(expected, 1e-9))))
    samples: dict[str, list[float]] = {name: [] for name in names}
    for number in range(-WARM_UP_ROUNDS, rounds):
        first = number % len(names)
        order = names[first:] + names[:first]
        found = stopwatch.time([replays[name] for name in order])
        if number >= 0:
            for name, elapsed in zip(order, found, strict=True):
                samples[name].append(elapsed / launches[name])
    return {name: Timing(tuple(samples[name]), launches[name]) for name in names}


def _launches(per_launch: float, sets: int) -> int:
    """Return how many launches one replay has: whole cycles, long enough, not too many."""
    wanted = math.ceil(REPLAY_SECONDS / max(per_launch, 1e-9))
    cycles = math.ceil(min(wanted, MOST_LAUNCHES) / sets)
    return max(1, cycles) * sets
