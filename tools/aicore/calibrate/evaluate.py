"""What the model gives for a case, next to what was published."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from case import Case

from flagc.aicore.native import native
from flagc.aicore.timing.costs import native_costs
from flagc.aicore.timing.operations import PIPES
from flagc.targets.ascend.chips import facts_of

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

GIB = 2.0**30


@dataclass(frozen=True)
class Point:
    """One published figure and the model's."""

    table: str
    case: str
    measure: str
    unit: str
    published: float
    predicted: float

    @property
    def error(self) -> float:
        """Relative, signed."""
        return self.predicted / self.published - 1

    @property
    def is_time(self) -> bool:
        """A duration or a rate, not a pipe's counter."""
        return self.measure in TIMES


TIMES = frozenset(
    ("task", "core_max", "core_mean", "cycles_per_copy", "rate_per_core", "aicore_mean")
)


@lru_cache(maxsize=1)
def published() -> dict[tuple[str, str, str], dict[str, Any]]:
    """Rows by table, case and measure."""
    path = Path(__file__).parent / "published.toml"
    rows = tomllib.loads(path.read_text("utf-8"))["row"]
    return {(row["table"], row["case"], row["measure"]): row for row in rows}


class Evaluator:
    """Runs cases; launches are built once, results kept by constants."""

    def __init__(self) -> None:
        self._launches: dict[tuple[str, str, bool], Any] = {}

    def _simulate(self, case: Case, values: Mapping[str, float], less: bool) -> Any:
        key = (case.table, case.name, less)
        if key not in self._launches:
            build = case.less if less else case.build
            assert build is not None
            self._launches[key] = build()
        costs = native_costs(facts_of(case.chip), case.clock, values)
        return native().simulate(self._launches[key], costs)

    def points(self, case: Case, values: Mapping[str, float]) -> list[Point]:
        """Every target of the case."""
        result = self._simulate(case, values, less=False)
        smaller = self._simulate(case, values, less=True) if case.less else None
        points = []
        for measure, what in case.targets.items():
            row = published()[case.table, case.name, measure]
            value = _model(case, result, what)
            if smaller is not None:
                value += case.extrapolate * (value - _model(case, smaller, what))
            points.append(Point(case.table, case.name, measure, row["unit"], row["value"], value))
        return points


def _busy(result: Any, pipe: str) -> float:
    """Mean cycles over the cores that used the pipe."""
    used = [a["pipes"][PIPES[pipe]]["busy"] for a in result.agents if PIPES[pipe] in a["pipes"]]
    return sum(used) / len(used) if used else 0.0


def _model(case: Case, result: Any, what: str) -> float:
    microseconds = 1 / case.clock
    if what == "task":
        return float(result.cycles * microseconds)
    if what == "core":
        return float(result.core_cycles * microseconds)
    if what == "mean":
        return float(result.mean_core_cycles * microseconds)
    if what == "cycles a copy":
        return float(result.core_cycles / case.count)
    if what == "GiB/s a core":
        seconds = result.core_cycles * microseconds * 1e-6
        return float(case.flags["bytes"] / seconds / GIB)
    kind, pipe = what.split()
    busy = _busy(result, pipe)
    return busy * microseconds if kind == "busy" else busy / result.mean_core_cycles
