"""`resize-tiles`: other tiles, the same elements, bit for bit."""

import numpy as np
import pytest
from compiling import aligned_gemm, compile_source

from flagc.ir.launch_plan import LaunchPlan
from flagc.passes.ttir.descriptors_to_pointers import DescriptorsToPointers
from flagc.passes.ttir.loads_to_descriptors import LoadsToDescriptors
from flagc.passes.ttir.make_persistent import MakePersistent
from flagc.passes.ttir.resize_tiles import ResizeTiles
from support.lowering import lowered, python_file
from support.planned import after, assert_same_gemm, launch, whole_numbers
from support.running import transformed

PIPELINES = [
    (ResizeTiles(y=32),),
    (ResizeTiles(x=64, y=32),),
    (ResizeTiles(x=32), MakePersistent(programs=2, group_m=2)),
    (ResizeTiles(y=32), LoadsToDescriptors(stores=False), DescriptorsToPointers()),
    (
        ResizeTiles(y=64),
        LoadsToDescriptors(stores=False),
        MakePersistent(programs=2),
        DescriptorsToPointers(),
    ),
]


# The grids leave elements of `c` out that a longer tile reaches.
@pytest.mark.parametrize(
    ("size", "grid"), [((17, 20, 16), (2, 2)), ((40, 90, 21), (2, 3)), ((60, 33, 0), (1, 1))]
)
@pytest.mark.parametrize("passes", PIPELINES)
def test_gemm(size, grid, passes):
    assert_same_gemm(passes, size, whole_numbers, grid=grid)


def test_smaller_tiles_of_a_vector_kernel():
    """Each of the script's programs becomes four; no mask is needed."""
    kernel = python_file("examples/vector_add.py").add_kernel
    module = lowered(kernel, "*fp32 *fp32 *fp32 i32", {"BLOCK": 64})
    changed = after((ResizeTiles(x=16),), module)
    assert len(list(changed.walk("arith.cmpi"))) == len(list(module.walk("arith.cmpi")))
    x, y = np.random.default_rng().standard_normal((2, 150)).astype(np.float32)
    results = []
    for version in (module, changed):
        out = np.zeros(150, np.float32)
        launch(version, [x, y, out, 150], (2,))
        results.append(out)
    np.testing.assert_array_equal(*results)
    assert results[1][127] and not results[1][128]


UNMASKED = """
tt.func public @twice(%x: !tt.ptr<i32>) {
  %c16 = arith.constant 16 : i32
  %two = arith.constant dense<2> : tensor<16xi32>
  %pid = tt.get_program_id y : i32
  %first = arith.muli %c16, %pid : i32
  %lanes = tt.make_range {start = 0 : i32, end = 16 : i32} : tensor<16xi32>
  %firsts = tt.splat %first : i32 -> tensor<16xi32>
  %at = arith.addi %lanes, %firsts : tensor<16xi32>
  %p = tt.splat %x : !tt.ptr<i32> -> tensor<16x!tt.ptr<i32>>
  %q = tt.addptr %p, %at : tensor<16x!tt.ptr<i32>>, tensor<16xi32>
  %v = tt.load %q : tensor<16x!tt.ptr<i32>>
  %w = arith.muli %v, %two : tensor<16xi32>
  tt.store %q, %w : tensor<16x!tt.ptr<i32>>
  tt.return
}
"""


@pytest.mark.parametrize("size", [4, 8, 32, 64])
def test_a_kernel_without_masks_stays_within_its_grid(size):
    """3 programs of 16 elements; the array ends there, and the interpreter sees what is beyond."""
    module = after((ResizeTiles(y=size),), transformed(ResizeTiles(), UNMASKED)[0])
    x = np.arange(48, dtype=np.int32)
    launch(module, [x], (1, 3))
    assert x.tolist() == list(range(0, 96, 2))


def test_it_compiles_to_a_persistent_kernel_of_large_tiles():
    passes = "resize-tiles{y=256},loads-to-descriptors,make-persistent{group-m=8}"
    source, options = aligned_gemm()
    result = compile_source(source, {**options, "num_warps": 8}, passes, stop_after="cubin")
    assert "wgmma.mma_async.sync.aligned.m64n256k16" in result.artifact("ptx").content
    plan = LaunchPlan(programs=132).with_block(1, 128, 256)
    assert LaunchPlan.of(result.metadata["flagc_launch"]) == plan
