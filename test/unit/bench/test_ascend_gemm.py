"""tools/bench/ascend_gemm.py: its table, what it times, and what it says is missing."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from e2e.commands import ROOT

sys.path.insert(0, str(ROOT / "tools" / "bench"))
import ascend_gemm
import ascend_gemm_cases
from ascend_gemm_cases import Missing, read_cases
from cuda_gemm_problems import Problem

SMALL = """
chips = ["910B3"]
dtypes = ["fp16", "bf16"]
library_tiles = [[64, 64, 64], [256, 256, 256]]
[variants.vendor]
pipeline = "vendor"
[variants.vendor-64]
pipeline = "vendor"
passes = "resize-tiles{x=64,y=64}"
[variants.flagc]
pipeline = "vendor"
passes = "resize-depth{size=128}"
[variants.unknown]
pipeline = "vendor"
passes = "no-such-pass"
[[groups]]
name = "small"
sizes = [[128, 144, 256], [16, 16, 16]]
vendor_tuned = ["vendor-64"]
tuned = ["unknown"]
[[published]]
sizes = [128, 144, 256]
dtype = "fp16"
chip = "910B3"
microseconds = 123.4
what = "a product"
source = "somewhere"
"""


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Path]:
    ascend_gemm_cases.what_is_wrong.cache_clear()
    table = tmp_path / "small.toml"
    table.write_text(SMALL)
    yield table
    ascend_gemm_cases.what_is_wrong.cache_clear()


def run(
    table: Path, monkeypatch: pytest.MonkeyPatch, *more: str
) -> tuple[int, list[dict[str, Any]]]:
    path = table.with_suffix(".json")
    arguments = ["ascend_gemm.py", "--table", str(table), "--json", str(path), *more]
    monkeypatch.setattr(sys, "argv", arguments)
    status = ascend_gemm.main()
    return status, json.loads(path.read_text())["rows"]


def test_all_columns_of_a_row(
    small: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    status, (row,) = run(small, monkeypatch, "--dtype", "fp16", "--shape", "128x144x256")
    assert status == 0
    columns = row["columns"]
    cycles = {
        column: {name: found.get("cycles") for name, found in candidates.items()}
        for column, candidates in columns.items()
    }
    assert row["limit_cycles"] == 8 * 9 * 16 / 20
    assert columns["a"]["vendor"]["blocks"] == 2
    assert columns["a*"]["vendor-64"]["blocks"] == 2 * 4  # of the script's 128x256
    assert columns["b"]["the library's"]["blocks"] == 2
    assert "no-such-pass" in columns["d"]["unknown"]["missing"]
    assert "do not fit" in columns["b*"]["256x256x256"]["missing"]
    assert row["best"]["d"] == "flagc"  # also of c
    ours = columns["c"]["flagc"]["microseconds"]
    assert row["d_over_a"] == pytest.approx(columns["a"]["vendor"]["microseconds"] / ours, rel=1e-3)
    best = min(c for c in cycles["b*"].values() if c)
    assert row["share_of_cube_limit"]["b*"] == pytest.approx(row["limit_cycles"] / best, rel=1e-3)
    shown = capsys.readouterr().out
    assert "123.4" in shown
    assert "missing: d unknown, gemm 128x144x256 fp16 on 910B3" in " ".join(shown.split())


def test_the_library_has_no_bf16(small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    status, (row,) = run(small, monkeypatch, "--dtype", "bf16", "--shape", "16x16x16")
    assert status == 0
    assert row["d_over_b"] is None
    assert row["d_over_a"] > 0
    assert row["columns"]["b"]["the library's"] == {
        "missing": "the library has whole products of fp16 and int8, not of bf16"
    }


def test_a_wrong_variant_has_no_time(
    small: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    right = Problem.expected
    monkeypatch.setattr(
        Problem, "expected", lambda self, values: {"c_ptr": right(self, values)["c_ptr"] + 1}
    )
    status, (row,) = run(small, monkeypatch, "--dtype", "fp16", "--shape", "16x16x16")
    assert status == 1
    assert row["columns"]["a"]["vendor"]["missing"].startswith("WRONG at 256x512x256")
    assert "WRONG" in capsys.readouterr().out


def test_the_kernel_writes_fp16_for_operands_of_any_type() -> None:
    problem = Problem("gemm", (64, 64, 64), "bf16")
    values = ascend_gemm_cases.arguments(problem)
    assert values["a_ptr"].dtype == torch.bfloat16
    assert values["c_ptr"].dtype == torch.float16


def test_the_table_that_is_shipped_names_its_variants() -> None:
    cases = read_cases(ascend_gemm_cases.TABLE)
    assert len(cases) == 2 * 2 * 9
    assert {case.vendor.pipeline for case in cases} == {"vendor"}
    assert {v.pipeline for case in cases for v in (case.flagc, *case.tuned)} == {"flagc"}
    assert {v.pipeline for case in cases for v in case.vendor_tuned} == {"vendor"}


def test_only_what_has_a_time_counts() -> None:
    measured = ascend_gemm_cases.Measured(read_cases(ascend_gemm_cases.TABLE)[0])
    measured.columns = {"a": {"vendor": Missing("why")}, "d": {}}
    assert measured.best("a") is None
    assert measured.ratio("d", "a") is None
    assert list(measured.missing()) == [("a", "vendor", "why")]
