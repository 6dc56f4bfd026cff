"""Results for people: rich tables, IR dumps, diagnostics."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from rich.console import Console
from rich.table import Table as RichTable

from flagc.check.each import CheckedSteps
from flagc.check.outcome import CheckedLaunch, CheckedOutput
from flagc.frontend.launch import Launch
from flagc.pipeline.compiler import CompileResult
from flagc.pipeline.diagnostics import Diagnostic, Table
from flagc.pipeline.instrumentation import PassTiming

_SEVERITY_STYLE = {"remark": "cyan", "warning": "yellow", "error": "bold red"}


# Columns for tables that go to a file or a pipe, which has no width of its own.
_PIPE_WIDTH = 140


def out() -> Console:
    """Return a console on standard output."""
    return Console(highlight=False, width=None if sys.stdout.isatty() else _PIPE_WIDTH)


def err() -> Console:
    """Return a console on standard error."""
    width = None if sys.stderr.isatty() else _PIPE_WIDTH
    return Console(stderr=True, highlight=False, width=width)


def print_error(text: str) -> None:
    """Print an error message to standard error, its word "error" in red."""
    console = err()
    head, found, tail = text.partition("error:")
    if not found or "\n" in head:
        head, found, tail = "", "error:", f" {text}"
    console.print(head, end="", markup=False, soft_wrap=True)
    console.print(found, end="", style="bold red")
    console.print(tail, markup=False, soft_wrap=True)


def print_diagnostic(diagnostic: Diagnostic) -> None:
    """Print a remark or warning to standard error, as compilers do."""
    style = _SEVERITY_STYLE[diagnostic.severity]
    err().print(str(diagnostic), markup=False, style=style, soft_wrap=True)


def print_diagnostics(diagnostics: Sequence[Diagnostic]) -> None:
    """Print remarks and warnings to standard error."""
    for diagnostic in diagnostics:
        print_diagnostic(diagnostic)


def print_warning(text: str) -> None:
    """Print a warning to standard error."""
    err().print(text, markup=False, style=_SEVERITY_STYLE["warning"], soft_wrap=True)


def print_ir(title: str, content: str | bytes, console: Console | None = None) -> None:
    """Print one stage's IR under a banner; binaries are only described."""
    console = console or out()
    console.print(f"// -----// {title} //----- //", markup=False, soft_wrap=True)
    if isinstance(content, bytes):
        kind = "ELF" if content.startswith(b"\x7fELF") else "binary"
        console.print(f"// {kind}, {len(content)} bytes; write it with -o DIR", markup=False)
    else:
        console.file.write(content if content.endswith("\n") else content + "\n")


def print_table(table: Table, console: Console | None = None) -> None:
    """Print a pass's table, on standard output unless another console is given."""
    console = console or out()
    console.print(table.title, markup=False, style="bold", soft_wrap=True)
    rich_table = RichTable()
    for index, column in enumerate(table.columns):
        numeric = all(isinstance(row[index], (int, float)) for row in table.rows)
        rich_table.add_column(column, justify="right" if numeric else "left")
    for row in table.rows:
        rich_table.add_row(*(str(cell) for cell in row))
    console.print(rich_table)


def print_statistics(statistics: dict[str, int], console: Console | None = None) -> None:
    """Print the passes' statistics."""
    rows: list[tuple[str | int | float, ...]] = [
        (*key.split(":", 2), count) for key, count in statistics.items()
    ]
    print_table(
        Table("pass statistics", ("stage", "pass", "statistic", "count"), tuple(rows)), console
    )


def print_timings(timings: Sequence[PassTiming], console: Console | None = None) -> None:
    """Print the time of every pass that ran, in order."""
    total = sum(timing.seconds for timing in timings)
    rows: list[tuple[str | int | float, ...]] = [
        (
            timing.stage,
            timing.name,
            "compiler" if timing.native else "Python",
            round(timing.seconds * 1e3, 2),
            round(100 * timing.seconds / total, 1) if total else 0.0,
        )
        for timing in timings
    ]
    rows.append(("total", "", "", round(total * 1e3, 2), 100.0))
    columns = ("stage", "pass", "written in", "ms", "%")
    print_table(Table("time of each pass", columns, tuple(rows)), console)


