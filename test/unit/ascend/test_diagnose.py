"""Vendor failures as messages for kernel authors."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from flagc.targets.ascend.adapter_stage import ttir_to_linalg
from flagc.targets.ascend.diagnose import AscendDiagnosis, diagnose
from flagc.targets.ascend.failing_pass import find_hanging_pass
from flagc.targets.ascend.on_chip_buffers import power_of_two_below, scaled_block
from flagc.targets.ascend.vendor_driver import compile_linalg
from flagc.targets.ascend.vendor_process import VendorError

Text = Callable[[str], str]
CHIP = "Ascend910B3"


def diagnosis_of(ttir_text: str) -> AscendDiagnosis:
    """Compile up to the failure and diagnose it as the target does."""
    linalg = None
    try:
        linalg = ttir_to_linalg(ttir_text, CHIP)
        compile_linalg(linalg, CHIP)
    except VendorError as error:
        return diagnose(error, CHIP, linalg, ttir_text)
    raise AssertionError("compiled")


def test_l0c_overflow_names_the_tiles_that_fit(ttir: Text) -> None:
    found = diagnosis_of(ttir("gemm_l0c_overflow"))
    assert (found.kind, found.memory) == ("capacity", "L0C")
    assert (found.needed_bytes, found.available_bytes) == (262144, 131072)
    assert found.message.startswith(
        "L0C overflow: 256x256 fp32 accumulator needs 262144 bytes, 910B3 has 131072; largest "
        "legal tiles: BLOCK_M <= 128 with BLOCK_N = 256, or BLOCK_N <= 128 with BLOCK_M = 256"
    )
    assert found.file == "kernels.py"
    assert found.failing_pass == "hivm-plan-memory#2"


def test_l1_overflow_names_the_depth_that_fits(ttir: Text) -> None:
    found = diagnosis_of(ttir("gemm_l1_overflow"))
    assert found.memory == "L1"
    assert (found.needed_bytes, found.available_bytes) == (1048576, 524288)
    assert "128x2048 x f16 (524288 bytes) (kernels.py:38)" in found.message
    assert "largest legal BLOCK_K with these tiles: 1024 instead of 2048" in found.message


def test_ub_overflow_names_lines_elements_and_a_block_that_fits(ttir: Text) -> None:
    found = diagnosis_of(ttir("vector_add_ub_overflow"))
    assert found.memory == "UB"
    assert (found.needed_bytes, found.available_bytes) == (524288, 196608)
    assert "65536 x f32 (262144 bytes) (kernels.py:106)" in found.message
    assert "16384 elements instead of 65536" in found.hint
    assert (found.file, found.line) == ("kernels.py", 106)
    assert "bits" not in found.message


def test_the_named_block_compiles(ttir: Text) -> None:
    text = ttir("vector_add_ub_overflow").replace("65536", "16384")
    compile_linalg(ttir_to_linalg(text, CHIP), CHIP)


def test_unsupported_libdevice_function(ttir: Text) -> None:
    found = diagnosis_of(ttir("log_gamma"))
    assert found.kind == "unsupported"
    assert "__nv_lgammaf" in found.message and "libdevice-to-math" in found.hint
    assert found.line == 228


def test_parse_error_of_the_adapter_names_the_kernels_line(ttir: Text) -> None:
    found = diagnosis_of(ttir("assumed"))
    assert found.kind == "unsupported"
    assert (found.file, found.line) == ("kernels.py", 233)
    assert "drop-assume" in found.hint


def test_unsupported_cast_names_the_pass(ttir: Text) -> None:
    found = diagnosis_of(ttir("to_fp8"))
    assert found.kind == "unsupported"
    assert (found.file, found.line) == ("kernels.py", 243)
    assert found.failing_pass == "convert-hfusion-to-hivm"


def test_crash_of_the_adapter_names_the_load(ttir: Text) -> None:
    found = diagnosis_of(ttir("gather_without_other"))
    assert found.kind == "crash"
    assert "triton-adapter-opt crashed (SIGABRT)" in found.message
    assert "explicit-other" in found.hint
    assert (found.file, found.line) == ("kernels.py", 220)


def test_truncated_file_names_the_place_in_it(ttir: Text) -> None:
    found = diagnosis_of(ttir("gemm")[:600])
    assert found.kind == "error"
    assert "of the input)" in found.message


def test_timeout() -> None:
    found = diagnose(VendorError("bishengir-compile", "timeout", None, timeout=60.0), CHIP)
    assert found.kind == "timeout"
    assert found.message.startswith("bishengir-compile did not finish within 60 s")


@pytest.mark.parametrize(("limit", "power"), [(0.5, 0), (1, 1), (127.9, 64), (128, 128)])
def test_power_of_two_below(limit: float, power: int) -> None:
    assert power_of_two_below(limit) == power


def test_scaled_block_rounds_a_block_of_no_power_of_two_up_first() -> None:
    # 48000 fp32 elements, three buffers: 576000 bytes; a 16384 block needs 196608.
    assert scaled_block(48000, 576000, 196608) == 16384


def test_hanging_pass_is_named(ttir: Text) -> None:
    linalg = ttir_to_linalg(ttir("attention"), CHIP)
    # Far too short for the pipeline: it stands in one of the early passes.
    hanging = find_hanging_pass(linalg, CHIP, timeout=0.02)
    assert hanging is None or hanging.anchor
    assert find_hanging_pass(linalg, CHIP, timeout=30) is None
