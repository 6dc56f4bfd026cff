"""An executor that checks each launch it lets another one run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from flagc.check.judge import Judge, same
from flagc.check.outcome import CheckedLaunch
from flagc.check.snapshot import Snapshot, snapshot, tensors
from flagc.frontend.execution import Argument, Execution, Executor, parts_of
from flagc.frontend.launch import Launch


@dataclass
class CheckingExecutor:
    """Runs launches on `inner`, and compares their outputs with a reference.

    Attributes:
        tolerance: relative; None derives it (`flagc.check.tolerance`).
        checked: what was found, launch by launch.
    """

    inner: Executor
    tolerance: float | None = None
    checked: list[CheckedLaunch] = field(default_factory=list)

    def prepare(self, launch: Launch) -> None:
        """Compile a launch; see `Executor`."""
        self.inner.prepare(launch)

    def execute(
        self, launch: Launch, grid: tuple[int, int, int], arguments: Sequence[Argument]
    ) -> Execution:
        """Run a launch and check it; a mismatch is noted, not raised.

        Of two that a pass has merged, the first one is run and checked by itself on copies. What
        it gives is what the second one's reference starts from.
        """
        if launch.parts:
            return self._execute_pair(launch, grid, arguments)
        before = snapshot(values_of(arguments))
        execution = self.inner.execute(launch, grid, arguments)
        found = on_host(values_of(arguments))
        checked = judge_of(launch, grid, before.on_host(), self.tolerance).judge(found)
        if checked.mismatches:
            again = before.values()
            self.inner.execute(launch, grid, with_values(arguments, again))
            repeated = dict(tensors(on_host(again)))
            checked = replace(
                checked,
                repeatable=all(same(t, repeated[name]) for name, t in tensors(found)),
            )
        self.checked.append(checked)
        return execution

    def _execute_pair(
        self, launch: Launch, grid: tuple[int, int, int], arguments: Sequence[Argument]
    ) -> Execution:
        copies = snapshot(values_of(arguments)).values()
        first, (part, part_grid, copied) = parts_of(launch, grid, with_values(arguments, copies))
        self.execute(*first)
        judge = judge_of(part, part_grid, snapshot(values_of(copied)).on_host(), self.tolerance)
        execution = self.inner.execute(launch, grid, arguments)
        results = {**values_of(arguments), **{name: copies[name] for name in launch.unwritten}}
        _, (_, _, found) = parts_of(launch, grid, with_values(arguments, results))
        checked = judge.judge(on_host(values_of(found)))
        self.checked.append(replace(checked, kernel=launch.source.name))
        return execution


def values_of(arguments: Sequence[Argument]) -> dict[str, Any]:
    """Return the arguments' values by name."""
    return {argument.name: argument.value for argument in arguments}


def constants_of(launch: Launch) -> dict[str, Any]:
    """Return the values of the arguments that the launch was compiled for, by name."""
    source: Any = launch.source
    names = source.function.arg_names
    return {names[path[0]]: value for path, value in source.constexprs.items() if len(path) == 1}


def on_host(values: dict[str, Any]) -> dict[str, Any]:
    """Return `values` with tensors in host memory; those that are there already are not copied."""
    if all(tensor.device.type == "cpu" for _, tensor in tensors(values)):
        return values
    return snapshot(values).on_host().values()


def with_values(arguments: Sequence[Argument], values: Mapping[str, Any]) -> list[Argument]:
    """Return the arguments with other values."""
    return [replace(argument, value=values[argument.name]) for argument in arguments]


def judge_of(
    launch: Launch, grid: tuple[int, int, int], before: Snapshot, tolerance: float | None
) -> Judge:
    """Return the judge of a launch whose runtime arguments were `before`."""
    source: Any = launch.source
    arguments = replace(before, packed={**constants_of(launch), **before.packed})
    return Judge(source.name, source.function, grid, arguments, tolerance)
