"""Compare what a launch did with its reference, whichever it is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import torch

from flagc.check import tolerance
from flagc.check.compare import Comparison, compare, mismatch_of
from flagc.check.evidence import Reference
from flagc.check.interpreter import interpreted
from flagc.check.outcome import CheckedLaunch, CheckedOutput, Mismatch
from flagc.check.place import locate
from flagc.check.reference import reference_for
from flagc.check.snapshot import Snapshot, tensors
from flagc.errors import KernelError, UsageError


@dataclass
class Judge:
    """Knows what one launch must do; `judge` compares a result with it.

    Attributes:
        function: the JIT function; `arguments` are all its parameters before the launch.
        given_tolerance: of `--tolerance`; None derives it.
    """

    name: str
    function: Any
    grid: tuple[int, int, int]
    arguments: Snapshot
    given_tolerance: float | None
    _interpreted: dict[bool, Reference] = field(default_factory=dict)
    _expected: dict[str, Any] | None = None

    def judge(self, found: Mapping[str, Any]) -> CheckedLaunch:
        """Compare the arguments as a run left them with the reference.

        Raises:
            KernelError: there is no reference: the interpreter cannot run the kernel.
            UsageError: the user's reference names what is no tensor of the kernel.
        """
        results = dict(tensors(found))
        expected = self._expectation()
        user = reference_for(self.function)
        if user is None:
            before = dict(tensors(self.arguments.values()))
            expected = {
                name: tensor
                for name, tensor in expected.items()
                if not same(tensor, before[name]) or not same(results[name], tensor)
            }
            against = str(self._interpreter())
        else:
            against = f"@flagc.reference {getattr(user, '__name__', 'function')}"
        for name in expected:
            if name not in results:
                raise UsageError(
                    f"the reference names an output '{name}', which is no tensor of the kernel"
                )
        judged = [self._compare(name, results[name], expected[name]) for name in expected]
        wrong = [comparison for comparison, _ in judged if not comparison.is_right]
        return CheckedLaunch(
            self.name,
            self.grid,
            against,
            tuple(self._output(comparison, bound) for comparison, bound in judged),
            tuple(self._placed(comparison) for comparison in wrong),
            warnings=self._warnings(),
        )

    def _expectation(self) -> dict[str, Any]:
        if self._expected is None:
            user = reference_for(self.function)
            if user is not None:
                self._expected = dict(user(**self.arguments.values()))
            else:
                self._expected = dict(self._interpreter().tensors)
        return self._expected

    def _interpreter(self, *, wide: bool = True) -> Reference:
        if wide not in self._interpreted:
            self._interpreted[wide] = interpreted(
                self.function, self.grid, self.arguments, wide=wide
            )
        return self._interpreted[wide]

    def _seen(self) -> Reference | None:
        """Return what the interpreter sees, if it can run the kernel."""
        try:
            return self._interpreter()
        except KernelError:
            return None

    def _compare(
        self, name: str, found: torch.Tensor, expected: Any
    ) -> tuple[Comparison, tolerance.Bound]:
        if self.given_tolerance is not None and found.dtype.is_floating_point:
            bound = tolerance.given(self.given_tolerance)
            return compare(name, found, expected, bound), bound
        if reference_for(self.function) is not None:
            # The interpreter is slow and may not know the kernel: it counts only when it must.
            bound = tolerance.bound(found.dtype, terms=1)
            comparison = compare(name, found, expected, bound)
            seen = None if comparison.is_right else self._seen()
            if comparison.is_right:
                return comparison, bound
        else:
            seen = self._interpreter()
        if seen is None or name not in seen.outputs:
            bound = tolerance.bound(found.dtype)
        else:
            bound = tolerance.bound_by(seen, name, found.dtype)
        comparison = compare(name, found, expected, bound)
        if not comparison.is_right and not found.dtype.is_floating_point:
            comparison = self._either_way(comparison)
        return comparison, bound

    def _either_way(self, comparison: Comparison) -> Comparison:
        """Let integers also be what the kernel's own types give: floats round before they count."""
        wide = self._interpreted.get(True)
        if wide is None or not wide.wide or reference_for(self.function) is not None:
            return comparison
        other = self._interpreter(wide=False).tensors[comparison.argument]
        return replace(comparison, wrong=comparison.wrong & (comparison.found != other))

    def _placed(self, comparison: Comparison) -> Mismatch:
        mismatch = mismatch_of(comparison)
        seen = self._seen()
        if seen is None or comparison.argument not in seen.outputs:
            return mismatch
        stored_by = seen.outputs[comparison.argument].stored_by
        return replace(mismatch, place=locate(comparison.wrong, stored_by, self.grid))

    def _output(self, comparison: Comparison, bound: tolerance.Bound) -> CheckedOutput:
        seen = self._interpreted.get(True)
        evidence = seen.outputs.get(comparison.argument) if seen is not None else None
        return CheckedOutput(
            comparison.argument,
            comparison.largest_error,
            comparison.used,
            str(bound),
            evidence.additions if evidence is not None else 0,
        )

    def _warnings(self) -> tuple[str, ...]:
        seen = self._interpreted.get(True)
        if seen is None:
            return ()
        warnings = []
        for name, evidence in seen.outputs.items():
            if evidence.nonzero_start is not None:
                index, value = evidence.nonzero_start
                warnings.append(
                    f"'{name}' is added to atomically and must start at zero, but held {value:g} "
                    f"at {list(index)} before the launch"
                )
        tails = [
            f"the tail of dimension {dimension}, lanes {first} and up, of the load at {place}"
            for (place, dimension), first in sorted(seen.tails.items())
        ]
        places = ", ".join(tails or seen.unfilled)
        for name, count in seen.depends_on_unfilled.items():
            warnings.append(
                f"{count} elements of '{name}' depend on masked lanes of loads that give no "
                f"`other`, which are undefined: {places}"
            )
        return tuple(warnings)


def same(left: torch.Tensor, right: torch.Tensor) -> bool:
    """Tell whether two tensors hold the same values, NaN being the same as NaN."""
    if left.dtype != right.dtype:
        left, right = left.double(), right.double()
    elif left.dtype.itemsize == 1 and left.dtype.is_floating_point:
        left, right = left.float(), right.float()
    return bool(((left == right) | (left.isnan() & right.isnan())).all())
