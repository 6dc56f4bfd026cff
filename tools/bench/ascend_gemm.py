"""Time examples/gemm.py by the timing model of Ascend chips: vendor's lowering, library, ours.

    PYTHONPATH=python python tools/bench/ascend_gemm.py --chip 910B3 --shape 4096x4096x4096

Rows, variants and columns are in ascend_gemm.toml. Nothing here is measured on an NPU: times are
the model's, with its bands (docs/ascend-timing.md). A variant is first run on the emulated AI Core
with all checks; one that is wrong, refused or not there is listed with the reason and has no time.
JSON goes to --json, or into $OUT. Exit status 1: a result is wrong; 2: usage or environment.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from ascend_gemm_cases import TABLE, Case, Measured, measure, read_cases
from cuda_gemm import git_commit
from flagc.aicore.timing.costs import cost_table
from flagc.errors import FlagcError
from flagc.targets.ascend import toolchain

COLUMNS = {
    "a": "vendor, the kernel's tiles",
    "a*": "vendor, best of TTIR passes",
    "b": "vendor library's whole product",
    "b*": "the library's code, best tile",
    "c": "ours, default passes",
    "d": "ours, best of passes",
}
# Characters of a reason; the JSON has all.
_LONGEST = 300
console = Console(highlight=False, width=200)


def main() -> int:
    """Run and return the exit status."""
    options = parse(sys.argv[1:])
    cases = chosen(options)
    if not cases:
        console.print("no row is chosen", style="red")
        return 2
    path = options.json
    if path is None and os.environ.get("OUT"):
        path = Path(os.environ["OUT"]) / "ascend_gemm.json"
    found: list[Measured] = []
    started = time.perf_counter()
    with progress() as bar:
        task = bar.add_task("", total=sum(case.steps for case in cases))
        for case in cases:
            bar.update(task, description=f"{case.chip} {case.problem.name}")
            found.append(measure(case, lambda: bar.advance(task)))
            if path is not None:
                path.write_text(json.dumps(document_of(found), indent=1))
    report(found)
    console.print(f"{time.perf_counter() - started:.0f} s")
    wrong = any(why.startswith("WRONG") for entry in found for _, _, why in entry.missing())
    return 1 if wrong else 0


def parse(arguments: list[str]) -> argparse.Namespace:
    """Return the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--chip", help="comma-separated, e.g. 910B3")
    parser.add_argument("--shape", help="comma-separated MxNxK, e.g. 8192x8192x8192")
    parser.add_argument("--dtype", help="comma-separated: fp16, bf16")
    parser.add_argument("--group", help="comma-separated: large, flat, small")
    parser.add_argument("--table", type=Path, default=TABLE)
    parser.add_argument("--json", type=Path, help="default: $OUT/ascend_gemm.json, if OUT is set")
    return parser.parse_args(arguments)


def chosen(options: argparse.Namespace) -> list[Case]:
    """Return the rows that the command line asks for."""

    def among(wanted: str | None, value: str) -> bool:
        return wanted is None or value in wanted.split(",")

    return [
        case
        for case in read_cases(options.table)
        if among(options.chip, case.chip)
        and among(options.dtype, case.problem.dtype)
        and among(options.group, case.group)
        and among(options.shape, "x".join(map(str, case.problem.sizes)))
    ]


def progress() -> Progress:
    """Return the progress bar, which goes when it is done."""
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=console,
        transient=True,
    )


def report(found: list[Measured]) -> None:
    """Print a table for each chip, its figures of merit, and what is missing."""
    for chip in dict.fromkeys(entry.case.chip for entry in found):
        mine = [entry for entry in found if entry.case.chip == chip]
        console.print(table_of(chip, mine))
        for line in merits(mine):
            console.print(line, markup=False)
    for line in (*published_lines(found), *missing_lines(found)):
        console.print(line, markup=False)


