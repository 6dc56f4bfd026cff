"""`drop-proven-masks` and `peel-k-tail`: kernels compute the same, bit for bit."""

import numpy as np
import pytest

from flagc.passes.ttir.drop_proven_masks import DropProvenMasks
from flagc.passes.ttir.peel_k_tail import PeelKTail
from support import ttir_interpreter
from support.lowering import lowered, python_file
from support.running import parsed, transformed

SIZES = [(3, 16, 5), (17, 20, 16), (16, 16, 31), (9, 33, 48), (5, 2, 1), (16, 16, 0)]
BLOCKS = {"BLOCK_M": 16, "BLOCK_N": 16, "BLOCK_K": 16}
STRIDES = {"stride_ak": 1, "stride_bn": 1, "stride_cn": 1}


def run_both(module, instance, arguments, grid):
    """Run a kernel before and after a pass; return what each wrote, and the module after."""
    before, after = ([np.copy(a) if isinstance(a, np.ndarray) else a for a in arguments]
                     for _ in range(2))  # fmt: skip
    ttir_interpreter.run(module, before, grid)
    changed, remarks = transformed(instance, module.text())
    ttir_interpreter.run(changed, after, grid)
    return before, after, changed, remarks


def matrices(m, n, k):
    random = np.random.default_rng()
    a, b = (random.standard_normal(shape).astype(np.float16) for shape in ((m, k), (k, n)))
    return a, b, np.full((m, n), 7, np.float16)


def gemm_arguments(m, n, k):
    return [*matrices(m, n, k), m, n, k, k, n, n]


def masked_loads(module):
    """Return, for each load in program order, whether it has a mask."""
    return [list(op.attributes["operandSegmentSizes"])[1] == 1 for op in module.walk("tt.load")]


