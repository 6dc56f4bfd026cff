"""What flagc costs: compile times of the example GEMM as ratios, measured side by side.

    python tools/bench/compile_cost.py [--rounds 10]

Each figure is a median over rounds in which flagc and its reference alternate, with the quartiles.
Bars (issue 2): whole sm90 compile at most 1.25x `triton.compile`, IR bridge at most 60 ms a stage,
Ascend chain at most 2.5 s, a second run of the same command at most 0.25 s of compile work. Issue
5: flagc's own lowering for Ascend takes no longer than the vendor's.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import triton
from rich.console import Console
from rich.table import Table

from flagc.frontend.script import run_script
from flagc.pipeline.compiler import CompileRequest, compile_kernel
from flagc.pipeline.defaults import build_pipeline
from flagc.pipeline.isolation import run_isolated
from flagc.targets.registry import target_by_name

ROOT = Path(__file__).resolve().parents[2]
GEMM = ROOT / "examples" / "gemm.py"


def seconds(work: Callable[[], object]) -> float:
    """Return the wall-clock time of one call."""
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def show(values: list[float], scale: float = 1.0) -> str:
    """Return `median [lower quartile, upper quartile]`."""
    low, middle, high = statistics.quantiles(values, n=4)
    return f"{middle * scale:.3g} [{low * scale:.3g}, {high * scale:.3g}]"


def sm90_compile(rounds: int) -> tuple[list[float], list[float], list[float]]:
    """Return seconds of flagc isolated, flagc in process, and plain `triton.compile`."""
    target = target_by_name("cuda:sm90")
    (launch,) = run_script(GEMM, [], target).launches
    source = launch.source
    request = CompileRequest(source, target, launch.options)
    ast = triton.compiler.ASTSource(
        source.function, dict(source.signature), source.constexprs, source.attributes
    )

    def plain() -> None:
        triton.compile(ast, target=target.triton_target(), options=dict(launch.options))

    def isolated() -> None:
        run_isolated(lambda journal: compile_kernel(request, journal), time_limit=60)

    os.environ["TRITON_ALWAYS_COMPILE"] = "1"
    plain()
    rows = [
        (seconds(isolated), seconds(lambda: compile_kernel(request)), seconds(plain))
        for _ in range(rounds)
    ]
    isolated_times, in_process, reference = (list(column) for column in zip(*rows, strict=True))
    return isolated_times, in_process, reference


def bridge(rounds: int, stage_name: str) -> list[float]:
    """Return seconds of one trip out of libtriton and back at a stage."""
    target = target_by_name("cuda:sm90")
    (launch,) = run_script(GEMM, [], target).launches
    compilation = target.begin(launch.source, launch.options)
    payload = compilation.payload
    for stage in compilation.stages:
        payload = stage.run(payload, None)
        if stage.name == stage_name:
            break
    times = []
    for _ in range(rounds + 1):
        started = time.perf_counter()
        payload = stage.import_module(stage.export(payload))
        times.append(time.perf_counter() - started)
    return times[1:]


def ascend_request(pipeline: str) -> CompileRequest:
    """Return the compilation of the GEMM by one of the lowerings, with its default passes."""
    target = target_by_name("ascend:910B3", pipeline)
    passes = build_pipeline(target, "", [], [])
    (launch,) = run_script(GEMM, [], target).launches
    return CompileRequest(launch.source, target, launch.options, passes)


def ascend_chain(rounds: int) -> list[float]:
    """Return seconds of the vendor's Ascend chain, default passes included, to linked LLVM IR."""
    request = ascend_request("vendor")
    run_isolated(lambda journal: compile_kernel(request, journal), time_limit=60)
    return [
        seconds(lambda: run_isolated(lambda j: compile_kernel(request, j), time_limit=60))
        for _ in range(rounds)
    ]


def ascend_lowerings(rounds: int) -> list[float]:
    """Return the time of flagc's own lowering over the vendor's, in this process, to LLVM IR."""
    ours, vendors = ascend_request("flagc"), ascend_request("vendor")
    found = []
    for index in range(rounds + 1):
        ratio = seconds(lambda: compile_kernel(ours)) / seconds(lambda: compile_kernel(vendors))
        if index:
            found.append(ratio)
    return found


def second_run(target: str, rounds: int) -> list[float]:
    """Return the compile work, in seconds, that the same command reports when run again."""
    code = "from flagc.cli.main import main; main()"
    command = [sys.executable, "-c", code, str(GEMM), "--target", target, "--format", "json"]
    found = []
    for index in range(rounds + 1):
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        (kernel,) = json.loads(done.stdout)["kernels"]
        if index:
            assert kernel["cached"], "the second run did not hit the cache"
            found.append(kernel["seconds"])
    return found


def main() -> int:
    """Measure and print; exit status 1 when a bar is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=10)
    rounds = parser.parse_args().rounds
    with tempfile.TemporaryDirectory() as folder:
        os.environ["FLAGC_CACHE_DIR"] = folder
        os.environ["TRITON_CACHE_DIR"] = folder + "/triton"
        isolated, in_process, plain = sm90_compile(rounds)
        ratios = [ours / theirs for ours, theirs in zip(isolated, plain, strict=True)]
        inner = [ours / theirs for ours, theirs in zip(in_process, plain, strict=True)]
        rows: list[tuple[str, list[float], str, float]] = [
            ("sm90 compile in a child process / triton.compile", ratios, "x", 1.25),
            ("sm90 compile in this process / triton.compile", inner, "x", 1.25),
            ("bridge, ttir", [1e3 * t for t in bridge(rounds, "ttir")], "ms", 60),
            ("bridge, ttgir", [1e3 * t for t in bridge(rounds, "ttgir")], "ms", 60),
            ("Ascend chain, warm", ascend_chain(rounds), "s", 2.5),
            ("Ascend, flagc's pipeline / the vendor's", ascend_lowerings(rounds), "x", 1.0),
            ("second run, cuda:sm90", second_run("cuda:sm90", 4), "s", 0.25),
            ("second run, ascend:910B3", second_run("ascend:910B3", 4), "s", 0.25),
        ]
    table = Table(
        title=f"triton {triton.__version__}, {platform.processor() or platform.machine()}"
        f", {os.cpu_count()} cores, {rounds} rounds"
    )
    for column in ("what", "median [quartiles]", "unit", "bar", "met"):
        table.add_column(column)
    met = True
    for name, values, unit, bar in rows:
        good = statistics.median(values) <= bar
        met &= good
        table.add_row(name, show(values), unit, f"{bar:g}", "yes" if good else "NO")
    Console(width=120).print(table)
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
