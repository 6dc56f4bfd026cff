"""`flagc-opt`: run passes on IR and print the IR, as mlir-opt does."""

from __future__ import annotations

import sys
import tempfile
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import click

import flagc
from flagc.cli.common import DEFAULT_TIME_LIMIT, compile_isolated, run_command
from flagc.cli.expected_diagnostics import check_expected
from flagc.errors import EXIT_GOOD, EXIT_KERNEL_FAILED, FlagcError, UsageError, nearest
from flagc.frontend.ir_files import read_text, stage_of_file
from flagc.pipeline.compiler import CompileRequest, CompileResult, run_passes_on_ir
from flagc.pipeline.diagnostics import Diagnostic, PassFailure
from flagc.pipeline.instrumentation import InstrumentationOptions
from flagc.pipeline.loading import load_installed_passes, load_pass_files
from flagc.pipeline.pipeline_text import PlacedPass, parse_anchor, parse_pipeline
from flagc.pipeline.target import IrSource, Target
from flagc.report import terminal
from flagc.report.files import write_files
from flagc.targets.registry import target_by_name

SPLIT_MARKER = "// -----"


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("path", type=click.Path(path_type=Path, allow_dash=True))
@click.option("--target", default="cuda", show_default=True, metavar="FAMILY[:CHIP]")
@click.option("--passes", default="", metavar="PIPELINE", help="Passes to run, in order.")
@click.option("--load", multiple=True, metavar="FILE.py", help="Python file that defines passes.")
@click.option(
    "--stage",
    metavar="STAGE",
    help="Stage the IR belongs to; else told by suffix, then by the passes' level.",
)
@click.option(
    "--resume",
    metavar="STAGE@before(PASS)",
    help="Run the target's own passes of the stage from PASS to its end.",
)
@click.option(
    "--split-input-file",
    is_flag=True,
    help=f"Treat parts between '{SPLIT_MARKER}' lines as files of their own.",
)
@click.option(
    "--verify-diagnostics",
    is_flag=True,
    help="Check diagnostics against "
    "'// expected-error {{text}}' comments instead of printing them.",
)
@click.option("--print-ir-after-all", is_flag=True, help="Print the IR after every pass.")
@click.option("--print-ir-after-change", is_flag=True, help="... after every pass that changed it.")
@click.option("--time-passes", is_flag=True, help="Time every pass.")
@click.option("--debug-info", is_flag=True, help="Print source locations.")
@click.option("-o", "output", type=click.Path(path_type=Path), metavar="FILE")
@click.option("--time-limit", type=float, default=DEFAULT_TIME_LIMIT, metavar="SECONDS")
@click.option("--in-process", is_flag=True, help="No child process: for debugging with pdb.")
@click.version_option(flagc.__version__, prog_name="flagc-opt")
def command(**flags: Any) -> int:
    """Run PASSES on the IR in PATH ('-' reads standard input) and print the result."""
    return run(flags)


def run(flags: dict[str, Any]) -> int:
    """Do what the command line says and return the exit status."""
    target = target_by_name(flags["target"])
    load_installed_passes()
    load_pass_files(flags["load"])
    passes = parse_pipeline(flags["passes"])
    outputs: list[str] = []
    status = EXIT_GOOD
    with tempfile.TemporaryDirectory(prefix="flagc-opt-") as folder:
        for source in _sources(flags, target, passes, Path(folder)):
            text, source_status = _process(source, target, passes, flags)
            outputs.append(text)
            status = max(status, source_status)
    result = f"{SPLIT_MARKER}\n".join(outputs)
    if flags["output"] is not None:
        write_files(flags["output"].parent, {flags["output"].name: result})
    else:
        sys.stdout.write(result)
    return status


