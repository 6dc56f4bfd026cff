"""The catalogue of wrong readings applies, and some of it is caught (all of it with --slow)."""

from __future__ import annotations

import subprocess
import sys

import pytest

from conftest import ROOT

FOLDER = ROOT / "tools" / "aicore" / "mutations"
sys.path.insert(0, str(FOLDER))

from catalogue import SOURCES, Mutation, load  # noqa: E402

MUTATIONS = load()


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.name)
def test_mutation_applies(mutation: Mutation) -> None:
    source = (SOURCES / mutation.file).read_text()
    assert mutation.apply(source) != source


def test_there_are_many_and_names_are_unique() -> None:
    assert len(MUTATIONS) >= 40
    assert len({mutation.name for mutation in MUTATIONS}) == len(MUTATIONS)


def run(*options: str) -> str:
    command = [sys.executable, FOLDER / "run.py", *options]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_a_sample_is_caught() -> None:
    assert "2 of 2 mutations caught" in run("--quick", "--only", "atomic-")


@pytest.mark.slow
def test_all_are_caught() -> None:
    assert f"{len(MUTATIONS)} of {len(MUTATIONS)} mutations caught" in run()
