"""`insert-sync{unit-flag=true}`: M hands accumulators over exactly when FIX waits for them."""

import numpy as np
import pytest

from flagc.ir.staged.operations import staged_op
from support import ttir_interpreter
from support.lowering import python_file
from support.staged_interpreter import StagedProgram
from support.staging import PASSES, staged

TYPES = "*fp16 *fp16 *fp16 i32 i32 i32 i32 i32 i32"
STRIDES = {"stride_ak": 1, "stride_bn": 1, "stride_cn": 1}
BLOCKS = {"BLOCK_M": 32, "BLOCK_N": 16, "BLOCK_K": 16}
SYNC = ("multi-buffer", "plan-memory", "insert-sync{unit-flag=true}")


class HandedOver(StagedProgram):
    """Notes of each accumulator whether its last product came, and refuses what would hang."""

    stores = 0

    def do_mad(self, view, a, b, c, m, k, n, init, bias=None):
        flag = view.integer("unit_flag")
        if min(int(m), int(k), int(n)) > 0:
            assert not getattr(c, "handed_over", False), "a product after the last one"
            c.handed_over = flag == 3
        super().do_mad(view, a, b, c, m, k, n, init, bias)

    def do_fixpipe(self, view, source, base, offset, row_stride, m, n):
        is_waiting = view.integer("unit_flag") == 3
        if min(int(m), int(n)) > 0:
            assert getattr(source, "handed_over", False) == is_waiting
            source.handed_over = False
            type(self).stores += is_waiting
        super().do_fixpipe(view, source, base, offset, row_stride, m, n)


def gemm(*between, passes=PASSES, **blocks):
    kernel = python_file("examples/gemm.py").gemm_kernel
    return staged(kernel, TYPES, {**BLOCKS, **STRIDES, **blocks}, (*passes, *between, *SYNC))


def unit_flags(module, name):
    return [staged_op(op).integer("unit_flag") for op in module.walk(f"staged.{name}")]


@pytest.mark.parametrize("between", [(), ("pack-k{steps=2}",), ("pack-k{steps-a=4 steps-b=2}",)])
def test_the_last_product_is_known(between):
    module = gemm(*between)
    assert sorted(unit_flags(module, "mad")) == [0, 2, 3]
    assert sorted(unit_flags(module, "fixpipe")) == [0, 3]
    assert not any("FIX" in str(op) for op in module.walk("staged.set_flag"))
    HandedOver.stores = 0
    for m, n, k in [(32, 16, 16), (33, 17, 70), (5, 3, 128), (40, 16, 0)]:
        random = np.random.default_rng()
        a = random.integers(-4, 5, (m, max(k, 1))).astype(np.float16)
        b = random.integers(-4, 5, (max(k, 1), n)).astype(np.float16)
        c = np.full((m, n), 7, np.float16)
        grid = (-(-m // 32), -(-n // 16))
        arguments = [a, b, c, m, n, k, max(k, 1), n, n]
        ttir_interpreter.run(module, arguments, grid, HandedOver)
        np.testing.assert_array_equal(c, a[:, :k] @ b[:k])
    # Blocks of the first three shapes; without products FIX has nothing to wait for.
    assert HandedOver.stores == 1 + 4 + 1


def test_flags_where_the_last_product_may_be_empty():
    """A block of K takes several steps in L0, of which those beyond the end of K are empty."""
    module = gemm(BLOCK_M=128, BLOCK_N=128, BLOCK_K=256)
    assert set(unit_flags(module, "mad")) == {0}
    assert any("FIX" in str(op) for op in module.walk("staged.set_flag"))
