"""Stages of a compilation, and the protocol by which passes reach inside them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from flagc.ir.locations import SourceLocation
from flagc.ir.module import Module

Payload = Any  # what flows between stages: a libtriton module, IR text, or a binary


class StepObserver(Protocol):
    """Looks at, and may replace, a stage's payload between the target's own passes ("steps")."""

    @property
    def replaces(self) -> bool:
        """Whether `before` or `after` may return another payload than they were given."""
        ...

    def wants(self, step: str) -> bool:
        """Tell whether `before` or `after` has anything to do at `step`."""
        ...

    def before(self, step: str, payload: Payload) -> Payload:
        """Return the payload on which `step` runs."""
        ...

    def after(self, step: str, payload: Payload, seconds: float | None = None) -> Payload:
        """Return the payload with which the stage goes on after `step`.

        `seconds` is the step's own time where the stage knows it better than a clock around it.
        """
        ...


@dataclass(frozen=True)
class Alternative:
    """Two ways on from one payload: through a stage, or through others that come later.

    Attributes:
        stages: the later stages, which are left out where the stage itself did it.
        name: what the user calls the way through `stages`.
        own_name: what the user calls the way through the stage itself.
        choice: how the user chooses `name` or `own_name` by hand.
    """

    stages: tuple[str, ...]
    name: str
    own_name: str
    choice: str


class InvalidModule(RuntimeError):
    """A stage's verifier rejects an op of a module that Python passes changed."""

    def __init__(self, op: str, message: str, location: SourceLocation | None) -> None:
        super().__init__(f"'{op}': {message}" if op else message)
        self.op = op
        self.message = message
        self.location = location


class Stage(ABC):
    """One arrow of a target's compilation, e.g. TTIR -> TTGIR.

    Attributes:
        name: the stage's name on the command line, and of its result.
        suffix: the file name suffix of its result, with the dot.
        level: the IR level of the stage's result, or None where Python passes cannot run on it.
        inner_level: the IR level between the stage's steps; None where nothing can be inserted.
        export_consumes: whether a payload can no longer be used once it was exported.
        alternative: what takes the stage's payload where the stage does not apply, or where it,
            one of its passes or a later stage raises `Declined`. `run` then leaves its payload as
            it was.
    """

    name: str
    suffix: str
    level: str | None = None
    inner_level: str | None = None
    export_consumes: bool = True
    alternative: Alternative | None = None

    def applies(self, payload: Payload) -> bool:
        """Tell whether a stage with an alternative has anything to do with `payload` at all."""
        return True

    @abstractmethod
    def run(
        self, payload: Payload, observer: StepObserver | None, first_step: str | None = None
    ) -> Payload:
        """Run the stage; with an observer, step by step wherever the observer wants it.

        `first_step` leaves out the steps before it; only given together with an observer.
        """

    def steps(self) -> Sequence[str]:
        """Return the names of the stage's own passes in order; repeated names carry `#n`."""
        return ()

    @abstractmethod
    def text(self, payload: Payload, *, debug: bool = True) -> str | bytes:
        """Return the payload as the file content that `--dump-ir` writes.

        `debug=False` leaves source locations out.
        """

    def files(self, payload: Payload) -> dict[str, str | bytes]:
        """Return the files that `--dump-ir` writes, by suffix. Most stages have one."""
        return {self.suffix: self.text(payload)}

    def export(self, payload: Payload) -> Module:
        """Return the payload as a module for Python passes. May consume the payload."""
        raise NotImplementedError(f"stage {self.name} has no IR that Python passes can change")

    def import_module(self, module: Module) -> Payload:
        """Return a module as this stage's payload, verified.

        Raises:
            InvalidModule: the verifier rejects an op.
            RuntimeError: the verifier rejects it; its diagnostics go to file descriptor 2.
        """
        raise NotImplementedError(f"stage {self.name} has no IR that Python passes can change")

    def note_run(self, module: Module, name: str) -> bool:
        """Note in `module` that the pass called `name` has run; return whether that is done."""
        return False

    def has_run(self, payload: Payload, name: str) -> bool:
        """Tell whether `payload` says that the pass called `name` has run on it."""
        return False

    def read(self, path: Path) -> Payload:
        """Return the payload that the file at `path`, as written by `text`, holds.

        Ops without a location of their own get the file's lines.

        Raises:
            UsageError: the file is no IR of this stage.
            KernelError: it is, but the verifier rejects an op in it.
        """
        raise NotImplementedError(f"stage {self.name} cannot be read back")


def number_repeats(names: Sequence[str]) -> list[str]:
    """Return `names` with `#1`, `#2`, ... on those that occur more than once."""
    totals: dict[str, int] = {}
    for name in names:
        totals[name] = totals.get(name, 0) + 1
    seen: dict[str, int] = {}
    numbered = []
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        numbered.append(f"{name}#{seen[name]}" if totals[name] > 1 else name)
    return numbered
