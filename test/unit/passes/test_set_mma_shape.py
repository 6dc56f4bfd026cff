"""`set-mma-shape` on real kernels: the instruction changes, or the request is refused."""

import pytest
from compiling import aligned_gemm, compile_source, compiled, messages

from flagc.pipeline.diagnostics import PassFailure

ANCHORED = "ttgir@after(accelerate_matmul):set-mma-shape{{n={}}}"


@pytest.mark.parametrize("n", [8, 16, 32, 64])
def test_every_legal_width_reaches_the_ptx(n):
    result = compile_source(*aligned_gemm(), ANCHORED.format(n))
    assert messages(result) == []
    ptx = result.artifact("ptx").content
    assert f"wgmma.mma_async.sync.aligned.m64n{n}k16" in ptx
    assert "m64n128k16" not in ptx


def test_the_width_it_has():
    result = compile_source(*aligned_gemm(), ANCHORED.format(128))
    assert messages(result) == ["the instruction's N is 128 already"]
    assert result.artifact("ptx").content == compile_source(*aligned_gemm()).artifact("ptx").content


@pytest.mark.parametrize(
    ("n", "reason"),
    [
        (17, "wgmma's N must be a multiple of 8 from 8 to 256"),
        (0, "wgmma's N must be a multiple of 8"),
        (512, "wgmma's N must be a multiple of 8"),
        (24, "the dot's N per column of warps is 128, no multiple"),
        (256, "the dot's N per column of warps is 128, no multiple"),
    ],
)
def test_an_illegal_width_is_refused(n, reason):
    with pytest.raises(PassFailure) as caught:
        compile_source(*aligned_gemm(), ANCHORED.format(n))
    message = str(caught.value)
    assert f"n={n} is illegal: {reason}" in message
    assert "legal here: 8, 16, 32, 64, 128" in message
    assert "bridge_kernels.py:" in message


def test_attention_with_two_dots():
    result = compiled("attention", ANCHORED.format(32))
    assert messages(result) == []
    assert "m64n32k16" in result.artifact("ptx").content


def test_mma_sync_has_no_choice():
    with pytest.raises(PassFailure, match=r"n=16 is illegal: mma\.sync.*legal here: 8"):
        compiled("gemm", ANCHORED.format(16), chip="sm80")


@pytest.mark.parametrize(("name", "chip"), [("vector_add", "sm90"), ("gemm", "sm100")])
def test_kernels_without_wgmma_are_left_alone(name, chip):
    result = compiled(name, ANCHORED.format(64), chip=chip, stop_after="ttgir")
    assert "not applied: no dot has an #ttg.nvidia_mma result here" in messages(result)[0]


def test_at_the_end_of_the_stage():
    result = compile_source(*aligned_gemm(), "set-mma-shape{n=64}")
    assert "m64n64k16" in result.artifact("ptx").content
