"""Test-wide settings: caches of their own, random seeds, `--slow`, the checkout on the path."""

import random
import secrets
import sys
import zlib
from pathlib import Path

import numpy as np
import pytest
import torch

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "test"))
SEED = pytest.StashKey[int]()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--slow", action="store_true", help="run long corpora too")
    parser.addoption(
        "--seed", type=int, help="seed of the tests' random inputs (default: another each run)"
    )
    parser.addoption("--fuzz", type=int, default=500, help="number of fuzz cases (test/fuzz)")
    parser.addoption("--fuzz-case", help="repeat one, e.g. gemm/17/3; needs the --seed it had")


def pytest_configure(config: pytest.Config) -> None:
    seed = config.getoption("--seed")
    given: dict = getattr(config, "workerinput", {})  # what pytest-xdist hands to its workers
    config.stash[SEED] = given.get("seed", secrets.randbits(32) if seed is None else seed)


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node) -> None:
    node.workerinput["seed"] = node.config.stash[SEED]


def pytest_report_header(config: pytest.Config) -> str:
    return f"random inputs: --seed {config.stash[SEED]}"


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    if terminalreporter.stats.get("failed"):
        terminalreporter.write_line(f"repeat with --seed {config.stash[SEED]}")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--slow"):
        return
    skip = pytest.mark.skip(reason="long corpus; runs with --slow")
    for item in items:
        if "slow" in item.keywords:
            item.add_marker(skip)


@pytest.fixture(autouse=True)
def own_caches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Give every test empty compile caches; outside tools stay where they are."""
    monkeypatch.setenv("FLAGC_CACHE_DIR", str(tmp_path / "flagc-cache"))
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path / "triton-cache"))
    monkeypatch.setenv("TRITON_DEFAULT_FP_FUSION", "1")


@pytest.fixture(autouse=True)
def seeded(request: pytest.FixtureRequest) -> int:
    """Seed the generators from `--seed` and the test's name, so that one test can be repeated."""
    name = request.node.nodeid.encode()
    seed = zlib.crc32(name, request.config.stash[SEED] & 0xFFFFFFFF)
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)
    return seed


@pytest.fixture
def base_seed(request: pytest.FixtureRequest) -> int:
    """What `--seed` gives or the header says."""
    return request.config.stash[SEED]


@pytest.fixture
def gemm_script() -> Path:
    return ROOT / "examples" / "gemm.py"
