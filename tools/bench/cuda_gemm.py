"""Time examples/gemm.py (and fp8, GELU, attention, layernorm rows) with passes against cuBLAS.

    PYTHONPATH=python python tools/bench/cuda_gemm.py --group large,medium --budget 150

Rows, variants and bars are in cuda_gemm.toml. Everything is compiled first, in parallel. Then, row
by row, all variants, the kernel without passes and torch's library take turns in CUDA graphs on
rotating inputs (docs/bench.md says how). The last table has the best variants against their bars.
JSON goes to --json, or into $OUT. Exit status 1: a result is wrong; 2: usage or environment.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from cuda_gemm_plan import TABLE, UNPASSED, Row, Variant, compile_all, read_rows
from cuda_gemm_runner import Failed, Measured, Wrong, run_rows
from flagc.targets.registry import target_by_name

ROOT = Path(__file__).resolve().parents[2]
console = Console(highlight=False, width=160)


def row_table(measured: Measured) -> Table:
    """Return all candidates of a row."""
    problem, peak = measured.row.problem, measured.peak.flops
    table = Table(title=problem.name, title_justify="left")
    for column in ("candidate", "tile", "warps", "stages"):
        table.add_column(column)
    for column in ("mean us", "median us", "quartiles us", "TFLOP/s", "% of peak"):
        table.add_column(column, justify="right")
    table.add_column(f"vs {problem.baseline_name}")
    for column in ("vs unpassed", "result"):
        table.add_column(column)
    variants = {v.name: v for v in (UNPASSED, *measured.row.variants)}
    for name, timing in measured.timings.items():
        variant = variants.get(name)
        low, high = timing.quartiles
        tflops = measured.tflops(name)
        tile = "x".join(map(str, variant.tile)) if variant and variant.tile else ""
        table.add_row(
            name,
            tile,
            str(variant.num_warps or "") if variant else "",
            str(variant.num_stages or "") if variant else "",
            f"{timing.mean * 1e6:.2f}",
            f"{timing.median * 1e6:.2f}",
            f"{low * 1e6:.2f}..{high * 1e6:.2f}",
            f"{tflops:.1f}" if tflops else "",
            f"{tflops * 1e12 / peak:.1%}" if tflops and peak else "",
            spread(measured.speedup(name, problem.baseline_name)),
            over_unpassed(measured, name),
            "right" if measured.results[name] == "right" else "WRONG",
        )
    return table


def over_unpassed(measured: Measured, name: str) -> str:
    """Return how much faster a candidate is than the kernel without passes, if that ran."""
    return (
        spread(measured.speedup(name, UNPASSED.name)) if UNPASSED.name in measured.timings else ""
    )


def spread(numbers: tuple[float, float, float]) -> str:
    """Return `1.002 (0.998..1.004)`."""
    middle, low, high = numbers
    return f"{middle:.3f} ({low:.3f}..{high:.3f})"


def summary_table(found: list[Measured]) -> Table:
    """Return each row's best variant against its bar."""
    table = Table(title="best variant of each row", title_justify="left")
    for column in ("row", "best", "TFLOP/s", "library TFLOP/s", "ratio", "bar", "met", "unpassed"):
        table.add_column(column)
    for measured in found:
        best, problem = measured.best, measured.row.problem
        if best is None:
            table.add_row(problem.name, "none is right", "", "", "", str(measured.row.bar), "NO")
            continue
        speed = measured.speedup(best, measured.reference)
        table.add_row(
            problem.name,
            best,
            f"{measured.tflops(best):.1f}" if problem.flops else "",
            f"{measured.tflops(problem.baseline_name):.1f}" if problem.flops else "",
            f"{spread(speed)} vs {measured.reference}",
            str(measured.row.bar),
            "yes" if speed[0] >= measured.row.bar else "NO",
            over_unpassed(measured, best),
        )
    return table


def neighbour_lines(found: list[Measured]) -> list[str]:
    """Say how odd shapes do against their aligned neighbours, kernel and library."""
    by_key = {(m.row.problem.sizes, m.row.problem.dtype): m for m in found}
    lines = []
    for measured in found:
        key = (measured.row.neighbour, measured.row.problem.dtype)
        neighbour = by_key.get(key) if measured.row.neighbour else None  # type: ignore[arg-type]
        if neighbour is None or measured.best is None or neighbour.best is None:
            continue
        library = measured.row.problem.baseline_name
        own = measured.tflops(measured.best) / neighbour.tflops(neighbour.best)
        theirs = measured.tflops(library) / neighbour.tflops(library)
        lines.append(
            f"{measured.row.problem.name}: {own:.3f} of the TFLOP/s at "
            f"{'x'.join(map(str, neighbour.row.problem.sizes))} ({library}: {theirs:.3f})"
        )
    return lines


def chosen_rows(options: argparse.Namespace) -> list[Row]:
    """Return the rows that the command line asks for."""
    groups = options.group.split(",") if options.group else None
    shapes = options.shape.split(",") if options.shape else None
    dtypes = options.dtype.split(",") if options.dtype else None
    wanted = options.variant.split(",") if options.variant else None
    rows = []
    for row in read_rows(options.table):
        shape = "x".join(map(str, row.problem.sizes))
        if (groups and row.group not in groups) or (shapes and shape not in shapes):
            continue
        if dtypes and row.problem.dtype not in dtypes:
            continue
        variants = [v for v in row.variants if wanted is None or v.name in wanted]
        if options.passes is not None:
            tile = tuple(map(int, options.tile.split("x"))) if options.tile else None
            own = Variant("given", options.passes, options.num_warps, options.num_stages, tile)
            variants.append(own)
        rows.append(replace(row, variants=tuple(variants)))
    return rows


