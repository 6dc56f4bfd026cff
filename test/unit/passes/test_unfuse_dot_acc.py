"""`unfuse-dot-acc` on real kernels."""

import pytest
from compiling import aligned_gemm, compile_source, compiled, messages


@pytest.mark.parametrize("name", ["int8_gemm", "attention", "descriptor_gemm"])
def test_kernels_compile(name):
    result = compiled(name, "unfuse-dot-acc")
    assert sum(result.findings.statistics.values()) >= 1
    assert result.artifact("ptx").content != compiled(name).artifact("ptx").content


def test_the_sum_is_an_addition_of_its_own():
    """128x128 sums by 4 warps: each of 128 threads adds 128 numbers."""
    result = compile_source(*aligned_gemm(), "unfuse-dot-acc")
    assert messages(result) == []
    plain = compile_source(*aligned_gemm()).artifact("ptx").content
    added = result.artifact("ptx").content
    assert plain.count("add.rn.f32") + plain.count("add.f32") == 0
    assert added.count("add.rn.f32") + added.count("add.f32") >= 128
    assert added.count("wgmma.mma_async") == plain.count("wgmma.mma_async")
