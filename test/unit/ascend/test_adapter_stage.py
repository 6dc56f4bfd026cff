"""Stage linalg: what the vendor's adapter makes of TTIR."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from flagc.targets.ascend.adapter_stage import ttir_to_linalg, ttir_to_linalg_with_mode
from flagc.targets.ascend.vendor_process import VendorError

Text = Callable[[str], str]


def test_mix_mode_is_returned_and_not_in_the_text(ttir: Text) -> None:
    # bishengir-compile works out the core kind itself; the adapter calls a plain GEMM "mix".
    text, mode = ttir_to_linalg_with_mode(ttir("vector_add"))
    assert mode == "aiv"
    assert "mix_mode" not in text
    assert 'parallel_mode = "simd"' in text


def test_kernel_lines_survive(linalg: Text) -> None:
    matmul = next(line for line in linalg("gemm").splitlines() if "linalg.matmul" in line)
    alias = matmul.rpartition("loc(")[2].rstrip(")")
    assert any(
        line.startswith(f"{alias} = ") and '"acc"' in line for line in linalg("gemm").splitlines()
    )
    assert '"kernels.py":47:' in linalg("gemm")


def test_op_that_the_adapter_leaves_is_refused_with_its_line(ttir: Text) -> None:
    with pytest.raises(VendorError) as caught:
        ttir_to_linalg(ttir("log_gamma"), "910B3")
    (found,) = caught.value.diagnostics
    assert (found.file, found.line) == ("kernels.py", 228)
    assert "'tt.extern_elementwise' op (__nv_lgammaf)" in found.text


@pytest.mark.parametrize("text", ["", "not mlir", "module {\n  tt.func @f("])
def test_bad_input_is_an_error_not_a_crash(text: str) -> None:
    if not text:
        # MLIR takes an empty file for an empty module.
        assert "func" not in ttir_to_linalg(text, "910B3")
        return
    with pytest.raises(VendorError) as caught:
        ttir_to_linalg(text, "910B3")
    assert caught.value.kind == "error"
    assert caught.value.diagnostics[0].line > 0
