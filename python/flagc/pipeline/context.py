"""What a pass is given besides the module: target facts, analyses, diagnostics, statistics."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn, TypeVar

from flagc.ir.locations import source_location
from flagc.ir.module import Module, Operation
from flagc.pipeline.diagnostics import Declined, Diagnostic, Findings, PassFailure, Severity, Table

Result = TypeVar("Result")


class PassContext:
    """The surroundings of one run of one pass.

    Attributes:
        target: the target's facts (a dataclass of the target's own, e.g. `CudaFacts`).
        options: the compile options of the kernel (`num_warps`, `num_stages`, ...).
        stage: the stage the pass runs in.
    """

    def __init__(
        self,
        module: Module,
        pass_name: str,
        stage: str,
        target: Any,
        options: Mapping[str, Any],
        findings: Findings,
    ) -> None:
        self.target = target
        self.options = options
        self.stage = stage
        self._module = module
        self._pass_name = pass_name
        self._findings = findings
        self._analyses: dict[Callable[[Module], Any], Any] = {}

    def remark(self, op: Operation | None, text: str) -> None:
        """Tell the user something about `op` that needs no action."""
        self._say("remark", op, text)

    def warn(self, op: Operation | None, text: str) -> None:
        """Tell the user of something about `op` that is probably not what they want."""
        self._say("warning", op, text)

    def error(self, op: Operation | None, text: str) -> NoReturn:
        """Stop the compilation because of `op`.

        Raises:
            PassFailure: always.
        """
        earlier = tuple(self._findings.diagnostics)
        raise PassFailure(self._say("error", op, text), earlier=earlier)

    def decline(self, op: Operation | None, text: str) -> NoReturn:
        """Say that this pass cannot do the kernel because of `op`, though nothing is wrong with it.

        Another lowering takes the kernel where there is one; else the compilation stops.

        Raises:
            Declined: always.
        """
        earlier = tuple(self._findings.diagnostics)
        raise Declined(self._say("error", op, text), earlier=earlier)

    def only_function(self) -> Operation | None:
        """Return the module's function, for passes that do not look into calls.

        None, with a remark, when there is a second one.
        """
        functions = self._module.functions()
        if len(functions) > 1:
            self.remark(functions[1], "not applied: the module has a second function")
        return functions[0] if len(functions) == 1 else None

    def statistic(self, name: str, count: int = 1) -> None:
        """Add `count` to the pass's statistic `name`."""
        key = f"{self.stage}:{self._pass_name}:{name}"
        self._findings.statistics[key] = self._findings.statistics.get(key, 0) + count

    def table(
        self, title: str, columns: Sequence[str], rows: Sequence[Sequence[str | int | float]]
    ) -> None:
        """Show a table to the user (a rich table in the terminal, rows in `--format json`)."""
        frozen = tuple(tuple(row) for row in rows)
        self._findings.tables.append(
            Table(title, tuple(columns), frozen, self._pass_name, self.stage)
        )

    def analysis(self, compute: Callable[[Module], Result]) -> Result:
        """Return `compute(module)`, computed once until `invalidate` is called."""
        if compute not in self._analyses:
            self._analyses[compute] = compute(self._module)
        result: Result = self._analyses[compute]
        return result

    def invalidate(self) -> None:
        """Forget analyses, after the pass changed what they looked at."""
        self._analyses.clear()

    def _say(self, severity: Severity, op: Operation | None, text: str) -> Diagnostic:
        diagnostic = Diagnostic(
            severity,
            text,
            self._pass_name,
            self.stage,
            op.name if op is not None else "",
            source_location(op.location) if op is not None else None,
        )
        self._findings.diagnostics.append(diagnostic)
        return diagnostic
