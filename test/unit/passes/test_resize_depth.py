"""`resize-depth`: the same sums, in steps of another length."""

import pytest
from compiling import aligned_gemm, compile_source

from flagc.passes.ttir.descriptors_to_pointers import DescriptorsToPointers
from flagc.passes.ttir.loads_to_descriptors import LoadsToDescriptors
from flagc.passes.ttir.peel_k_tail import PeelKTail
from flagc.passes.ttir.resize_depth import ResizeDepth
from flagc.passes.ttir.resize_tiles import ResizeTiles
from support import templates
from support.lowering import lowered
from support.planned import assert_same_gemm, whole_numbers
from support.running import transformed

BLOCKS = {"BLOCK_M": 16, "BLOCK_N": 16, "BLOCK_K": 32}
PIPELINES = [
    (ResizeDepth(size=16),),
    (ResizeDepth(size=64),),
    (ResizeTiles(x=32, y=16), ResizeDepth(size=64), PeelKTail()),
    (ResizeDepth(size=64), LoadsToDescriptors(stores=False), DescriptorsToPointers()),
]


@pytest.mark.parametrize("size", [(17, 20, 16), (9, 30, 97), (16, 16, 0)])
@pytest.mark.parametrize("passes", PIPELINES)
def test_gemm(size, passes):
    assert_same_gemm(passes, size, whole_numbers, depth=32)


def test_a_gemm_with_an_epilogue():
    import triton.language as tl

    options = {"EPILOGUE": "gelu", "PRECISION": "ieee", "SUM": tl.float32}
    constants = {**BLOCKS, **options, "bias": None, "residual": None, "sak": 1, "sbn": 1, "scn": 1}
    module = lowered(templates.gemm, "*fp16 *fp16 *fp16 i32 i32 i32 i32 i32 i32", constants)
    changed, said = transformed(ResizeDepth(size=64), module.text())
    assert said == []
    (dot,) = changed.walk("tt.dot")
    assert [str(operand.type) for operand in list(dot.operands)[:2]] == [
        "tensor<16x64xf16>",
        "tensor<64x16xf16>",
    ]


def test_it_compiles():
    result = compile_source(*aligned_gemm(), "resize-depth{size=128}", stop_after="cubin")
    loads = result.artifact("ttgir").content
    assert "tensor<128x128xf16" in loads
    assert "wgmma" in result.artifact("ptx").content
