"""Stage object, with a stand-in for CANN's hivmc."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import llvmlite.binding as llvm
import pytest

from flagc.targets.ascend.errors import ToolchainError
from flagc.targets.ascend.hivm_object import compile_object
from flagc.targets.ascend.vendor_process import VendorError
from support.staged_gemm import StagedGemm
from support.staged_running import final_text

Text = Callable[[str], str]


def stand_in(folder: Path, body: str) -> None:
    tool = folder / "hivmc"
    tool.write_text(f"#!/bin/sh\n{body}\n")
    tool.chmod(0o755)


@pytest.fixture
def bin_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    return tmp_path


def test_object_of_the_final_module(bin_folder: Path, final: Text) -> None:
    stand_in(
        bin_folder, 'while [ "$1" != -o ]; do [ -f "$1" ] && in=$1; shift; done; cp "$in" "$2"'
    )
    made = compile_object(final("vector_add"), "910B3").decode()
    assert "func.func @vector_add" in made
    assert "hacc.hivmc_version" not in made


def test_our_device_functions_are_linked(bin_folder: Path) -> None:
    """The stand-in gives back the bitcode it is told to link."""
    stand_in(
        bin_folder,
        'for word; do case "$word" in --link-aicore-bitcode=*) code=${word#*=};; esac; done\n'
        'while [ "$1" != -o ]; do shift; done; cp "$code" "$2"',
    )
    code = compile_object(final_text(StagedGemm().text()), "910B3")
    module = llvm.parse_bitcode(code, llvm.create_context())
    names = {function.name for function in module.functions}
    assert {"_mlir_ciface_flagc_mad_f16", "llvm.hivm.MAD.f162f32"} <= names
    assert not [name for name in names if name.startswith("hivm.")]
    assert module.triple == "hiipu64-hisilicon-cce"


def test_without_hivmc_it_says_cann(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    with pytest.raises(ToolchainError, match="needs hivmc of Huawei's CANN"):
        compile_object("module {}", "910B3")


def test_failure_of_hivmc_is_a_vendor_error(bin_folder: Path) -> None:
    stand_in(bin_folder, "echo 'k.py:3:1: error: bad' >&2; exit 1")
    with pytest.raises(VendorError, match="hivmc failed: bad"):
        compile_object("module {}", "910B3")


def test_hivmc_that_writes_nothing_is_a_vendor_error(bin_folder: Path) -> None:
    stand_in(bin_folder, "exit 0")
    with pytest.raises(VendorError, match="wrote no object"):
        compile_object("module {}", "910B3")
