"""Kernels of test/ascend/inputs, and their stages, computed once per session."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

INPUTS = Path(__file__).resolve().parents[2] / "ascend" / "inputs"
CHIP = "Ascend910B3"


@cache
def ttir_of(name: str) -> str:
    return (INPUTS / f"{name}.ttir").read_text()


@cache
def linalg_of(name: str) -> str:
    from flagc.targets.ascend.adapter_stage import ttir_to_linalg

    return ttir_to_linalg(ttir_of(name), CHIP)


@cache
def final_of(name: str) -> str:
    from flagc.targets.ascend.vendor_driver import compile_linalg

    return compile_linalg(linalg_of(name), CHIP).final


@pytest.fixture
def ttir() -> Callable[[str], str]:
    return ttir_of


@pytest.fixture
def linalg() -> Callable[[str], str]:
    return linalg_of


@pytest.fixture
def final() -> Callable[[str], str]:
    return final_of
