"""The microbenchmarks compile, are timed by the model, and their file can be read back."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from support.program_modules import modules_of

ROOT = Path(__file__).resolve().parents[3]
MICROBENCH = ROOT / "tools" / "aicore" / "microbench"


@pytest.fixture(scope="module")
def microbench() -> Any:
    with modules_of(MICROBENCH, "cases", "predict", "rows") as modules:
        yield modules


@pytest.mark.parametrize("group", ["vector", "rows", "copies", "gemm"])
def test_a_case_of_each_group_is_timed(microbench: Any, group: str) -> None:
    case = next(case for case in microbench["cases"].all_cases() if case.group == group)
    timing = microbench["predict"].predicted(case, "910B3")
    assert timing.microseconds > 0
    assert timing.blocks == case.grid[0] * (case.grid[1] if len(case.grid) > 1 else 1)


def test_names_are_unique(microbench: Any) -> None:
    names = [(case.group, case.name) for case in microbench["cases"].all_cases()]
    assert len(set(names)) == len(names)


def test_measurements_are_read_back_and_compared(microbench: Any, tmp_path: Path) -> None:
    rows = microbench["rows"]
    path = tmp_path / "rows.toml"
    written = [rows.Row("vector", "exp", 20.5, 'quartiles "1"', "910B3", 1800.0)]
    rows.write_rows(path, written)
    assert rows.read_rows(path) == written
    done = subprocess.run(
        [sys.executable, str(MICROBENCH), "compare", str(path)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "exp" in done.stdout
    assert "of 1 rows" in done.stdout
