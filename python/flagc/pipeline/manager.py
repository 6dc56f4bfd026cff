"""The pass manager: runs one stage with Python passes at their places."""

from __future__ import annotations

import sys
import time
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from flagc.errors import FlagcError, KernelError
from flagc.ir.checks import find_malformed
from flagc.ir.difference import changed_operations, summarise_changes
from flagc.ir.locations import source_location
from flagc.ir.module import Module
from flagc.pipeline.context import PassContext
from flagc.pipeline.diagnostics import Diagnostic, Findings, PassFailure
from flagc.pipeline.instrumentation import (
    NO_INSTRUMENTATION,
    InstrumentationOptions,
    Journal,
    PassTiming,
    PrintedIr,
    Records,
)
from flagc.pipeline.passes import Pass
from flagc.pipeline.pipeline_text import PlacedPass
from flagc.pipeline.places import names_at_end, passes_at_end
from flagc.pipeline.stages import InvalidModule, Payload, Stage
from flagc.pipeline.stderr_capture import captured_stderr, compiler_messages


@dataclass
class PassManager:
    """Runs stages with `passes` at their places, and keeps what they said and what was observed.

    Attributes:
        target_facts: handed to passes as `context.target`.
        options: the kernel's compile options, handed to passes as `context.options`.
    """

    passes: Sequence[PlacedPass]
    target_facts: Any
    options: Mapping[str, Any]
    instrumentation: InstrumentationOptions = NO_INSTRUMENTATION
    journal: Journal = field(default_factory=Journal)
    findings: Findings = field(default_factory=Findings)
    records: Records = field(default_factory=Records)

    def run_stage(self, stage: Stage, payload: Payload, first_step: str | None = None) -> Payload:
        """Run `stage` on `payload`, from `first_step` if given, then the passes at its end.

        Raises:
            PassFailure: a Python pass failed, or left IR that the verifier rejects.
            KernelError: one of the target's own passes failed.
        """
        observer = _Observer(self, stage)
        by_steps = (
            observer.has_anchored
            or self.instrumentation.every_step
            or self.journal.detailed
            or first_step is not None
        )
        self.journal.enter(stage.name, "")
        failure: Exception | None = None
        with captured_stderr() as captured:
            try:
                payload = stage.run(payload, observer if by_steps else None, first_step)
            except FlagcError:
                raise
            except Exception as error:
                failure = error
        if failure is not None:
            raise stage_failure(stage.name, observer.current, failure, captured.text) from failure
        sys.stderr.write(captured.text)
        at_end = [placed.instance for placed in passes_at_end(self.passes, stage)]
        return self.run_passes(at_end, stage, payload)

    def run_passes(self, instances: Sequence[Pass], stage: Stage, payload: Payload) -> Payload:
        """Run Python passes one after the other and return the verified result.

        The module crosses from the compiler once; it goes back when a pass changed it, to be
        verified, and at the end if the compiler's own was consumed.
        """
        if not instances:
            return payload
        self.journal.enter(stage.name, instances[0].name, native=False)
        module = stage.export(payload)
        text = module.text()
        current = not stage.export_consumes
        for instance in instances:
            before = text
            self.journal.enter(stage.name, instance.name, native=False, ir=partial(str, before))
            started = time.perf_counter()
            self._call(instance, module, stage.name)
            text = module.text()
            changed = text != before
            if changed:
                if self.journal.detailed:
                    summary = summarise_changes(changed_operations(before, text))
                    self.journal.changed(instance.name, summary)
                payload = self._verified(instance, module, stage, before)
                current = True
            if self.instrumentation.time_passes:
                seconds = time.perf_counter() - started
                self.records.timings.append(PassTiming(stage.name, instance.name, seconds, False))
            if stage.note_run(module, instance.name):
                text = module.text()
            if self.prints_ir(changed=changed):
                if not current:
                    payload, current = stage.import_module(module), True
                self.print_ir(stage, instance.name, payload)
        return payload if current else stage.import_module(module)

    def _call(self, instance: Pass, module: Module, stage_name: str) -> None:
        context = PassContext(
            module, instance.name, stage_name, self.target_facts, self.options, self.findings
        )
        try:
            with module.context:
                instance.run(module, context)
        except FlagcError:
            raise
        except Exception as error:
            last = traceback.extract_tb(error.__traceback__)[-1]
            diagnostic = Diagnostic(
                "error",
                f"the pass raised {type(error).__name__}: {error} ({last.filename}:{last.lineno})",
                instance.name,
                stage_name,
            )
            raise PassFailure(diagnostic, traceback.format_exc()) from error

    def _verified(self, instance: Pass, module: Module, stage: Stage, before: str) -> Payload:
        failure: Exception | None = None
        if malformed := find_malformed(module):
            op, text = malformed
            diagnostic = Diagnostic(
                "error", text, instance.name, stage.name, op.name, source_location(op.location)
            )
            raise PassFailure(diagnostic)
        with captured_stderr() as captured:
            try:
                return stage.import_module(module)
            except Exception as error:
                failure = error
        messages = [m for m in compiler_messages(captured.text) if m.severity == "error"]
        op, text, location = "", str(failure), None
        if isinstance(failure, InvalidModule):
            op, text, location = failure.op, failure.message, failure.location
        elif messages:
            text, location = messages[0].message, messages[0].location
        changes = changed_operations(before, module.text())
        diagnostic = Diagnostic(
            "error",
            f"left IR that the verifier rejects: {text}"
            + (f"; the pass changed {summarise_changes(changes)}" if changes else ""),
            instance.name,
            stage.name,
            op,
            location,
        )
        raise PassFailure(diagnostic) from failure

    def prints_ir(self, *, changed: bool) -> bool:
        """Tell whether `--print-ir-after-*` asks for the IR after a pass."""
        mode = self.instrumentation.print_ir
        return mode == "all" or (mode == "change" and changed)

    def print_ir(self, stage: Stage, name: str, payload: Payload) -> None:
        """Record the IR after a pass."""
        text = stage.text(payload)
        assert isinstance(text, str)
        self.records.printed.append(PrintedIr(stage.name, name, text))