def table_of(chip: str, found: list[Measured]) -> Table:
    """Return microseconds over cycles of the best of each column, with ratios."""
    costs = cost_table()
    low, high = 1 - math.exp(-costs.pair_band), math.exp(costs.pair_band) - 1
    caption = (
        f"us over cycles by the timing model, version {costs.version}: ±{costs.band:.1%} (nine of "
        f"ten held-out kernels); ratios -{low:.0%}..+{high:.0%}. "
        + ", ".join(f"{name}: {text}" for name, text in COLUMNS.items())
        + ", e: the Cube's limit, f: published (see below), share: e / d"
    )
    table = Table(title=f"{chip}, M x N x K", title_justify="left", caption=caption)
    table.add_column("product")
    for column in (*COLUMNS, "e", "f"):
        table.add_column(column, justify="right")
    for column in ("best", "d over a", "d over b", "d over b*", "share"):
        table.add_column(column)
    for entry in found:
        case = entry.case
        own = [p for p in case.published if p.chip == chip]
        best = entry.best("d")
        table.add_row(
            case.problem.name.removeprefix("gemm "),
            *(cell(entry, column) for column in COLUMNS),
            f"{case.limit_microseconds:.2f}\n{case.limit_cycles:.0f}",
            f"{own[0].microseconds:.1f}" if own else "",
            best[0] if best else "",
            *(ratio_text(entry.ratio("d", over)) for over in ("a", "b", "b*")),
            share_text(entry),
        )
    return table


def cell(entry: Measured, column: str) -> str:
    """Return a time as microseconds over cycles, or a dash."""
    found = entry.best(column)
    return "-" if found is None else f"{found[1].microseconds:.1f}\n{found[1].cycles:.0f}"


def ratio_text(ratio: float | None) -> str:
    """Return `2.10x`, and the range that the model's band for ratios makes of it."""
    if ratio is None:
        return "-"
    factor = math.exp(cost_table().pair_band)
    return f"{ratio:.2f}x\n({ratio / factor:.2f}..{ratio * factor:.2f})"


def share_text(entry: Measured) -> str:
    """Return the share of the Cube's limit, with the model's band; times can be off by it."""
    share = entry.share("d")
    if share is None:
        return "-"
    band = cost_table().band
    return f"{share:.3f}\n({share / (1 + band):.2f}..{min(1.0, share / (1 - band)):.2f})"


def merits(found: list[Measured]) -> list[str]:
    """Return the geometric means over the rows, by type; of rows that have both."""
    lines = []
    for dtype in dict.fromkeys(entry.case.problem.dtype for entry in found):
        mine = [entry for entry in found if entry.case.problem.dtype == dtype]
        for ours, over in (("d", "a"), ("d", "b"), ("d", "b*"), ("a", "b")):
            ratios = [r for entry in mine if (r := entry.ratio(ours, over)) is not None]
            text = f"{dtype}: {ours} over {over}, geometric mean of {len(ratios)} rows: "
            if ratios:
                mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
                slowest = f", smallest {min(ratios):.2f}x" if len(ratios) > 1 else ""
                lines.append(text + ratio_text(mean).replace("\n", " ") + slowest)
            else:
                lines.append(text + "-")
    return lines


def published_lines(found: Iterable[Measured]) -> list[str]:
    """Return what was published of the rows' sizes, on these chips and on others."""
    entries = dict.fromkeys(p for entry in found for p in entry.case.published)
    return [
        f"published: {'x'.join(map(str, p.sizes))} {p.dtype} {p.microseconds:.1f} us, chip "
        f"{p.chip}: {p.what} ({p.source})"
        for p in entries
    ]


def missing_lines(found: Iterable[Measured]) -> list[str]:
    """Return one line for each reason, with the first candidate and how many others have it."""
    reasons: dict[str, list[str]] = {}
    for entry in found:
        for column, name, why in entry.missing():
            text = f"{column} {name}, {entry.case.problem.name} on {entry.case.chip}"
            reasons.setdefault(why, []).append(text)
    return [
        f"missing: {names[0]}{f' and {len(names) - 1} more' if names[1:] else ''}: {why[:_LONGEST]}"
        for why, names in reasons.items()
    ]


def document_of(found: list[Measured]) -> dict[str, Any]:
    """Return everything so far as plain data."""
    costs = cost_table()
    return {
        "measured_on": "no hardware: flagc's timing model",
        "model_version": costs.version,
        "band": costs.band,
        "pair_band": costs.pair_band,
        "toolchain": toolchain.versions(),
        "commit": git_commit(),
        "columns": COLUMNS,
        "rows": [entry.describe() for entry in found],
    }


if __name__ == "__main__":
    try:
        sys.exit(main())
    except FlagcError as error:
        console.print(f"error: {error}", style="red", markup=False)
        sys.exit(error.exit_status)
