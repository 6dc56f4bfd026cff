"""An executor that times each launch it lets another one run."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Protocol

from flagc.bench.baseline import Baseline, amount_of, baselines_for
from flagc.bench.device import BenchDevice
from flagc.bench.outcome import BenchedLaunch
from flagc.bench.timing import Call, measure
from flagc.check.compare import compare, mismatch_of
from flagc.check.executor import constants_of, values_of, with_values
from flagc.check.reference import reference_for
from flagc.check.snapshot import Snapshot, snapshot, tensors
from flagc.check.tolerance import bound, given
from flagc.errors import UsageError
from flagc.frontend.execution import Argument, Execution, Executor
from flagc.frontend.launch import Launch

# Inputs are cycled through until the cache has been filled so many times over.
CACHE_FILLS = 3
MOST_SETS = 256
# The sets may take this share of the memory that is free.
MEMORY_SHARE = 0.4
SECONDS = 0.6


class CallingExecutor(Executor, Protocol):
    """An executor that can also hand out launches to be made later, as often as wanted."""

    def call(
        self, launch: Launch, grid: tuple[int, int, int], arguments: Sequence[Argument]
    ) -> Call:
        """Compile and load `launch`; return what puts it on the device, without waiting."""
        ...


@dataclass
class BenchingExecutor:
    """Runs launches on `inner`; times the first launch of each specialisation and grid.

    Attributes:
        plain: the same without the user's passes; None when there are none.
        device: what times.
        tolerance: of results, relative; None derives it (`flagc.check.tolerance`).
        seconds: device time for one launch's comparison.
        benched: what was found.
    """

    inner: CallingExecutor
    plain: CallingExecutor | None
    device: BenchDevice
    tolerance: float | None = None
    seconds: float = SECONDS
    benched: list[BenchedLaunch] = field(default_factory=list)
    _seen: set[tuple[int, tuple[int, int, int]]] = field(default_factory=set)

    def prepare(self, launch: Launch) -> None:
        """Compile a launch; see `Executor`."""
        self.inner.prepare(launch)

    def execute(
        self, launch: Launch, grid: tuple[int, int, int], arguments: Sequence[Argument]
    ) -> Execution:
        """Run a launch, and time copies of it if it is the first of its kind."""
        key = (id(launch), grid)
        before = snapshot(values_of(arguments)) if key not in self._seen else None
        execution = self.inner.execute(launch, grid, arguments)
        if before is not None and 0 not in grid:
            self._seen.add(key)
            self.benched.append(self._bench(launch, grid, arguments, before))
        return execution

    def _bench(
        self,
        launch: Launch,
        grid: tuple[int, int, int],
        arguments: Sequence[Argument],
        before: Snapshot,
    ) -> BenchedLaunch:
        candidates = self._candidates(launch, grid, arguments)
        results, against = self._check(launch, candidates, before)
        sets = sets_needed(self.device, before.bytes)
        copies = [before.values() for _ in range(sets)]
        calls = {
            name: [candidate(values) for values in copies] for name, candidate in candidates.items()
        }
        timings = measure(self.device, calls, self.seconds)
        self.device.wait()
        everything = {**constants_of(launch), **values_of(arguments)}
        floating = [t.dtype for _, t in tensors(values_of(arguments)) if t.is_floating_point()]
        return BenchedLaunch(
            launch.source.name,
            grid,
            {name: value for name, value in everything.items() if not _has_data(value)},
            timings,
            results,
            against,
            amount_of(_function(launch), everything),
            self.device.peak(floating[0] if floating else None),
            sets,
            before.bytes,
            self.device.describe(),
        )

    def _candidates(
        self, launch: Launch, grid: tuple[int, int, int], arguments: Sequence[Argument]
    ) -> dict[str, Callable[[Mapping[str, Any]], Call]]:
        """Return what is timed, by name: each takes a copy of the arguments' values."""

        def launching(executor: CallingExecutor) -> Callable[[Mapping[str, Any]], Call]:
            return lambda values: executor.call(launch, grid, with_values(arguments, values))

        def calling(function: Baseline) -> Callable[[Mapping[str, Any]], Call]:
            return lambda values: partial(function, **constants_of(launch), **values)

        found = {"with passes" if self.plain is not None else "kernel": launching(self.inner)}
        if self.plain is not None:
            found["without passes"] = launching(self.plain)
        for name, function in baselines_for(_function(launch)).items():
            found[name] = calling(function)
        return found

    def _check(
        self,
        launch: Launch,
        candidates: Mapping[str, Callable[[Mapping[str, Any]], Call]],
        before: Snapshot,
    ) -> tuple[dict[str, str], str]:
        """Run every candidate once; return what is wrong with each, and what says so."""
        after: dict[str, dict[str, Any]] = {}
        for name, candidate in candidates.items():
            values = before.values()
            returned: Any = candidate(values)()
            self.device.wait()
            if name in baselines_for(_function(launch)):
                after[name] = {**dict(tensors(values)), **_outputs(name, returned)}
            else:
                after[name] = dict(tensors(values))
        user = reference_for(_function(launch))
        if user is not None:
            expected = dict(user(**constants_of(launch), **before.values()))
            against = f"@flagc.reference {getattr(user, '__name__', 'function')}"
        elif self.plain is not None:
            expected = {  # of what it does not write, what it was before
                name: value
                for name, value in after["without passes"].items()
                if name not in launch.unwritten
            }
            against = "the kernel without passes"
        else:
            return dict.fromkeys(candidates, "not checked"), "nothing"
        trusted = "" if user is not None else "without passes"
        return {
            name: "right" if name == trusted else verdict(found, expected, self.tolerance)
            for name, found in after.items()
        }, against


def verdict(
    found: Mapping[str, Any], expected: Mapping[str, Any], tolerance: float | None = None
) -> str:
    """Return 'right', or how the first wrong output differs from what it should be."""
    for output, wanted in expected.items():
        dtype = found[output].dtype
        limit = bound(dtype) if tolerance is None else given(tolerance)
        comparison = compare(output, found[output], wanted, limit)
        if not comparison.is_right:
            return str(mismatch_of(comparison))
    return "right"


def sets_needed(device: BenchDevice, bytes_each: int) -> int:
    """Return how many copies of a launch's arguments it takes so that none stays in the cache."""
    each = max(1, bytes_each)
    wanted = 1 + math.ceil(CACHE_FILLS * device.cache_bytes() / each)
    affordable = int(MEMORY_SHARE * device.free_bytes() / each)
    return max(1, min(wanted, affordable, MOST_SETS))


def _outputs(name: str, returned: Any) -> Mapping[str, Any]:
    if returned is None or isinstance(returned, Mapping):
        return returned or {}
    raise UsageError(
        f"baseline '{name}' returned a {type(returned).__name__}: return nothing, or a dict of "
        "outputs by argument name"
    )


def _function(launch: Launch) -> Any:
    source: Any = launch.source
    return source.function


def _has_data(value: Any) -> bool:
    return any(True for _ in tensors({"": value}))
