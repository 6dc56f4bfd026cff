"""Check a launch after every pass of its pipeline, and name the pass that broke it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from flagc.check.executor import judge_of, on_host, values_of, with_values
from flagc.check.judge import Judge, same
from flagc.check.outcome import CheckedLaunch
from flagc.check.snapshot import snapshot, tensors
from flagc.errors import KernelError
from flagc.frontend.execution import Argument, Execution, Executor
from flagc.frontend.launch import Launch

Status = Literal["right", "wrong", "fault", "refused"]


@dataclass(frozen=True)
class Prefix:
    """The pipeline up to a pass: `name` is that of its last one, `executor` runs launches so."""

    name: str
    executor: Executor


@dataclass(frozen=True)
class Step:
    """What a launch did with the pipeline up to `name`.

    Attributes:
        status: `fault` means that running it failed, `refused` that it did not compile.
        changed: whether the bits of the results differ from those of the step before; None when
            one of them has no results.
        message: what is wrong; `brief` in a few words.
    """

    name: str
    status: Status
    changed: bool | None
    message: str = ""
    brief: str = ""


@dataclass(frozen=True)
class CheckedSteps:
    """A launch after every pass. `culprit` is the pass that broke it, '' when none did."""

    kernel: str
    grid: tuple[int, int, int]
    against: str
    steps: tuple[Step, ...]
    culprit: str

    @property
    def is_right(self) -> bool:
        """Whether no pass is to blame and the whole pipeline is right."""
        return not self.culprit and self.steps[-1].status == "right"

    def __str__(self) -> str:
        """Return the verdict in a sentence."""
        if self.culprit:
            step = next(step for step in self.steps if step.name == self.culprit)
            what: dict[str, str] = {
                "wrong": "makes it wrong",
                "fault": "makes it fault",
                "refused": "leaves what does not compile",
            }
            return f"pass '{self.culprit}' {what[step.status]}: {step.message}"
        last = self.steps[-1]
        if last.status != "right":
            return f"{last.status} whatever the passes: {self.steps[0].message}"
        changed = [step.name for step in self.steps if step.changed]
        if changed:
            return f"right after every pass; '{changed[0]}' is the first to change bits"
        return "right after every pass, and the same bits"


@dataclass
class CheckEachExecutor:
    """Runs each launch with every prefix of a pipeline, the last one on the launch's own tensors.

    Attributes:
        prefixes: the first is what the others are measured by.
        incomplete: whether the prefixes before the last are only parts of what a kernel needs, so
            that they may be wrong, or not compile, without blame.
        checked: what checking the whole pipeline found; `steps` what each launch did.
    """

    prefixes: Sequence[Prefix]
    incomplete: bool
    tolerance: float | None = None
    checked: list[CheckedLaunch] = field(default_factory=list)
    steps: list[CheckedSteps] = field(default_factory=list)

    def prepare(self, launch: Launch) -> None:
        """Compile a launch with the whole pipeline; see `Executor`."""
        self.prefixes[-1].executor.prepare(launch)

    def execute(
        self, launch: Launch, grid: tuple[int, int, int], arguments: Sequence[Argument]
    ) -> Execution:
        """Run and check a launch with every prefix; see `Executor`.

        Raises:
            KernelError: it does not compile, or faults, with the whole pipeline.
        """
        before = snapshot(values_of(arguments))
        judge = judge_of(launch, grid, before.on_host(), self.tolerance)
        steps: list[Step] = []
        previous: dict[str, Any] | None = None
        outcome: Execution | KernelError | None = None
        for prefix in self.prefixes:
            is_last = prefix is self.prefixes[-1]
            given = list(arguments)
            if not is_last:
                given = with_values(arguments, before.values())
            step, outcome = self._step(prefix, launch, grid, given, judge, keep=is_last)
            results = None
            if isinstance(outcome, Execution):
                results = dict(tensors(on_host(values_of(given))))
            if results is not None and previous is not None:
                changed = not all(same(results[name], previous[name]) for name in results)
                step = replace(step, changed=changed)
            previous = results if results is not None else previous
            steps.append(step)
        against = self.checked[-1].against if isinstance(outcome, Execution) else ""
        culprit = self._culprit(steps)
        self.steps.append(CheckedSteps(judge.name, grid, against, tuple(steps), culprit))
        if isinstance(outcome, KernelError):
            raise outcome
        assert outcome is not None
        return outcome

    def _step(
        self,
        prefix: Prefix,
        launch: Launch,
        grid: tuple[int, int, int],
        arguments: Sequence[Argument],
        judge: Judge,
        *,
        keep: bool,
    ) -> tuple[Step, Execution | KernelError]:
        status: Status = "refused"
        try:
            prefix.executor.prepare(launch)
            status = "fault"
            execution = prefix.executor.execute(launch, grid, arguments)
        except KernelError as error:
            message = str(error).splitlines()[0]
            return Step(prefix.name, status, None, message, message), error
        checked = judge.judge(on_host(values_of(arguments)))
        if keep:
            self.checked.append(checked)
        message = "; ".join(map(str, checked.mismatches))
        brief = "; ".join(mismatch.brief for mismatch in checked.mismatches)
        status = "wrong" if checked.mismatches else "right"
        return Step(prefix.name, status, None, message, brief), execution

    def _culprit(self, steps: Sequence[Step]) -> str:
        """Return the name of the first step that is bad where the ones before are not."""
        bad = [
            step.status in ("wrong", "fault")
            or (step.status == "refused" and any(s.status != "refused" for s in steps[:index]))
            for index, step in enumerate(steps)
        ]
        if self.incomplete:  # what later steps mend is nobody's fault
            first = len(bad)
            while first and bad[first - 1]:
                first -= 1
        else:
            first = bad.index(True) if True in bad else len(bad)
        return steps[first].name if 0 < first < len(bad) else ""
