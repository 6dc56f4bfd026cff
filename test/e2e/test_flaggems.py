"""FlagGems' operators, called through their own wrappers, agree with torch on the emulator."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from e2e.commands import ROOT

# Of every family, calls of one kernel or two.
REPRESENTATIVE = (
    "silu_and_mul",
    "sum_dim 33x65 dim 1",
    "group_norm",
    "log_softmax 33x65 dim 1",
    "mv 33x65x17",
    "scaled_dot_product_attention_forward causal",
    "embedding",
    "cumsum 33x65 dim 1",
    "uniform_",
    "cross_entropy_loss sum",
)
FAMILIES = 10
# Operators that were right in every call (tools/bench/results).
RIGHT_OPERATORS = 80

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("flag_gems") is None,
    reason="needs FlagGems: pip install --no-deps flag_gems==5.0.2",
)


def run(tmp_path: Path, *options: str) -> tuple[str, list[dict[str, str]]]:
    """What the benchmark printed, and its outcomes."""
    results = tmp_path / "results.json"
    command = [sys.executable, str(ROOT / "tools/bench/flaggems.py"), "--json", str(results)]
    done = subprocess.run([*command, *options], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout, json.loads(results.read_text())["outcomes"]


@pytest.mark.timeout(900)
def test_operators_of_every_family(tmp_path: Path) -> None:
    _, outcomes = run(tmp_path, "--one-type", "--only", ",".join(REPRESENTATIVE))
    failed = [entry for entry in outcomes if entry["status"] != "right"]
    assert not failed
    assert len({entry["family"] for entry in outcomes}) == FAMILIES


@pytest.mark.slow
@pytest.mark.timeout(7200)
def test_all_operators(tmp_path: Path) -> None:
    printed, outcomes = run(tmp_path)
    assert Counter(entry["status"] for entry in outcomes)["wrong"] == 0
    *_, last = printed.strip().splitlines()
    assert int(last.split(" operators, ")[1].split()[0]) >= RIGHT_OPERATORS
