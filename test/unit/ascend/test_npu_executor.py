"""The path to an NPU, with stand-ins for hivmc and CANN's runtime library; no NPU is here."""

from __future__ import annotations

import ctypes
import os
import struct
import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
import triton
import triton.language as tl

from flagc.errors import EnvironmentProblem, UsageError
from flagc.frontend.execution import Argument
from flagc.frontend.launch import Launch
from flagc.pipeline.compiler import compile_kernel
from flagc.pipeline.defaults import build_pipeline
from flagc.pipeline.loading import load_installed_passes
from flagc.pipeline.target import KernelSource
from flagc.targets.ascend import npu_executor
from flagc.targets.ascend.cann_runtime import CannRuntime, cann_runtime
from flagc.targets.ascend.npu_executor import NpuExecutor, pack, why_no_npu
from flagc.targets.ascend.target import AscendTarget

SOURCE = Path(__file__).with_name("cann_stand_in.c")


@triton.jit
def scale(x_ptr, out_ptr, n, factor, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < n, other=0.0)
    tl.store(out_ptr + offsets, x * factor, mask=offsets < n)


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Any:
    built = tmp_path_factory.mktemp("cann") / "libruntime.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-Wall", "-Werror", "-o", built, SOURCE], check=True)
    return ctypes.CDLL(str(built))


@pytest.fixture
def npu(library: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A machine on which hivmc copies its input, and launches land in `library`."""
    tool = tmp_path / "hivmc"
    tool.write_text(
        '#!/bin/sh\nwhile [ "$1" != -o ]; do [ -f "$1" ] && in=$1; shift; done; cp "$in" "$2"\n'
    )
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setattr(npu_executor, "cann_runtime", lambda: CannRuntime(library))
    stream = SimpleNamespace(npu_stream=0x5EA, synchronize=lambda: None)
    monkeypatch.setattr(torch, "npu", SimpleNamespace(current_stream=lambda: stream), raising=False)
    return library


def tensor(address: int, device: str = "npu") -> Any:
    return SimpleNamespace(device=SimpleNamespace(type=device), data_ptr=lambda: address)


def executor_and_launch() -> tuple[NpuExecutor, Launch]:
    load_installed_passes()
    types = {"x_ptr": "*fp32", "out_ptr": "*fp32", "n": "i32", "factor": "fp32"}
    source = KernelSource(scale, {**types, "BLOCK": "constexpr"}, {(4,): 128}, {})
    return NpuExecutor(AscendTarget("910B3"), (), compile_kernel), Launch(source, {})


def arguments(out: Any) -> list[Argument]:
    return [
        Argument("x_ptr", "*fp32", tensor(0x1000)),
        Argument("out_ptr", "*fp32", out),
        Argument("n", "i32", -3),
        Argument("factor", "fp32", 0.5),
    ]


def number(library: Any, name: str, kind: Any = ctypes.c_uint32) -> int:
    return int(kind.in_dll(library, name).value)


def test_a_launch_registers_the_object_and_packs_its_arguments(npu: Any) -> None:
    executor, launch = executor_and_launch()
    execution = executor.execute(launch, (5, 2, 1), arguments(tensor(0x2000)))
    assert execution.blocks == 10
    assert execution.device == "NPU (ascend:910B3)"
    assert (ctypes.c_char * 128).in_dll(npu, "seen_name").value == b"scale"
    assert number(npu, "seen_magic") == 0x41415246  # a vector kernel
    assert number(npu, "seen_first_byte", ctypes.c_ubyte) == ord("#")  # of the module's text
    assert number(npu, "seen_blocks") == 10
    assert number(npu, "seen_stream", ctypes.c_uint64) == 0x5EA
    stub, launched = (number(npu, name, ctypes.c_uint64) for name in ("seen_stub", "launched_stub"))
    assert stub == launched != 0
    size = number(npu, "seen_bytes")
    block = bytes((ctypes.c_ubyte * 1024).in_dll(npu, "seen_arguments"))[:size]
    # flags, lock, workspace; the kernel's own; the grid
    assert block == struct.pack("<QQQQQifiii", 0xF0F0, 0, 0, 0x1000, 0x2000, -3, 0.5, 5, 2, 1)


def test_a_planned_launch_has_the_plans_grid_and_hands_over_the_scripts(npu: Any) -> None:
    executor, launch = executor_and_launch()
    target = executor.target
    executor.passes = build_pipeline(target, "resize-tiles{x=512}", (), ())
    execution = executor.execute(launch, (5, 1, 1), arguments(tensor(0x2000)))
    assert execution.grid == (5, 1, 1)
    assert number(npu, "seen_blocks") == 2
    size = number(npu, "seen_bytes")
    block = bytes((ctypes.c_ubyte * 1024).in_dll(npu, "seen_arguments"))[:size]
    end = struct.pack("<ifiiiiii", -3, 0.5, 5, 1, 1, 2, 1, 1)
    assert block.endswith(end)


def test_a_kernel_of_fewer_blocks_is_told_the_scripts_grid(npu: Any) -> None:
    executor, launch = executor_and_launch()
    compile_ = executor.compile

    def limited(request: Any) -> Any:
        result = compile_(request)
        assert result.metadata["max_blocks"] is None
        result.metadata["max_blocks"] = 3
        return result

    executor.compile = limited
    assert executor.execute(launch, (5, 2, 1), arguments(tensor(0x2000))).blocks == 3
    assert number(npu, "seen_blocks") == 3
    size = number(npu, "seen_bytes")
    block = bytes((ctypes.c_ubyte * 1024).in_dll(npu, "seen_arguments"))[:size]
    assert block.endswith(struct.pack("<iii", 5, 2, 1))


def test_an_empty_grid_launches_nothing(npu: Any) -> None:
    executor, launch = executor_and_launch()
    ctypes.c_uint32.in_dll(npu, "seen_blocks").value = 99
    assert executor.execute(launch, (0, 1, 1), arguments(tensor(0x2000))).blocks == 0
    assert number(npu, "seen_blocks") == 99


def test_a_failing_runtime_call_is_named_with_its_status(npu: Any) -> None:
    executor, launch = executor_and_launch()
    status = ctypes.c_int.in_dll(npu, "launch_status")
    status.value = 0x7BC86
    try:
        with pytest.raises(EnvironmentProblem, match="rtKernelLaunch failed with status 0x7bc86"):
            executor.execute(launch, (1, 1, 1), arguments(tensor(0x2000)))
    finally:
        status.value = 0


def test_tensors_in_two_places_are_refused(npu: Any) -> None:
    executor, launch = executor_and_launch()
    with pytest.raises(UsageError, match=r"'out_ptr' is on .*; put all of them in one place"):
        executor.execute(launch, (1, 1, 1), arguments(tensor(0, "cpu")))


def test_fields_are_aligned_as_the_vendors_launcher_aligns_them() -> None:
    values = [("i8", -1), ("i16", 2), ("*fp16", 9), ("bf16", 1.5), ("i64", -7), ("i1", True)]
    assert pack(values) == struct.pack("<b3xh2xQf4xqi", -1, 2, 9, 1.5, -7, 1)


def test_without_cann_a_launch_says_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    assert why_no_npu() == "torch_npu is not installed"
    executor, launch = executor_and_launch()
    monkeypatch.setenv("PATH", "/nonexistent")
    with pytest.raises(EnvironmentProblem, match="cannot launch on an NPU: torch_npu is not"):
        executor.execute(launch, (1, 1, 1), arguments(tensor(0x2000)))
    with pytest.raises(EnvironmentProblem, match="needs CANN's libruntime"):
        cann_runtime()
