"""Launches timed by a model of the chip instead of a stopwatch."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from flagc.frontend.execution import Argument, Execution, Executor
from flagc.frontend.launch import Launch


class ModelledTiming(Protocol):
    """A time in microseconds with bands, and what explains it."""

    @property
    def microseconds(self) -> float:
        """Time of the launch."""
        ...

    @property
    def band(self) -> float:
        """Relative error that nine of ten validated kernels do not exceed."""
        ...

    @property
    def pair_band(self) -> float:
        """Log ratio of two variants below which a difference says nothing."""
        ...

    def describe(self) -> dict[str, Any]:
        """Return the timing as plain data."""
        ...


class TimingExecutor(Executor, Protocol):
    """An executor that can also time a launch without running it."""

    def time(
        self, launch: Launch, grid: tuple[int, int, int], arguments: Sequence[Argument]
    ) -> Any:
        """Return the launch's modelled timing."""
        ...


@dataclass(frozen=True)
class ModelledLaunch:
    """One launch by candidate; the first is the kernel with its passes."""

    kernel: str
    grid: tuple[int, int, int]
    timings: dict[str, Any]
    device: str

    def verdict(self, name: str) -> str:
        """Say how the kernel compares with candidate `name`; within the band: not at all."""
        first = next(iter(self.timings))
        ours, other = self.timings[first], self.timings[name]
        ratio = other.microseconds / ours.microseconds
        if abs(math.log(ratio)) <= ours.pair_band:
            return "no difference outside the band"
        return f"{ratio:.2f}x faster" if ratio > 1 else f"{1 / ratio:.2f}x slower"

    def describe(self) -> dict[str, Any]:
        """Return everything but traces as plain data."""
        first = next(iter(self.timings))
        return {
            "kernel": self.kernel,
            "grid": list(self.grid),
            "device": self.device,
            "candidates": {name: timing.describe() for name, timing in self.timings.items()},
            "verdicts": {name: self.verdict(name) for name in self.timings if name != first},
        }


@dataclass
class ModellingExecutor:
    """Times the first launch of each specialisation and grid; runs launches only with `running`.

    Attributes:
        candidates: what is timed, by name; the first is the kernel with its passes.
        running: what executes launches; None leaves their tensors as they are.
        modelled: what was found.
    """

    candidates: dict[str, TimingExecutor]
    running: Executor | None
    device: str
    modelled: list[ModelledLaunch] = field(default_factory=list)
    _seen: set[tuple[int, tuple[int, int, int]]] = field(default_factory=set)

    def prepare(self, launch: Launch) -> None:
        """Compile a launch; see `Executor`."""
        next(iter(self.candidates.values())).prepare(launch)

    def execute(
        self, launch: Launch, grid: tuple[int, int, int], arguments: Sequence[Argument]
    ) -> Execution:
        """Time a launch if it is the first of its kind, and run it where that is asked for."""
        key = (id(launch), grid)
        started = time.perf_counter()
        if key not in self._seen and 0 not in grid:
            self._seen.add(key)
            timings = {
                name: candidate.time(launch, grid, arguments)
                for name, candidate in self.candidates.items()
            }
            self.modelled.append(ModelledLaunch(launch.source.name, grid, timings, self.device))
        if self.running is not None:
            return self.running.execute(launch, grid, arguments)
        seconds = time.perf_counter() - started
        blocks = grid[0] * grid[1] * grid[2]
        return Execution(grid, blocks, 0, seconds, self.device, "timed, not executed")