class _Observer:
    """Runs anchored Python passes, and records the target's own passes."""

    def __init__(self, manager: PassManager, stage: Stage) -> None:
        self._manager = manager
        self._stage = stage
        self._before: dict[str, list[Pass]] = {}
        self._after: dict[str, list[Pass]] = {}
        self._started = 0.0
        self._text_before: str | bytes | None = None
        self.current = ""
        python = names_at_end(manager.passes, stage)
        for placed in manager.passes:
            if placed.anchor is None or placed.anchor.step in python:
                continue
            if placed.anchor.stage == stage.name:
                side = self._before if placed.anchor.side == "before" else self._after
                side.setdefault(placed.anchor.step, []).append(placed.instance)

    @property
    def has_anchored(self) -> bool:
        return bool(self._before or self._after)

    @property
    def replaces(self) -> bool:
        # A detailed journal must see each step before it runs.
        return self.has_anchored or self._manager.journal.detailed

    def wants(self, step: str) -> bool:
        manager = self._manager
        return (
            manager.instrumentation.every_step
            or manager.journal.detailed
            or step in self._before
            or step in self._after
        )

    def before(self, step: str, payload: Payload) -> Payload:
        payload = self._manager.run_passes(self._before.get(step, []), self._stage, payload)
        self.current = step
        self._manager.journal.enter(self._stage.name, step, ir=lambda: self._stage.text(payload))
        if self._manager.instrumentation.print_ir == "change":
            self._text_before = self._stage.text(payload)
        self._started = time.perf_counter()
        return payload

    def after(self, step: str, payload: Payload, seconds: float | None = None) -> Payload:
        manager = self._manager
        if seconds is None:
            seconds = time.perf_counter() - self._started
        if manager.instrumentation.time_passes:
            manager.records.timings.append(PassTiming(self._stage.name, step, seconds, True))
        if manager.instrumentation.print_ir != "never":
            changed = self._stage.text(payload) != self._text_before
            if manager.prints_ir(changed=changed):
                manager.print_ir(self._stage, step, payload)
        return manager.run_passes(self._after.get(step, []), self._stage, payload)


def stage_failure(stage: str, step: str, error: Exception, stderr: str) -> KernelError:
    """Turn the failure of a target's own pass into one message with the kernel's line."""
    messages = [m for m in compiler_messages(stderr) if m.severity == "error"]
    where = f"{stage}, pass {step}" if step else f"stage {stage}"
    if messages:
        first = messages[0]
        location = f"{first.location}: " if first.location else ""
        return KernelError(f"{location}error: {first.message} [{where}]")
    text = stderr.strip().splitlines()
    tail = f": {text[-1]}" if text else ""
    return KernelError(f"error: {error} [{where}]{tail}")
