"""An executor that checks each launch it lets another one run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from flagc.check.compare import compare
from flagc.check.interpreter import interpreted
from flagc.check.outcome import CheckedLaunch
from flagc.check.reference import reference_for
from flagc.errors import UsageError
from flagc.frontend.execution import Argument, Execution, Executor
from flagc.frontend.launch import Launch


@dataclass
class CheckingExecutor:
    """Runs launches on `inner`, and compares their outputs with a reference.

    Attributes:
        tolerance: relative; None means by dtype (`flagc.check.compare.TOLERANCES`).
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
        """Run a launch and check it; a mismatch is noted, not raised."""
        before = {a.name: _copy(a.value) for a in arguments}
        execution = self.inner.execute(launch, grid, arguments)
        source: Any = launch.source
        names = source.function.arg_names
        constants = {names[path[0]]: value for path, value in source.constexprs.items()}
        given = {**constants, **{name: _copy(value) for name, value in before.items()}}
        user = reference_for(source.function)
        if user is not None:
            expected: Mapping[str, Any] = user(**given)
            against = f"@flagc.reference {getattr(user, '__name__', 'function')}"
        else:
            after = interpreted(source.function, grid, given)
            expected = {
                name: tensor
                for name, tensor in after.items()
                if not _same(tensor, before[name]) or not _same(_value(arguments, name), tensor)
            }
            against = "Triton's interpreter"
        found = {name: _value(arguments, name) for name in expected}
        mismatches = [compare(n, found[n], expected[n], self.tolerance) for n in expected]
        wrong = tuple(mismatch for mismatch in mismatches if mismatch is not None)
        repeatable = self._repeats(launch, grid, arguments, before) if wrong else None
        checked = CheckedLaunch(source.name, grid, against, tuple(expected), wrong, repeatable)
        self.checked.append(checked)
        return execution

    def _repeats(
        self,
        launch: Launch,
        grid: tuple[int, int, int],
        arguments: Sequence[Argument],
        before: Mapping[str, Any],
    ) -> bool:
        """Run the launch again on copies of its inputs, and tell whether the bits are the same."""
        again = [Argument(a.name, a.type, _copy(before[a.name])) for a in arguments]
        self.inner.execute(launch, grid, again)
        pairs = zip(arguments, again, strict=True)
        return all(_same(a.value, b.value) for a, b in pairs if isinstance(a.value, torch.Tensor))


def _copy(value: Any) -> Any:
    """Return a copy of a tensor with the same strides; other values as they are."""
    if not isinstance(value, torch.Tensor):
        return value
    copy = torch.empty_strided(value.shape, value.stride(), dtype=value.dtype)
    return copy.copy_(value)


def _same(left: torch.Tensor, right: torch.Tensor) -> bool:
    """Tell whether two tensors hold the same values, NaN being the same as NaN."""
    return bool(((left == right) | (left.isnan() & right.isnan())).all())


def _value(arguments: Sequence[Argument], name: str) -> torch.Tensor:
    for argument in arguments:
        if argument.name == name and isinstance(argument.value, torch.Tensor):
            return argument.value
    raise UsageError(f"the reference names an output '{name}', which is no tensor of the kernel")