def print_executions(launch: Launch) -> None:
    """Print what each launch of a kernel did, where launches are executed."""
    total = len(launch.executions)
    blocks = sum(execution.blocks for execution in launch.executions)
    instructions = sum(execution.instructions for execution in launch.executions)
    seconds = sum(execution.seconds for execution in launch.executions)
    plural = "launch" if total == 1 else "launches"
    first = launch.executions[0]
    why = f" ({first.reason})" if first.reason else ""
    counted = f"{instructions} instructions, " if instructions else ""
    out().print(
        f"ran {total} {plural} on {first.device}: {blocks} blocks, {counted}"
        f"{seconds:.2f} s of this machine's time" + why,
        markup=False,
        soft_wrap=True,
    )
    reads = sum(execution.speculative_reads for execution in launch.executions)
    if reads:
        out().print(
            f"{reads} speculative reads outside the tensors, none of them used", markup=False
        )


def print_checked(checked: Sequence[CheckedLaunch]) -> None:
    """Print which launches were compared with what, and how near to the bound they came."""
    rows = tuple(
        (
            entry.kernel,
            "x".join(map(str, entry.grid)),
            output.argument,
            entry.against,
            "WRONG" if output.argument in {m.argument for m in entry.mismatches} else "right",
            f"{output.largest_error:.2g}",
            f"{100 * output.used:.0f} %" if output.used < 10 else f"{output.used:.1g} times",
            output.bound,
        )
        for entry in checked
        for output in entry.outputs or (CheckedOutput("(nothing changed)", 0.0, 0.0, ""),)
    )
    columns = ("kernel", "grid", "output", "compared with", "result", "error", "of bound", "bound")
    print_table(Table("checked launches", columns, rows))


def print_steps(checked: CheckedSteps) -> None:
    """Print what a launch did after each pass, and the verdict."""
    words = {True: "yes", False: "", None: "?"}
    rows = tuple(
        (
            step.name,
            step.status if step.status == "right" else step.status.upper(),
            words[step.changed] if index else "",
            step.brief,
        )
        for index, step in enumerate(checked.steps)
    )
    grid = "x".join(map(str, checked.grid))
    columns = ("after pass", "result", "other bits", "what")
    print_table(Table(f"{checked.kernel}, grid {grid}, pass by pass", columns, rows))
    if checked.is_right:
        out().print(f"{checked.kernel}: {checked}", markup=False, soft_wrap=True)


def print_summary(launch: Launch, result: CompileResult) -> None:
    """Print what was compiled and what came out of each stage."""
    console = out()
    grids = ", ".join("x".join(map(str, grid)) for grid in launch.grids[:3])
    more = f" and {len(launch.grids) - 3} more" if len(launch.grids) > 3 else ""
    title = f"{result.name} for {result.target}" + (f", grid {grids}{more}" if grids else "")
    how = "from the cache" if result.cached else f"compiled in {result.seconds:.2f} s"
    console.print(f"{title} ({how})", markup=False, style="bold", soft_wrap=True)
    rich_table = RichTable()
    rich_table.add_column("stage")
    rich_table.add_column("bytes", justify="right")
    rich_table.add_column("lines", justify="right")
    rich_table.add_column("ms", justify="right")
    for artifact in result.artifacts:
        content = artifact.content
        size = len(content.encode() if isinstance(content, str) else content)
        lines = str(content.count("\n")) if isinstance(content, str) else ""
        several = sum(other.stage == artifact.stage for other in result.artifacts) > 1
        label = artifact.stage + (f" ({artifact.suffix})" if several else "")
        rich_table.add_row(label, str(size), lines, f"{artifact.seconds * 1e3:.1f}")
    console.print(rich_table)
