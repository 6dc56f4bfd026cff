"""`swizzle-program-ids` on real kernels."""

import pytest
from compiling import compiled, messages


@pytest.mark.parametrize("name", ["gemm", "descriptor_gemm"])
def test_two_axis_gemm_compiles(name):
    plain = compiled(name)
    result = compiled(name, "swizzle-program-ids{group-m=4}")
    assert messages(result) == []
    assert result.findings.statistics == {"ttir:swizzle-program-ids:kernels swizzled": 1}
    assert "arith.minsi" in result.artifact("ttir").content
    ptx = result.artifact("ptx").content
    assert "%nctaid.x" in ptx
    assert ptx.count("wgmma.mma_async") == plain.artifact("ptx").content.count("wgmma.mma_async")


@pytest.mark.parametrize("name", ["softmax", "vector_add"])
def test_kernels_without_tiles_are_left_alone(name):
    result = compiled(name, "swizzle-program-ids")
    assert "not applied" in messages(result)[0]
    assert result.artifact("ptx").content == compiled(name).artifact("ptx").content
