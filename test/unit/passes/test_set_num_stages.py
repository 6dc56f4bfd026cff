"""`set-num-stages` decides how much shared memory the pipelined loop takes."""

import pytest
from compiling import aligned_gemm, compile_source, compiled, messages


@pytest.mark.parametrize("stages", [2, 3, 4, 6])
def test_shared_memory_follows(stages):
    """A stage holds 128x64 of A and 64x128 of B, 2 bytes each: 32768 bytes."""
    result = compile_source(*aligned_gemm(), f"set-num-stages{{n={stages}}}")
    assert messages(result) == []
    assert f"tt.num_stages = {stages} : i32" in result.artifact("ttir").content
    assert result.metadata["shared"] == 32768 * stages


def test_one_stage_is_no_pipeline():
    result = compile_source(*aligned_gemm(), "set-num-stages{n=2}")
    assert "cp.async" in result.artifact("ptx").content
    result = compile_source(*aligned_gemm(), "set-num-stages{n=1}")
    assert "cp.async" not in result.artifact("ptx").content
    assert result.metadata["shared"] == 32768


def test_a_kernel_without_loops():
    result = compiled("vector_add", "set-num-stages", stop_after="ttir")
    assert messages(result) == ["not set: the kernel has no loop with a counter (scf.for)"]
