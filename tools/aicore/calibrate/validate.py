"""Leave-one-table-out validation: constants from the other tables, errors on the one left out."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from evaluate import Point
from fit import Bounds, fit_all, jacobian
from rows import variant_of

# Tables that share a source and a chip: left out together in the stricter validation.
SOURCES: tuple[tuple[str, ...], ...] = (
    ("T1", "T8", "T10"),
    ("T2",),
    ("T3",),
    ("T4",),
    ("T5",),
    ("T7", "T9"),
    (
        "T13-gm-l1",
        "T13-gm-l1-nd2nz",
        "T13-gm-ub",
        "T13-ub-gm",
        "T13-l0c-gm",
        "T13-l0c-gm-nz2nd",
        "T14",
    ),
)
# Tables of kernels, not of single instructions: what a band for kernels is taken from.
KERNELS = ("T1", "T2", "T3", "T4", "T5", "T7", "T8", "T9", "T10")


@dataclass(frozen=True)
class Validation:
    """Points of each table as predicted without it, and the fit to all rows."""

    by_table: list[Point]
    by_source: list[Point]
    fitted: dict[str, float]
    in_sample: list[Point]


def validate(start: Mapping[str, float], bounds: Mapping[str, Bounds]) -> Validation:
    """Fit without each table, without each source, and to everything."""
    base, slopes = jacobian(start, list(bounds))
    tables = list(dict.fromkeys(point.table for point in base))

    def without(left_out: Iterable[str]) -> Any:
        out = set(left_out)
        return np.array([point.table not in out for point in base])

    groups = [(table,) for table in tables] + [group for group in SOURCES if len(group) > 1]
    uses = [without(group) for group in groups] + [without(())]
    fits = fit_all(start, bounds, uses, base, slopes)
    held_out = {
        group: [point for point in points if point.table in group]
        for group, (_, points) in zip(groups, fits[:-1], strict=True)
    }
    by_table = [point for table in tables for point in held_out[(table,)]]
    by_source = [point for group in SOURCES for point in held_out[group]]
    return Validation(by_table, by_source, fits[-1][0], fits[-1][1])


def errors(points: Sequence[Point]) -> Any:
    """Absolute relative errors."""
    return np.array([abs(point.error) for point in points])


def share_within(points: Sequence[Point], bound: float) -> float:
    """Share of points whose error is at most `bound`."""
    return float(np.mean(errors(points) <= bound))


def times(points: Sequence[Point]) -> list[Point]:
    """Durations and rates; one for each case (its first)."""
    seen: set[tuple[str, str]] = set()
    result = []
    for point in points:
        if point.is_time and (point.table, point.case) not in seen:
            seen.add((point.table, point.case))
            result.append(point)
    return result


def counters(points: Sequence[Point]) -> list[Point]:
    """Pipe counters."""
    return [point for point in points if not point.is_time]


def kendall(points: Sequence[Point]) -> tuple[float, int]:
    """Tau (ties of the model count as half wrong) over pairs of equal measure, and the pairs.

    Pairs that were published as equal within 1 % are left out: runs differ by as much.
    """
    score, pairs = 0.0, 0
    for index, left in enumerate(points):
        for right in points[index + 1 :]:
            if left.measure != right.measure or left.table != right.table:
                continue
            if abs(left.published / right.published - 1) < 0.01:
                continue
            pairs += 1
            order = (left.published - right.published) * (left.predicted - right.predicted)
            score += (order > 0) - (order < 0)
    return (score / pairs if pairs else math.nan), pairs


def pair_errors(points: Sequence[Point]) -> Any:
    """Errors of ratios between two variants of one kernel, as absolute log ratios."""
    result = []
    for index, left in enumerate(points):
        group = variant_of(left.table, left.case)
        for right in points[index + 1 :]:
            if group is None or variant_of(right.table, right.case) != group:
                continue
            if left.measure != right.measure:
                continue
            wanted = math.log(left.published / right.published)
            result.append(abs(math.log(left.predicted / right.predicted) - wanted))
    return np.array(result)


def quantile(values: Any, share: float) -> float:
    """The value that `share` of `values` do not exceed."""
    return float(np.quantile(values, share, method="higher"))
