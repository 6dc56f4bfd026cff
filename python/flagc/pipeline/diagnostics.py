"""What a pass says to its user: diagnostics, statistics and tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from flagc.errors import KernelError
from flagc.ir.locations import SourceLocation

Severity = Literal["remark", "warning", "error"]


@dataclass(frozen=True)
class Diagnostic:
    """One remark, warning or error of a pass.

    `location` is the kernel's source line where the op carries one; `op` is the op's name.
    """

    severity: Severity
    message: str
    pass_name: str = ""
    stage: str = ""
    op: str = ""
    location: SourceLocation | None = None

    @classmethod
    def from_text(cls, text: str) -> Diagnostic:
        """Return the error that a message of the form `file:line:column: error: text` spells."""
        head, found, tail = text.partition(" error: ")
        parts = head.rstrip(":").rsplit(":", 2)
        if found and len(parts) == 3 and parts[1].isdigit() and parts[2].isdigit():
            location = SourceLocation(parts[0], int(parts[1]), int(parts[2]))
            return cls("error", tail, location=location)
        return cls("error", text)

    def __str__(self) -> str:
        where = f"{self.location}: " if self.location else ""
        op = f"'{self.op}': " if self.op else ""
        source = f" [{self.pass_name}]" if self.pass_name else ""
        return f"{where}{self.severity}: {op}{self.message}{source}"


@dataclass(frozen=True)
class Table:
    """A table that an analysis prints. Every row has as many cells as there are columns."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str | int | float, ...], ...]
    pass_name: str = ""
    stage: str = ""


@dataclass
class Findings:
    """Everything that the passes of one compilation said. Picklable; kept in the cache."""

    diagnostics: list[Diagnostic] = field(default_factory=list)
    tables: list[Table] = field(default_factory=list)
    statistics: dict[str, int] = field(default_factory=dict)

    def mark(self) -> FindingsMark:
        """Return the present state, for `forget_since`."""
        return FindingsMark(len(self.diagnostics), len(self.tables), dict(self.statistics))

    def forget_since(self, mark: FindingsMark) -> None:
        """Forget what was said since `mark`, because the work that it is about was dropped."""
        del self.diagnostics[mark.diagnostics :]
        del self.tables[mark.tables :]
        self.statistics.clear()
        self.statistics.update(mark.statistics)


@dataclass(frozen=True)
class FindingsMark:
    """How much passes had said at one point."""

    diagnostics: int
    tables: int
    statistics: Mapping[str, int]


class PassFailure(KernelError):
    """A pass found the module illegal, or failed.

    Attributes:
        diagnostic: says where and why.
        details: a traceback of the pass's own code, when it raised.
        earlier: diagnostics of passes that ran before, and of this one.
    """

    def __init__(
        self, diagnostic: Diagnostic, details: str = "", earlier: tuple[Diagnostic, ...] = ()
    ) -> None:
        super().__init__(str(diagnostic) + (f"\n{details}" if details else ""))
        self.diagnostic = diagnostic
        self.details = details
        self.earlier = earlier

    def __reduce__(self) -> tuple[type[PassFailure], tuple[Any, ...]]:
        return (type(self), (self.diagnostic, self.details, self.earlier))


class Declined(PassFailure):
    """A pass or stage cannot do this kernel, with which nothing is wrong.

    Where the stage has an alternative (`Stage.alternative`), that takes the kernel; else this is
    the error.
    """


class StepCrash(KernelError):
    """An outside tool crashed or ran out of time in one step.

    Attributes:
        stage, step: where; `step` is empty when the tool does not run pass by pass.
        step_input: IR on which resuming the stage at `step` repeats the crash.
    """

    def __init__(self, message: str, stage: str, step: str, step_input: str) -> None:
        super().__init__(message)
        self.stage = stage
        self.step = step
        self.step_input = step_input

    def __reduce__(self) -> tuple[type[StepCrash], tuple[str, ...]]:
        return (StepCrash, (str(self), self.stage, self.step, self.step_input))
