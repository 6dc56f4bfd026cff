"""Run every lit test of this folder as one pytest test each."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

TEST_ROOT = Path(__file__).parent
SUFFIXES = {".mlir", ".ttir", ".ttgir", ".test"}


def lit_files() -> list[str]:
    files = (path for path in TEST_ROOT.rglob("*") if path.suffix in SUFFIXES)
    relative = (path.relative_to(TEST_ROOT) for path in files)
    return sorted(str(path) for path in relative if "inputs" not in path.parts)


@pytest.mark.parametrize("file", lit_files())
def test_lit(file: str) -> None:
    runner = [sys.executable, "-c", "from lit.main import main; main()", "-v"]
    finished = subprocess.run(
        [*runner, str(TEST_ROOT / file)], capture_output=True, text=True, check=False
    )
    assert finished.returncode == 0, finished.stdout + finished.stderr
    # lit also exits with 0 when it found or ran nothing.
    assert re.search(r"Passed *: 1\b", finished.stdout), finished.stdout