def _process(
    source: IrSource, target: Target, passes: list[PlacedPass], flags: dict[str, Any]
) -> tuple[str, int]:
    """Return the resulting IR of one input and the exit status."""
    instrumentation = InstrumentationOptions.from_flags(
        after_all=flags["print_ir_after_all"],
        after_change=flags["print_ir_after_change"],
        time_passes=flags["time_passes"],
    )
    request = CompileRequest(
        source, target, {}, passes, instrumentation, debug_info=flags["debug_info"]
    )
    resume = parse_anchor(flags["resume"]) if flags["resume"] else None
    diagnostics: list[Diagnostic] = []
    result: CompileResult | None = None
    try:
        result = compile_isolated(
            request,
            loaded=flags["load"],
            time_limit=flags["time_limit"],
            in_process=flags["in_process"],
            use_cache=False,
            work=partial(_run, resume),
        )
        diagnostics = result.findings.diagnostics
    except PassFailure as failure:
        diagnostics = [*failure.earlier, failure.diagnostic]
        if not flags["verify_diagnostics"]:
            raise
    except FlagcError as error:
        if not flags["verify_diagnostics"]:
            raise
        diagnostics = [Diagnostic.from_text(str(error))]
    if flags["verify_diagnostics"]:
        problems = check_expected(source, diagnostics)
        for problem in problems:
            terminal.print_error(problem)
        return "", EXIT_KERNEL_FAILED if problems else EXIT_GOOD
    assert result is not None
    _show(result)
    content = result.artifacts[0].content
    assert isinstance(content, str)
    return content if content.endswith("\n") else content + "\n", EXIT_GOOD


def _run(resume: Any, request: CompileRequest, journal: Any = None) -> CompileResult:
    return run_passes_on_ir(request, resume, journal)


def _show(result: CompileResult) -> None:
    """Print what the passes said to standard error: standard output is the IR's."""
    console = terminal.err()
    terminal.print_diagnostics(result.findings.diagnostics)
    for printed in result.records.printed:
        terminal.print_ir(f"after {printed.name} ({printed.stage})", printed.text, console)
    for table in result.findings.tables:
        terminal.print_table(table, console)
    if result.records.timings:
        terminal.print_timings(result.records.timings, console)
    if result.findings.statistics:
        terminal.print_statistics(result.findings.statistics, console)


def _sources(
    flags: dict[str, Any], target: Target, passes: list[PlacedPass], folder: Path
) -> list[IrSource]:
    path: Path = flags["path"]
    if str(path) == "-":
        path = folder / "stdin.mlir"
        path.write_text(sys.stdin.read())
    content = read_text(path)
    if not content.strip():
        raise UsageError(f"{path}: the file is empty")
    stage = flags["stage"] or _stage_for(path, content, target, passes)
    names = [s.name for s in target.stages()]
    if stage not in names:
        raise UsageError(f"--stage: unknown stage '{stage}'; {nearest(stage, names)}")
    whole = IrSource(path.name.split(".")[0], stage, path, content)
    if not flags["split_input_file"]:
        return [whole]
    return _split(whole, folder)


def _stage_for(path: Path, content: str, target: Target, passes: list[PlacedPass]) -> str:
    stages = target.stages()
    by_suffix = stage_of_file(path, stages)
    if by_suffix is not None:
        return by_suffix.name
    placed_at = next((p.stage or (p.anchor and p.anchor.stage) for p in passes), None)
    if placed_at:
        return placed_at
    levels = [p.instance.level for p in passes if p.instance.level != "any"]
    for stage in stages:
        if levels and stage.level == levels[0]:
            return stage.name
    # An analysis, or nothing to run: TTGIR is told by the attribute that all of it carries.
    return "ttgir" if '"ttg.num-warps"' in content else stages[0].name


def _split(whole: IrSource, folder: Path) -> list[IrSource]:
    """Return the parts of a file; each keeps its line numbers by leading blank lines."""
    parts: list[list[str]] = [[]]
    padding: list[int] = [0]
    for number, line in enumerate(whole.content.splitlines(keepends=True), start=1):
        if line.strip() == SPLIT_MARKER:
            parts.append([])
            padding.append(number)
        else:
            parts[-1].append(line)
    sources = []
    for index, (lines, blank) in enumerate(zip(parts, padding, strict=True)):
        place = folder / str(index)
        place.mkdir()
        content = "\n" * blank + "".join(lines)
        path = place / whole.path.name
        path.write_text(content)
        sources.append(replace(whole, path=path, content=content))
    return sources


def main() -> None:
    """Entry point of the console script `flagc-opt`."""
    run_command(command)
