"""tools/bench/cuda_gemm.py without a GPU: its table, its compilations, and a run on fakes."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from e2e.commands import ROOT
from flagc.bench.executor import verdict
from flagc.errors import KernelError
from flagc.frontend.execution import Argument
from flagc.targets.cuda.executor import CudaExecutor
from flagc.targets.registry import target_by_name
from unit.bench.test_benching import Clock

sys.path.insert(0, str(ROOT / "tools" / "bench"))
import cuda_gemm
import cuda_gemm_plan
import cuda_gemm_problems
import cuda_gemm_runner
from cuda_gemm_problems import Problem

TABLE = """
[variants.swizzle]
passes = "swizzle-program-ids{group-m=8}"
num_warps = 8
tile = [64, 64, 32]
[variants.unknown]
passes = "no-such-pass"
[[groups]]
name = "small"
family = "gemm"
dtypes = ["fp16"]
sizes = [[96, 80, 64], [95, 81, 63]]
neighbours = [[], [96, 80, 64]]
bar = 1.5
variants = ["swizzle", "unknown"]
"""


@pytest.fixture
def device(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """Launches multiply on the CPU: with passes in 1 ms, without in 2, torch in 3."""
    clock = Clock()

    def call(self: CudaExecutor, launch: Any, grid: Any, arguments: Sequence[Argument]) -> Any:
        self.image(launch)  # compiles, or finds what the workers compiled
        values = {argument.name: argument.value for argument in arguments}

        def run() -> None:
            clock.spend(1e-3 if self.passes else 2e-3)
            torch.matmul(values["a_ptr"], values["b_ptr"], out=values["c_ptr"])

        return run

    def library(values: Any) -> None:
        clock.spend(3e-3)
        torch.matmul(values["a_ptr"], values["b_ptr"], out=values["c_ptr"])

    monkeypatch.setattr(CudaExecutor, "call", call)
    monkeypatch.setattr(
        cuda_gemm_problems, "_random", lambda device, dtype, *shape: torch.randn(shape).to(dtype)
    )
    monkeypatch.setattr(
        cuda_gemm_problems,
        "_poisoned",
        lambda device, dtype, *shape: torch.full(shape, float("nan"), dtype=dtype),
    )
    family = cuda_gemm_problems._FAMILIES["gemm"]
    replaced = replace(family, baseline=library)
    monkeypatch.setitem(cuda_gemm_problems._FAMILIES, "gemm", replaced)
    return clock


def test_a_run(device: Clock, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = tmp_path / "rows.toml"
    table.write_text(TABLE)
    out = tmp_path / "out.json"
    options = cuda_gemm.parse(
        ["--table", str(table), "--json", str(out), "--seconds", "0.05", "--workers", "1"]
    )
    rows = cuda_gemm.chosen_rows(options)
    wrong = cuda_gemm.compile_rows(options, rows)
    assert "unknown pass 'no-such-pass'" in wrong[rows[0].problem, "unknown"]
    target = target_by_name(options.target)
    assert cuda_gemm.run_and_report(options, rows, wrong, target, lambda: device) == 0
    document = json.loads(out.read_text())
    first, second = document["rows"]
    assert first["best"] == "swizzle"
    assert set(first["candidates"]) == {"unpassed", "swizzle", "cuBLAS"}
    assert list(first["skipped"]) == ["unknown"]
    assert first["candidates"]["swizzle"]["faster_than_library"] == pytest.approx([3.0] * 3)
    assert first["candidates"]["swizzle"]["faster_than_unpassed"] == pytest.approx([2.0] * 3)
    assert first["candidates"]["swizzle"]["tflops"] == pytest.approx(2 * 96 * 80 * 64 / 1e-3 / 1e12)
    assert second["sizes"] == [95, 81, 63]
    shown = capsys.readouterr().out
    assert "gemm 95x81x63 fp16: 1.000 of the TFLOP/s at 96x80x64" not in shown
    assert "gemm 95x81x63 fp16: 0.98" in shown  # fewer operations in the same time
    assert "1.5" in shown


@pytest.mark.parametrize(
    ("what", "says"),
    [
        ("die", "faulted on the GPU"),
        ("fault", "faulted on the GPU"),
        ("hang", "did not finish within 6 s"),
    ],
)
def test_a_variant_that_takes_the_process_down_is_left_out(
    device: Clock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str, says: str
) -> None:
    table = tmp_path / "rows.toml"
    table.write_text(TABLE.replace("no-such-pass", "set-num-stages{n=2}"))
    real = CudaExecutor.call

    def lost() -> None:
        raise KernelError("a launch failed on the GPU")

    def call(self: CudaExecutor, *arguments: Any) -> Any:
        if any(placed.instance.name == "set-num-stages" for placed in self.passes):
            if what == "hang":
                time.sleep(60)
            if what == "fault":  # as after an illegal access: nothing works any more
                monkeypatch.setattr(device, "wait", lost)
                return lambda: None
            os._exit(1)
        return real(self, *arguments)

    monkeypatch.setattr(CudaExecutor, "call", call)
    rows = cuda_gemm_plan.read_rows(table)
    wrong = cuda_gemm_plan.compile_all("cuda:sm90", rows, 1)
    assert not any(wrong.values())
    target = target_by_name("cuda:sm90")
    found = list(cuda_gemm_runner.run_rows(rows, wrong, target, lambda: device, 0.02, silence=6.0))
    assert [type(entry).__name__ for entry in found] == ["Measured", "Measured"]
    for entry in found:
        assert says in entry.skipped["unknown"]
        assert set(entry.timings) == {"unpassed", "swizzle", "cuBLAS"}


def test_every_row_of_the_table_is_well_formed() -> None:
    rows = cuda_gemm_plan.read_rows(cuda_gemm_plan.TABLE)
    names = [row.problem.name for row in rows]
    assert len(set(names)) == len(names)
    assert len([row for row in rows if row.problem.family == "gemm"]) == 30
    for row in rows:
        assert row.variants
        grid, constants = row.problem.grid_and_constants(row.variants[0].tile)
        names = [*row.problem.values("meta"), *constants]
        assert sorted(names) == sorted(row.problem.kernel.arg_names)
        assert all(grid)


@pytest.mark.parametrize(
    ("family", "sizes", "dtype", "variant"),
    [
        ("fp8", (256, 128, 128), "fp8", "fp8-256-k128-s4"),
        ("gelu", (256, 128, 64), "fp16", "gelu-128-halves"),
        ("gemm-then-gelu", (256, 128, 64), "fp16", "fused-128-s4"),
        ("gemm-then-gelu", (100, 90, 64), "fp16", "two-kernels-256-s3"),
        ("attention", (2, 200, 64), "fp16", "attention-swizzle"),
        ("layernorm", (8, 1000), "fp16", "rows"),
        ("gemm", (96, 80, 64), "bf16", "small-tiles"),
    ],
)
def test_kernels_of_all_families_compile(
    family: str, sizes: tuple[int, ...], dtype: str, variant: str
) -> None:
    rows = cuda_gemm_plan.read_rows(cuda_gemm_plan.TABLE)
    variants = {v.name: v for row in rows for v in row.variants}
    problem = Problem(family, sizes, dtype)
    assert cuda_gemm_plan.compile_one("cuda:sm90", problem, variants[variant]) == ""


@pytest.mark.parametrize(
    ("family", "sizes"),
    [
        ("gelu", (48, 40, 32)),
        ("gemm-then-gelu", (48, 40, 32)),
        ("attention", (2, 50, 16)),
        ("layernorm", (8, 50)),
    ],
)
def test_baselines_do_what_the_references_say(
    family: str, sizes: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        cuda_gemm_problems, "_random", lambda device, dtype, *shape: torch.randn(shape).to(dtype)
    )
    problem = Problem(family, sizes, "fp16")
    values = problem.values("cpu")
    found = {**values, **(problem.baseline(values) or {})}
    assert verdict(found, problem.expected(values), problem.tolerance) == "right"