@pytest.mark.parametrize("size", SIZES)
def test_peeled_gemm(size):
    kernel = python_file("examples/gemm.py").gemm_kernel
    module = lowered(kernel, "*fp16 *fp16 *fp16 i32 i32 i32 i32 i32 i32", {**BLOCKS, **STRIDES})
    grid = (-(-size[0] // 16), -(-size[1] // 16))
    before, after, changed, _ = run_both(module, PeelKTail(), gemm_arguments(*size), grid)
    np.testing.assert_array_equal(before[2], after[2])
    assert len(list(changed.walk("tt.dot"))) == 2
    assert len(list(changed.walk("scf.if"))) == 1


@pytest.mark.parametrize("size", SIZES)
def test_peeled_matmul_with_pointers_round_the_loop(size):
    """`depth < k - step * 16`, with rows and columns that wrap: no mask at all before the tail."""
    kernel = python_file("tools/bench/corpus/tutorials_matmul.py").matmul
    constants = {**BLOCKS, "GROUP_M": 2}
    module = lowered(kernel, "*fp16 *fp16 *fp16 i32 i32 i32 i32 i32 i32", constants)
    grid = (-(-size[0] // 16) * -(-size[1] // 16),)
    before, after, changed, _ = run_both(module, PeelKTail(), gemm_arguments(*size), grid)
    np.testing.assert_array_equal(before[2], after[2])
    assert masked_loads(changed) == [False, False, True, True]
    assert len(list(changed.walk("scf.if"))) == 1


@pytest.mark.parametrize("length", [1, 16, 21, 40])
def test_peeled_attention(length):
    """The mask of `tl.where` goes with those of the loads."""
    kernel = python_file("examples/attention.py").attention_kernel
    constants = {"BLOCK_M": 16, "BLOCK_N": 16, "HEAD": 16}
    module = lowered(kernel, "*fp16 *fp16 *fp16 *fp16 fp32 i32", constants)
    q, k, v = np.random.default_rng().standard_normal((3, 2, length, 16)).astype(np.float16)
    arguments = [q, k, v, np.zeros_like(q), 0.25, length]
    before, after, changed, _ = run_both(module, PeelKTail(), arguments, (-(-length // 16), 2))
    np.testing.assert_array_equal(before[3], after[3])
    (loop,) = changed.walk("scf.for")
    inside = [op for op in changed.walk("arith.select") if op.parent.operation == loop]
    assert inside == []


CAUSAL = """
tt.func public @causal(%p: !tt.ptr<i32>, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c4 = arith.constant 4 : i32
  %c8 = arith.constant 8 : i32
  %ones = arith.constant dense<1> : tensor<8x4xi32>
  %pid = tt.get_program_id x : i32
  %first = arith.muli %pid, %c8 : i32
  %lane8 = tt.make_range {end = 8 : i32, start = 0 : i32} : tensor<8xi32>
  %lane4 = tt.make_range {end = 4 : i32, start = 0 : i32} : tensor<4xi32>
  %firsts = tt.splat %first : i32 -> tensor<8xi32>
  %row = arith.addi %firsts, %lane8 : tensor<8xi32>
  %r = tt.expand_dims %row {axis = 1 : i32} : tensor<8xi32> -> tensor<8x1xi32>
  %rs = tt.broadcast %r : tensor<8x1xi32> -> tensor<8x4xi32>
  %ns = tt.splat %n : i32 -> tensor<8x4xi32>
  %rn = arith.muli %rs, %ns : tensor<8x4xi32>
  %ps = tt.splat %p : !tt.ptr<i32> -> tensor<8x4x!tt.ptr<i32>>
  scf.for %i = %c0 to %n step %c4 : i32 {
    %is = tt.splat %i : i32 -> tensor<4xi32>
    %column = arith.addi %is, %lane4 : tensor<4xi32>
    %c = tt.expand_dims %column {axis = 0 : i32} : tensor<4xi32> -> tensor<1x4xi32>
    %cs = tt.broadcast %c : tensor<1x4xi32> -> tensor<8x4xi32>
    %low = arith.cmpi sge, %rs, %cs : tensor<8x4xi32>
    %row_in = arith.cmpi slt, %rs, %ns : tensor<8x4xi32>
    %column_in = arith.cmpi slt, %cs, %ns : tensor<8x4xi32>
    %m1 = arith.andi %low, %row_in : tensor<8x4xi1>
    %mask = arith.andi %m1, %column_in : tensor<8x4xi1>
    %at = arith.addi %rn, %cs : tensor<8x4xi32>
    %q = tt.addptr %ps, %at : tensor<8x4x!tt.ptr<i32>>, tensor<8x4xi32>
    tt.store %q, %ones, %mask : tensor<8x4x!tt.ptr<i32>>
  }
  tt.return
}
"""


@pytest.mark.parametrize("n", [1, 3, 4, 8, 13, 24])
def test_causal_mask_and_bound_together(n):
    """Whichever of the two ends first; the diagonal's blocks are several, so the rest is a loop."""
    module = parsed(CAUSAL)
    _, after, changed, _ = run_both(
        module, PeelKTail(), [np.zeros((n, n), np.int32), n], (-(-n // 8),)
    )
    np.testing.assert_array_equal(after[0], np.tril(np.ones((n, n), np.int32)))
    assert len(list(changed.walk("scf.for"))) == 2
    first = next(changed.walk("tt.store"))
    (term,) = [
        op for op in changed.walk("arith.cmpi") if op.parent.operation == first.parent.operation
    ]
    assert term.attributes["predicate"].value == 2


@pytest.mark.parametrize("size", [(16, 16, 32), (13, 18, 48)])
def test_sizes_known_at_compile_time(size):
    """K is a multiple of the step, so only rows and columns are masked, where they need to be."""
    kernel = python_file("examples/gemm.py").gemm_kernel
    m, n, k = size
    known = {"M": m, "N": n, "K": k}
    module = lowered(kernel, "*fp16 *fp16 *fp16 i32 i32 i32", {**BLOCKS, **STRIDES, **known})
    arguments = [*matrices(m, n, k), k, n, n]
    grid = (-(-m // 16), -(-n // 16))
    promise = DropProvenMasks(grid_x=grid[0], grid_y=grid[1])
    before, after, changed, _ = run_both(module, promise, arguments, grid)
    np.testing.assert_array_equal(before[2], after[2])
    assert masked_loads(changed) == [m % 16 != 0, n % 16 != 0]
    (store,) = changed.walk("tt.store")
    assert (len(store.operands) > 2) == (m % 16 != 0 or n % 16 != 0)


def test_specialised_sizes():
    """What the specialisation says (16 divides all sizes) is enough for blocks of 16."""
    kernel = python_file("tools/bench/corpus/tutorials_matmul.py").matmul
    types = "*fp16:16 *fp16:16 *fp16:16 i32:16 i32:16 i32:16 i32:16 i32:16 i32:16"
    module = lowered(kernel, types, {**BLOCKS, "GROUP_M": 2})
    before, after, changed, remarks = run_both(
        module, DropProvenMasks(), gemm_arguments(32, 48, 32), (6,)
    )
    np.testing.assert_array_equal(before[2], after[2])
    assert masked_loads(changed) == [False, False]
    assert remarks == []
