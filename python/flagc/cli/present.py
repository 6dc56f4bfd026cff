"""Show what was compiled: files, IR, tables, or one JSON document."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict, dataclass, field
from typing import Any

import flagc
from flagc.bench.modelled import ModelledLaunch
from flagc.bench.outcome import BenchedLaunch
from flagc.check.each import CheckedSteps
from flagc.check.outcome import CheckedLaunch
from flagc.cli.settings import Settings
from flagc.errors import EXIT_KERNEL_FAILED, UsageError
from flagc.frontend.launch import Launch
from flagc.pipeline.compiler import CompileResult
from flagc.report import terminal
from flagc.report.bench_table import print_benched
from flagc.report.files import write_files
from flagc.report.json_output import plain, result_document
from flagc.report.timing_table import print_modelled


@dataclass
class Inputs:
    """The launches to compile; `error` is an error of the script after it made them.

    `error_status` is the exit status that it stands for.
    """

    launches: list[Launch]
    note: str = ""
    error: str = ""
    error_status: int = EXIT_KERNEL_FAILED
    checked: list[CheckedLaunch] = field(default_factory=list)
    benched: list[BenchedLaunch] = field(default_factory=list)
    steps: list[CheckedSteps] = field(default_factory=list)
    modelled: list[ModelledLaunch] = field(default_factory=list)
    documents: list[dict[str, Any]] = field(default_factory=list)


def file_names(launches: list[Launch]) -> list[str]:
    """Return a file name stem for each launch; specialisations of one kernel are numbered."""
    names = [launch.source.name for launch in launches]
    counts: dict[str, int] = {}
    stems = []
    for name in names:
        counts[name] = counts.get(name, 0) + 1
        stems.append(f"{name}.{counts[name]}" if names.count(name) > 1 else name)
    return stems


def present(
    settings: Settings,
    launch: Launch,
    result: CompileResult,
    dumped: list[str],
    name: str,
    inputs: Inputs,
) -> None:
    """Show one result: files, IR, tables, or its part of the JSON document."""
    files = _write(settings, result, dumped, name) if settings.output is not None else {}
    if settings.output_format == "json":
        shown = [] if settings.output is not None else dumped
        inputs.documents.append(result_document(launch, result, shown, files))
        return
    terminal.print_diagnostics(result.findings.diagnostics)
    for printed in result.records.printed:
        terminal.print_ir(f"{result.name}, after {printed.name} ({printed.stage})", printed.text)
    if settings.emit is not None and settings.output is None:
        _emit(settings.emit, result)
        return
    _note_missing(settings, result)
    if settings.output is None:
        for artifact in result.artifacts:
            if artifact.stage in dumped:
                title = f"{result.name}, {result.target}, {artifact.stage}"
                terminal.print_ir(title, artifact.content)
    for table in result.findings.tables:
        terminal.print_table(table)
    if result.records.timings:
        terminal.print_timings(result.records.timings)
    if result.findings.statistics:
        terminal.print_statistics(result.findings.statistics)
    terminal.print_summary(launch, result)
    console = terminal.out()
    if launch.executions:
        terminal.print_executions(launch)
    if launch.note:
        console.print(f"note: {launch.note}", markup=False, soft_wrap=True)
    for path in files.values():
        console.print(f"wrote {path}", markup=False, soft_wrap=True)


def _emit(stage: str, result: CompileResult) -> None:
    """Write the bare result of `stage` to standard output."""
    result.artifact(stage)  # says what was produced instead, if it was not reached
    for artifact in result.artifacts:
        if artifact.stage != stage:
            continue
        if isinstance(artifact.content, str):
            sys.stdout.write(artifact.content)
        elif sys.stdout.isatty():
            raise UsageError(f"{stage} is binary: write it with -o DIR or redirect it")
        else:
            sys.stdout.buffer.write(artifact.content)


def _note_missing(settings: Settings, result: CompileResult) -> None:
    """Say which of the stages asked for by name took no part in this compilation."""
    produced = {artifact.stage for artifact in result.artifacts}
    asked = [] if settings.dump_ir in (None, "all") else str(settings.dump_ir).split(",")
    for stage in asked:
        if stage and stage not in produced:
            stages = ", ".join(dict.fromkeys(artifact.stage for artifact in result.artifacts))
            text = f"note: no {stage} of {result.name}, whose stages were {stages}"
            terminal.err().print(text, markup=False, style="cyan", soft_wrap=True)


def _write(
    settings: Settings, result: CompileResult, dumped: list[str], name: str
) -> dict[str, str]:
    """Write the wanted stages and the metadata; return the paths by stage."""
    assert settings.output is not None
    if settings.emit is not None:
        wanted = [settings.emit]
    else:
        wanted = dumped or [artifact.stage for artifact in result.artifacts]
    artifacts = [artifact for artifact in result.artifacts if artifact.stage in wanted]
    contents: dict[str, str | bytes] = {f"{name}{a.suffix}": a.content for a in artifacts}
    contents[f"{name}.json"] = json.dumps(plain(result.metadata), indent=2) + "\n"
    paths = write_files(settings.output, contents)
    labels = [f"{artifact.stage}{artifact.suffix}" for artifact in artifacts] + ["metadata"]
    return {label: str(path) for label, path in zip(labels, paths, strict=True)}


def finish(settings: Settings, inputs: Inputs, status: int) -> int:
    """Print what concerns all launches, and return the exit status."""
    if inputs.error and inputs.modelled and not settings.run:
        # Nothing was executed, so what the script found wrong says nothing.
        inputs.note = f"{inputs.note}; " if inputs.note else ""
        inputs.note += (
            "launches were timed and not executed (--run does both), and the script ended "
        )
        inputs.note += f"with: {inputs.error.splitlines()[0]}"
        inputs.error = ""
    if inputs.error:
        terminal.print_error(inputs.error)
        status = max(status, inputs.error_status)
    for checked in inputs.checked:
        for mismatch in checked.mismatches:
            terminal.print_error(
                f"error: {checked.kernel}: {mismatch}; compared with {checked.against}; "
                f"{checked.repeats}"
            )
            status = max(status, EXIT_KERNEL_FAILED)
        for warning in checked.warnings:
            terminal.print_warning(f"warning: {checked.kernel}: {warning}")
    for benched in inputs.benched:
        for name, text in benched.wrong.items():
            terminal.print_error(f"error: {benched.kernel}, {name}: {text}")
            status = max(status, EXIT_KERNEL_FAILED)
    for steps in inputs.steps:
        if not steps.is_right:
            terminal.print_error(f"error: {steps.kernel}: {steps}")
            status = max(status, EXIT_KERNEL_FAILED)
    if settings.output_format == "json":
        document = {
            "flagc": flagc.__version__,
            "kernels": inputs.documents,
            "note": inputs.note,
            "error": inputs.error,
            "checked": [asdict(checked) for checked in inputs.checked],
            "benched": [benched.describe() for benched in inputs.benched],
            "checked_each": [{**asdict(steps), "verdict": str(steps)} for steps in inputs.steps],
            "modelled": [modelled.describe() for modelled in inputs.modelled],
        }
        json.dump(document, sys.stdout, indent=2)
        print()
        return status
    if inputs.checked:
        terminal.print_checked(inputs.checked)
    print_benched(inputs.benched)
    for steps in inputs.steps:
        terminal.print_steps(steps)
    print_modelled(inputs.modelled)
    if inputs.note:
        terminal.err().print(f"note: {inputs.note}", markup=False, style="cyan", soft_wrap=True)
    return status
