"""`merge-mask-bounds` keeps every mask, whatever the bounds."""

import itertools

import numpy as np
import pytest

from flagc.passes.ttir.merge_mask_bounds import MergeMaskBounds
from support.running import assert_same

KERNEL = """
tt.func public @mark(%out: !tt.ptr<i32>, %a: i32, %b: i64, %c: i32, %d: i32) {
  %ones = arith.constant dense<1> : tensor<16xi32>
  %fours = arith.constant dense<4> : tensor<16xi64>
  %r = tt.make_range {end = 16 : i32, start = 0 : i32} : tensor<16xi32>
  %cs = tt.splat %c : i32 -> tensor<16xi32>
  %x = arith.addi %cs, %r : tensor<16xi32>
  %wide = arith.extsi %x : tensor<16xi32> to tensor<16xi64>
  %as = tt.splat %a : i32 -> tensor<16xi32>
  %bs = tt.splat %b : i64 -> tensor<16xi64>
  %ds = tt.splat %d : i32 -> tensor<16xi32>
  %0 = arith.cmpi FIRST, %x, %as : tensor<16xi32>
  %1 = arith.cmpi FIRST, %wide, %bs : tensor<16xi64>
  %2 = arith.cmpi SECOND, %fours, %wide : tensor<16xi64>
  %3 = arith.cmpi SECOND, %ds, %x : tensor<16xi32>
  %4 = arith.cmpi ne, %x, %ones : tensor<16xi32>
  %5 = arith.andi %0, %4 : tensor<16xi1>
  %6 = arith.andi %5, %2 : tensor<16xi1>
  %7 = arith.andi %1, %3 : tensor<16xi1>
  %8 = arith.andi %6, %7 : tensor<16xi1>
  %outs = tt.splat %out : !tt.ptr<i32> -> tensor<16x!tt.ptr<i32>>
  %at = tt.addptr %outs, %r : tensor<16x!tt.ptr<i32>>, tensor<16xi32>
  tt.store %at, %ones, %8 : tensor<16x!tt.ptr<i32>>
  tt.return
}
"""


@pytest.mark.parametrize(
    ("first", "second"), list(itertools.product(("slt", "sle", "sgt", "sge"), ("slt", "sge")))
)
def test_masks_are_kept(first, second):
    text = KERNEL.replace("FIRST", first).replace("SECOND", second)
    low = [-3, 0, 4, 9]
    for a, b, d in itertools.product([2, 7, 12], [2**40, 5, -(2**40)], low):
        assert_same(MergeMaskBounds(), text, [np.zeros(16, np.int32), a, b, -2, d])
