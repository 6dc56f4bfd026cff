"""`specialise-arguments`: one kernel for each set of sizes, in recorded launches and JIT ones."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
import torch
import triton
import triton.language as tl
from compiling import compile_source, messages
from triton.runtime.driver import driver
from triton.runtime.jit import JITFunction

import flagc
from flagc.frontend import argument_notes
from flagc.frontend.launch import Launch
from flagc.frontend.recorder import LaunchRecorder, RecordingDriver, recording
from flagc.passes.ttir.specialise_arguments import SpecialiseArguments
from flagc.pipeline.loading import load_installed_passes
from flagc.pipeline.pipeline_text import parse_pipeline
from flagc.targets.registry import target_by_name
from support.lowering import python_file
from support.running import assert_same, parsed
from support.ttir_interpreter import run as interpret

TARGET = target_by_name("cuda:sm90")


@triton.jit
def rows_kernel(p, stride, n, big, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(p + tl.program_id(0) * stride + at, (at + big).to(tl.int32), mask=at < n)


@triton.jit(do_not_specialize=["n"])
def unspecialised_kernel(p, n):
    tl.store(p, n)


def recorded(passes: str, *calls: tuple[object, ...], kernel=rows_kernel, **named) -> list[Launch]:
    load_installed_passes()
    recorder = LaunchRecorder(TARGET, passes=parse_pipeline(passes))
    with recording(recorder):
        for values in calls:
            kernel[(4,)](*values, **named)
    return recorder.launches


def notes(launch: Launch) -> dict[str, dict[str, int]]:
    names = launch.source.function.arg_names
    return {names[path[0]]: dict(found) for path, found in launch.source.attributes.items()}


def test_launches_with_other_values_are_other_kernels() -> None:
    tensor = torch.zeros(64, dtype=torch.int32)
    calls = [(tensor, 1000, n, 3) for n in (9, 25, 9)]
    (plain,) = recorded("", *calls, BLOCK=16)
    assert len(plain.grids) == 3
    first, second = recorded("specialise-arguments", *calls, BLOCK=16)
    assert (len(first.grids), len(second.grids)) == (2, 1)
    assert first.describe()["values"] == {"stride": 1000, "n": 9, "big": 3}
    assert notes(second)["n"] == {"flagc.value": 25}
    assert first.source.key() != second.source.key()


def test_divisors_are_told_apart_only_as_far_as_they_matter() -> None:
    tensor = torch.zeros(64, dtype=torch.int32)
    calls = [(tensor, stride, n, 0) for stride, n in ((1000, 48), (936, 80), (1024, 48), (96, 48))]
    kernels = recorded("specialise-arguments{to=divisors largest=64}", *calls, BLOCK=16)
    found = [(notes(kernel)["stride"], notes(kernel)["n"]) for kernel in kernels]
    divisible = [tuple(note["tt.divisibility"] for note in pair) for pair in found]
    assert divisible == [(8, 16), (64, 16), (32, 16)]
    first, passes = kernels[0], "specialise-arguments{to=divisors}"
    result = compile_source(first.source, first.options, passes, stop_after="ttir")
    assert messages(result) == []
    assert "i32 {tt.divisibility = 8 : i32}" in result.artifact("ttir").content


def test_what_triton_shall_not_specialise_is_left_alone() -> None:
    tensor = torch.zeros(64, dtype=torch.int32)
    for value in (2**31, 2**40, -(2**31) - 1):
        (kernel,) = recorded("specialise-arguments", (tensor, 16, 9, value), BLOCK=16)
        assert "flagc.value" not in notes(kernel).get("big", {})
    calls = [(tensor, 5), (tensor, 7)]
    assert len(recorded("specialise-arguments", *calls, kernel=unspecialised_kernel)) == 1
    # 1 is a constexpr of the kernel by Triton's own means.
    (kernel,) = recorded("specialise-arguments", (tensor, 1, 1, True), BLOCK=16)
    assert "values" not in kernel.describe()


def test_the_numbers_are_those_of_the_arguments() -> None:
    text = """
    module { tt.func public @k(%p: !tt.ptr<i32>, %n: i32 {flagc.value = 5 : i32},
                               %m: i64 {flagc.value = -7 : i32}) {
      %c = arith.trunci %m : i64 to i32
      %s = arith.muli %n, %c : i32
      tt.store %p, %s : !tt.ptr<i32>
      tt.return
    } }"""
    (array, *_) = assert_same(SpecialiseArguments(), text, [np.zeros(4, np.int32), 5, -7])
    assert array.tolist() == [-35, 0, 0, 0]


def test_rows_of_1000_are_loaded_16_bytes_at_a_time() -> None:
    """Triton alone sees no alignment of 1000, and loads one number at a time, unpipelined."""
    kernel = python_file("examples/gemm.py").gemm_kernel
    a = torch.zeros(1000, 1000, dtype=torch.float16)
    values = (a, a, a, 1000, 1000, 1000, *(1000, 1) * 3)
    tiles = {"BLOCK_M": 128, "BLOCK_N": 128, "BLOCK_K": 64}
    for passes, wide in (("", False), ("specialise-arguments", True)):
        (launch,) = recorded(passes, values, kernel=kernel, **tiles)
        result = compile_source(launch.source, launch.options, passes)
        assert ("cp.async.cg.shared.global" in result.artifact("ptx").content) == wide
    passes = "specialise-arguments,loads-to-descriptors"
    (launch,) = recorded(passes, values, kernel=kernel, **tiles)
    result = compile_source(launch.source, launch.options, passes)
    assert messages(result) == []
    assert "cp.async.bulk.tensor" in result.artifact("ptx").content


@pytest.fixture
def compile_only_driver(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(driver, "_active", RecordingDriver(TARGET, executing=False))
    yield
    flagc.uninstall()
    rows_kernel.device_caches.clear()


def compiled_ahead(n: int) -> str:
    kernel = rows_kernel.warmup(torch.int32, 16, n, 3, BLOCK=16, grid=(4,))
    return str(kernel.asm["ttir"])


def test_jit_launches(compile_only_driver: None) -> None:
    original = JITFunction.run
    plain = compiled_ahead(9)
    with flagc.use_passes("specialise-arguments,drop-proven-masks", report=lambda *_: None):
        assert JITFunction.run is not original
        masked, whole = compiled_ahead(9), compiled_ahead(25)
        assert "dense<9>" in masked or "constant 9 " in masked
        with flagc.use_passes("specialise-arguments", report=lambda *_: None):
            assert compiled_ahead(9) != plain
        assert compiled_ahead(9) == masked
    assert "cmpi" in masked
    assert "cmpi" not in whole
    assert compiled_ahead(9) == compiled_ahead(25) == plain
    assert JITFunction.run is original
    assert argument_notes.notes_of(9) == []


def test_interpreted_kernels_agree_whatever_is_noted() -> None:
    tensor = torch.zeros(64, dtype=torch.int32)
    expected = np.zeros(64, np.int32)
    for row in range(4):
        expected[16 * row : 16 * row + 9] = np.arange(9) + 3
    for passes in ("", "specialise-arguments", "specialise-arguments{to=divisors}"):
        (launch,) = recorded(passes, (tensor, 16, 9, 3), BLOCK=16)
        result = compile_source(launch.source, launch.options, passes, stop_after="ttir")
        array = np.zeros(64, np.int32)
        interpret(parsed(result.artifact("ttir").content), [array, 16, 9, 3], (4,))
        np.testing.assert_array_equal(array, expected)
