"""Lowering passes left out, or replaced by a user's: right results, or one diagnostic."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from e2e.commands import EXAMPLES, flagc
from flagc.targets.ascend.lowerings import NEEDED_PASSES, STAGED_PASSES

OPTIONAL = [name for name in STAGED_PASSES if name not in NEEDED_PASSES]
GEMM = (EXAMPLES / "gemm.py", "--target", "ascend:910B3", "--pipeline", "flagc", "--run", "--check")

# What is said when a pass is missing that the others cannot do without.
MISSING = {
    "stage-loads": "stage-loads",
    "stage-dot-on-cube": "stage-dot-on-cube",
    "stage-store": "stage-store",
    "plan-memory": "run plan-memory",
    "insert-sync": "no flag orders the two",
}

USERS_PASS = '''
from dataclasses import dataclass

from flagc.pipeline.passes import Pass, lookup, register


@register
@dataclass(frozen=True)
class Mine(Pass):
    """Does what the built-in pass does, and counts."""

    name = "mine"
    level = "staged"

    def run(self, module, context):
        context.statistic("ran")
        lookup("{name}")().run(module, context)
'''


def document(stdout: str) -> dict:
    """Return what flagc told; before it stands what the script printed."""
    return json.loads(stdout[stdout.index("{") :])


def all_right(told: dict) -> bool:
    (launch,) = told["checked"]
    (output,) = launch["outputs"]
    return launch["mismatches"] == [] and output["used"] <= 1


@pytest.mark.parametrize("name", OPTIONAL)
def test_without_a_pass_that_makes_it_faster(name: str) -> None:
    done = flagc(*GEMM, "--without", name, "--format", "json")
    assert done.status == 0, done.stderr
    told = document(done.stdout)
    assert not any(f":{name}:" in key for key in told["kernels"][0]["statistics"])
    assert all_right(told)


@pytest.mark.parametrize("name", sorted(NEEDED_PASSES))
def test_without_a_pass_that_is_needed(name: str) -> None:
    done = flagc(*GEMM, "--without", name)
    assert done.status == 1
    (line,) = done.error_lines
    assert "gemm.py:" in line
    assert MISSING[name] in line


@pytest.mark.parametrize("name", STAGED_PASSES)
def test_a_users_version_of_a_pass(name: str, tmp_path: Path) -> None:
    load = tmp_path / "passes.py"
    load.write_text(USERS_PASS.replace("{name}", name))
    last = name == STAGED_PASSES[-1]
    at = STAGED_PASSES.index(name)
    place = f"after({STAGED_PASSES[at - 1]})" if last else f"before({STAGED_PASSES[at + 1]})"
    placed = f"staged@{place}:mine"
    arguments = ("--without", name, "--load", load, "--passes", placed, "--format", "json")
    done = flagc(*GEMM, *arguments)
    assert done.status == 0, done.stderr
    told = document(done.stdout)
    assert told["kernels"][0]["statistics"]["staged:mine:ran"] == 1
    assert all_right(told)
