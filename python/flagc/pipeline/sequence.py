"""The order of a compilation's stages, where some of them are alternatives to others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from flagc.pipeline.diagnostics import Declined, Diagnostic, Findings, FindingsMark
from flagc.pipeline.pipeline_text import PlacedPass
from flagc.pipeline.stages import Alternative, Payload, Stage


@dataclass(frozen=True)
class _Fork:
    """Where a stage with an alternative was entered."""

    index: int
    payload: Payload
    alternative: Alternative
    said: FindingsMark


class StageSequence:
    """Says which stage runs next on `payload`, and goes back where one declines.

    A stage with an alternative (`Stage.alternative`) is tried where it applies. One remark says
    which way was taken, and why. The alternative is taken without a try where a pass of the user
    works on its stages, or the compilation ends at one of them.
    """

    def __init__(
        self,
        stages: Sequence[Stage],
        payload: Payload,
        passes: Sequence[PlacedPass],
        stop_after: str | None,
        findings: Findings,
    ) -> None:
        self.payload = payload
        self._stages = stages
        self._passes = passes
        self._stop_after = stop_after
        self._findings = findings
        self._index = 0
        self._fork: _Fork | None = None

    def next_stage(self) -> Stage | None:
        """Return the stage that runs on `payload`; None after the last one."""
        if self._index and self._stages[self._index - 1].name == self._stop_after:
            return None
        while self._index < len(self._stages):
            stage = self._stages[self._index]
            self._index += 1
            if self._fork is not None and stage.name in self._fork.alternative.stages:
                continue
            if stage.alternative is None:
                return stage
            entered = self._enters(stage, stage.alternative)
            if not entered and stage.name == self._stop_after:
                return None
            if entered:
                said = self._findings.mark()
                self._fork = _Fork(self._index, self.payload, stage.alternative, said)
                return stage
        return None

    def fall_back(self, declined: Declined) -> list[str]:
        """Go back to the alternative; return the names of the stages whose work is dropped.

        Raises:
            Declined: there is none, or the compilation was to end at one of these stages.
        """
        fork = self._fork
        if fork is None:
            raise declined
        tried = self._stages[fork.index - 1 : self._index]
        dropped = [stage.name for stage in tried if stage.name not in fork.alternative.stages]
        if self._stop_after in dropped[:1]:
            raise declined
        self._findings.forget_since(fork.said)
        reason = declined.diagnostic
        message = f"{_taken(fork.alternative, own=False)}: {reason.message}"
        self._findings.diagnostics.append(replace(reason, severity="remark", message=message))
        self._index, self.payload, self._fork = fork.index, fork.payload, None
        return dropped

    def finish(self) -> None:
        """Say that a stage with an alternative has done it, if so."""
        if self._fork is not None:
            text = f"{_taken(self._fork.alternative, own=True)}: every pass of it applies"
            self._findings.diagnostics.append(Diagnostic("remark", text))

    def _enters(self, stage: Stage, alternative: Alternative) -> bool:
        if not stage.applies(self.payload):
            return False
        reason = self._why_alternative(alternative)
        if reason:
            text = f"{_taken(alternative, own=False)}: {reason}"
            self._findings.diagnostics.append(Diagnostic("remark", text))
        return not reason

    def _why_alternative(self, alternative: Alternative) -> str:
        """Return what of the user's wishes only the alternative can do; '' for nothing."""
        if self._stop_after in alternative.stages:
            return f"stage {self._stop_after} was asked for"
        levels = {
            level
            for stage in self._stages
            if stage.name in alternative.stages
            for level in (stage.level, stage.inner_level)
        }
        for placed in self._passes:
            stage_name = placed.anchor.stage if placed.anchor else placed.stage
            unplaced = stage_name is None and placed.instance.level in levels
            if stage_name in alternative.stages or unplaced:
                return f"pass '{placed}' works there"
        return ""


def _taken(alternative: Alternative, *, own: bool) -> str:
    names = [alternative.own_name, alternative.name]
    taken, other = names if own else reversed(names)
    return f"{taken} lowers this kernel, not {other} ({alternative.choice})"