def parse(arguments: list[str]) -> argparse.Namespace:
    """Return the command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--group", help="comma-separated, e.g. large,odd")
    parser.add_argument("--shape", help="comma-separated, e.g. 8192x8192x8192")
    parser.add_argument("--dtype", help="comma-separated: fp16, bf16, fp8")
    parser.add_argument("--variant", help="comma-separated: only these of the table's variants")
    parser.add_argument("--passes", help="one more variant, 'given', with these passes")
    parser.add_argument("--tile", help="of 'given', e.g. 128x256x64")
    parser.add_argument("--num-warps", type=int, help="of 'given'")
    parser.add_argument("--num-stages", type=int, help="of 'given'")
    parser.add_argument("--target", default="cuda:sm90")
    parser.add_argument("--table", type=Path, default=TABLE)
    parser.add_argument("--seconds", type=float, default=0.4, help="device time of a row")
    parser.add_argument("--budget", type=float, help="seconds after which no row is begun")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--compile-only", action="store_true", help="no GPU: only compile")
    parser.add_argument("--json", type=Path, help="default: $OUT/cuda_gemm.json, if OUT is set")
    return parser.parse_args(arguments)


def compile_rows(options: argparse.Namespace, rows: list[Row]) -> dict[Any, str]:
    """Compile everything, and print what cannot be."""
    started = time.perf_counter()
    wrong = compile_all(options.target, rows, options.workers)
    failed = {f"{key[0].name}, {key[1]}": text for key, text in wrong.items() if text}
    console.print(
        f"compiled {len(wrong) - len(failed)} of {len(wrong)} variants in "
        f"{time.perf_counter() - started:.1f} s"
    )
    reasons: dict[str, list[str]] = {}
    for name, text in failed.items():
        reasons.setdefault(text, []).append(name)
    for text, names in reasons.items():
        console.print(f"left out ({len(names)}, e.g. {names[0]}): {text}", markup=False)
    return wrong


def git_commit() -> str:
    """Return the commit, or '' where there is no repository."""
    command = ["git", "-C", str(ROOT), "rev-parse", "HEAD"]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()
    except OSError:
        return ""


def main() -> int:
    """Run and return the exit status."""
    options = parse(sys.argv[1:])
    rows = chosen_rows(options)
    if not rows:
        console.print("no row is chosen", style="red")
        return 2
    wrong = compile_rows(options, rows)
    if options.compile_only:
        return 0
    target = target_by_name(options.target)
    return run_and_report(options, rows, wrong, target, target.bench_device)


def run_and_report(
    options: argparse.Namespace, rows: list[Row], wrong: Wrong, target: Any, make_device: Any
) -> int:
    """Measure the rows, print tables as they come, and write the JSON after every row."""
    started = time.perf_counter()
    found: list[Measured] = []
    failures: dict[str, str] = {}
    path = options.json
    if path is None and os.environ.get("OUT"):
        path = Path(os.environ["OUT"]) / "cuda_gemm.json"
    results = run_rows(rows, wrong, target, make_device, options.seconds)
    for number, result in enumerate(results, start=1):
        if isinstance(result, Failed):
            failures[result.row.problem.name] = result.why
            console.print(f"{result.row.problem.name}: {result.why}", style="red", markup=False)
        else:
            found.append(result)
            report_row(result, first=len(found) == 1)
        if path is not None:
            path.write_text(json.dumps(document_of(rows, found, failures), indent=1))
        spent = time.perf_counter() - started
        if options.budget and spent > options.budget and number < len(rows):
            left = ", ".join(later.problem.name for later in rows[number:])
            console.print(f"the budget is spent; not measured: {left}", style="yellow")
            results.close()
            break
    console.print(summary_table(found))
    for line in neighbour_lines(found):
        console.print(line, markup=False)
    console.print(f"{time.perf_counter() - started:.0f} s")
    all_right = all(text == "right" for entry in found for text in entry.results.values())
    return 0 if all_right and found and not failures else 1


def report_row(measured: Measured, *, first: bool) -> None:
    """Print one row, and where it was measured if it is the first."""
    if first:
        facts = ", ".join(f"{name} {text}" for name, text in measured.machine.items())
        console.print(facts, markup=False)
    console.print(row_table(measured))
    for name, text in measured.results.items():
        if text != "right":
            console.print(f"{name}: {text}", style="red", markup=False)
    for name, text in measured.skipped.items():
        console.print(f"{name} left out: {text}", markup=False)


def document_of(rows: list[Row], found: list[Measured], failures: dict[str, str]) -> dict[str, Any]:
    """Return everything so far as plain data."""
    return {
        "device": found[0].machine if found else {},
        "commit": git_commit(),
        "variants": {v.name: asdict(v) for r in rows for v in (UNPASSED, *r.variants)},
        "failures": failures,
        "rows": [entry.describe() for entry in found],
    }


if __name__ == "__main__":
    sys.exit(main())
