"""`split-k`: several programs share a tile; the last one finishes it, whichever that is."""

import itertools

import numpy as np
import pytest
import triton.language as tl
from compiling import aligned_gemm, compile_source

from flagc.ir.launch_arguments import plan_of
from flagc.passes.ttir.descriptors_to_pointers import DescriptorsToPointers
from flagc.passes.ttir.loads_to_descriptors import LoadsToDescriptors
from flagc.passes.ttir.peel_k_tail import PeelKTail
from flagc.passes.ttir.resize_tiles import ResizeTiles
from flagc.passes.ttir.split_k import SplitK
from support import templates, ttir_interpreter
from support.lowering import lowered
from support.planned import after, assert_same_gemm, launch, small_gemm, whole_numbers

BLOCKS = {"BLOCK_M": 16, "BLOCK_N": 16, "BLOCK_K": 16}
PIPELINES = [
    (SplitK(ways=2),),
    (SplitK(ways=5),),
    (ResizeTiles(y=32), PeelKTail(), SplitK(ways=3)),
    (LoadsToDescriptors(stores=False), SplitK(ways=3), DescriptorsToPointers()),
]


@pytest.mark.parametrize("size", [(17, 20, 16), (9, 50, 97), (16, 16, 0), (20, 20, 200)])
@pytest.mark.parametrize("passes", PIPELINES)
def test_gemm(size, passes):
    """Also with fewer iterations than programs, and none."""
    assert_same_gemm(passes, size, whole_numbers)


def test_the_sum_does_not_depend_on_who_is_last(monkeypatch):
    """Sums of random numbers, with the programs run in every order: the same bits."""
    module = after((SplitK(ways=3),), small_gemm())
    (function,) = module.functions()
    random = np.random.default_rng()
    a, b = random.standard_normal((2, 16, 48)).astype(np.float16)
    b = np.ascontiguousarray(b.T)
    results = []
    for order in itertools.permutations(range(3)):
        c = np.zeros((16, 16), np.float16)
        size, tiles = plan_of(function).memory((1, 1, 1))
        memory = [np.full(size // 4, np.nan, np.float32), np.zeros(tiles, np.int32)]
        arguments = [a, b, c, 16, 16, 48, 48, 16, 16, 1, 1, 1, *memory]
        with monkeypatch.context() as patch:
            programs = [(x, 0, 0) for x in order]
            patch.setattr(
                ttir_interpreter.itertools, "product", lambda *_, p=programs: [q[::-1] for q in p]
            )
            ttir_interpreter.run(module, arguments, (3, 1, 1))
        assert memory[1].tolist() == [0]
        results.append(c)
    for other in results[1:]:
        np.testing.assert_array_equal(results[0], other)
    np.testing.assert_allclose(results[0], a.astype(float) @ b.astype(float), rtol=2e-3, atol=2e-3)


def test_the_epilogue_runs_once():
    """Bias and GELU come after all parts, not on each."""
    options = {"EPILOGUE": "bias+relu", "PRECISION": "ieee", "SUM": tl.float32, "residual": None}
    constants = {**BLOCKS, **options, "sak": 1, "sbn": 1, "scn": 1}
    module = lowered(templates.gemm, "*fp16 *fp16 *fp32 *fp32 i32 i32 i32 i32 i32 i32", constants)
    changed = after((SplitK(ways=4),), module)
    random = np.random.default_rng()
    a, b = (random.integers(-8, 9, s).astype(np.float16) for s in ((16, 64), (64, 16)))
    bias = random.integers(-8, 9, 16).astype(np.float32)
    results = []
    for version in (module, changed):
        c = np.zeros((16, 16), np.float32)
        launch(version, [a, b, c, bias, 16, 16, 64, 64, 16, 16], (1, 1))
        results.append(c)
    np.testing.assert_array_equal(*results)


def test_it_compiles():
    passes = "resize-tiles{x=16,y=64},resize-depth{size=128},loads-to-descriptors,split-k{ways=8}"
    result = compile_source(*aligned_gemm(), passes, stop_after="cubin")
    plan = result.metadata["flagc_launch"]
    assert (plan["ways"], plan["workspace"]) == (8, 4 * 16 * 64)
    ptx = result.artifact("ptx").content
    assert "atom.global.gpu.acq_rel.add" in ptx
    # All threads have written their parts before one of them says so.
    before, _, _ = ptx.partition("atom.global.gpu.acq_rel.add")
    assert before.rindex("bar.sync") > before.rindex("st.global")
