"""Fits constants to published rows: Gauss-Newton on log errors, within physical bounds.

One Jacobian by finite differences at the starting values serves every fit (leave-one-table-out fits
differ in their rows only), each fit takes steps with it until it no longer improves, and the result
is always evaluated by the full model.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
from case import Case
from evaluate import Evaluator, Point
from rows import all_cases
from scipy.optimize import lsq_linear

# Errors above this count linearly, not squared: no single row decides a constant.
ROBUST = 0.15
STEP = 0.08  # of a constant, relative, for its derivative
PRIOR = 0.15  # weight that pulls log constants to their starting values: one row's error of as much
ROUNDS = 2

_evaluator = Evaluator()


@dataclass(frozen=True)
class Bounds:
    """Physical limits of a constant."""

    low: float
    high: float


def evaluate(cases: Sequence[Case], values: Mapping[str, float]) -> list[Point]:
    """All points of the cases."""
    return [point for case in cases for point in _evaluator.points(case, values)]


def _evaluate_all(values: Mapping[str, float]) -> list[Point]:
    return evaluate(all_cases(), values)


def evaluate_many(sets: Sequence[Mapping[str, float]]) -> list[list[Point]]:
    """The points of every case for each set of constants, in two processes."""
    with ProcessPoolExecutor(2) as pool:
        return list(pool.map(_evaluate_all, sets))


def residuals(points: Sequence[Point]) -> Any:
    """Log errors."""
    return np.array([math.log(point.predicted / point.published) for point in points])


def weights(points: Sequence[Point], use: Any) -> Any:
    """Each table counts once, however many rows it has (T13 is one); counters count half."""
    tables = [point.table.partition("-")[0] for point in points]
    totals: dict[str, float] = {}
    for point, table, used in zip(points, tables, use, strict=True):
        if used:
            totals[table] = totals.get(table, 0) + (1 if point.is_time else 0.5)
    return np.array(
        [
            math.sqrt((1 if point.is_time else 0.5) / totals[table]) if used else 0.0
            for point, table, used in zip(points, tables, use, strict=True)
        ]
    )


# Constants of which the others' cases see nothing.
OF_CUBE = frozenset(
    [
        *("mte1_conflict", "mte2_conflict", "l1_head", "l1_window", "nz_window"),
        *("miss_packet", "row", "packet", "fix_out"),
    ]
)
OF_VECTOR = frozenset(["ub_window", "ub_row"])
OF_TABLE = {"near_row": "T13-gm-l1-nd2nz"}
VECTOR_TABLES = frozenset(("T7", "T9", "T13-gm-ub", "T13-ub-gm", "T14"))


def _sees(case: Case, name: str) -> bool:
    of_vector = case.table in VECTOR_TABLES or case.name.startswith("aiv") or case.name == "gelu"
    if name in OF_TABLE:
        return case.table == OF_TABLE[name]
    return not (of_vector and name in OF_CUBE) and not (not of_vector and name in OF_VECTOR)


def _column(task: tuple[Mapping[str, float], str, Sequence[Point]]) -> list[Point]:
    """Points with one constant changed; those that do not see it are not computed again."""
    values, name, base = task
    known = {(point.table, point.case, point.measure): point for point in base}
    result = []
    for case in all_cases():
        if _sees(case, name):
            result += _evaluator.points(case, values)
        else:
            result += [known[case.table, case.name, measure] for measure in case.targets]
    return result


def jacobian(start: Mapping[str, float], names: Sequence[str]) -> tuple[list[Point], Any]:
    """Points at `start`, and derivatives of log predictions by log constants."""
    base = _evaluate_all(start)
    tasks = [({**start, name: start[name] * (1 + STEP)}, name, base) for name in names]
    with ProcessPoolExecutor(2) as pool:
        results = list(pool.map(_column, tasks))
    first = residuals(base)
    columns = [(residuals(result) - first) / math.log(1 + STEP) for result in results]
    return base, np.stack(columns, axis=1)


def robust(error: Any) -> Any:
    """Huber weights."""
    return np.sqrt(np.minimum(1, ROBUST / np.maximum(np.abs(error), 1e-9)))


def loss(points: Sequence[Point], use: Any) -> float:
    """What a fit makes small."""
    error = np.abs(residuals(points))
    huber = np.where(error < ROBUST, error**2, 2 * ROBUST * error - ROBUST**2)
    return float(np.sum(weights(points, use) ** 2 * huber))


def step(
    start: Mapping[str, float],
    current: Mapping[str, float],
    points: Sequence[Point],
    slopes: Any,
    use: Any,
    bounds: Mapping[str, Bounds],
) -> dict[str, float]:
    """One Gauss-Newton step from `current`, within bounds and pulled to `start`."""
    names = list(bounds)
    error = residuals(points)
    row_weight = weights(points, use) * robust(error)
    here = np.log([current[name] for name in names])
    first = np.log([start[name] for name in names])
    matrix = np.vstack([slopes * row_weight[:, None], PRIOR * np.eye(len(names)) * 0.3])
    target = np.concatenate([-error * row_weight, PRIOR * 0.3 * (first - here)])
    low = np.log([bounds[name].low for name in names]) - here
    high = np.log([bounds[name].high for name in names]) - here
    # A step is trusted for a factor of 1.6.
    trust = math.log(1.6)
    found = lsq_linear(
        matrix, target, bounds=(np.maximum(low, -trust) - 1e-9, np.minimum(high, trust) + 1e-9)
    )
    changed = dict(current)
    for name, move in zip(names, found.x, strict=True):
        changed[name] = float(np.exp(np.log(current[name]) + move))
    return changed


def fit_all(
    start: Mapping[str, float],
    bounds: Mapping[str, Bounds],
    uses: Sequence[Any],
    base: Sequence[Point],
    slopes: Any,
) -> list[tuple[dict[str, float], list[Point]]]:
    """One fit for each choice of rows in `uses`; returns constants and the points of all rows."""
    best: list[tuple[dict[str, float], list[Point]]] = [(dict(start), list(base)) for _ in uses]
    for _ in range(ROUNDS):
        tried = [
            step(start, values, points, slopes, use, bounds)
            for (values, points), use in zip(best, uses, strict=True)
        ]
        results = evaluate_many(tried)
        for index, (values, points) in enumerate(zip(tried, results, strict=True)):
            if loss(points, uses[index]) < loss(best[index][1], uses[index]):
                best[index] = (values, points)
    return best
