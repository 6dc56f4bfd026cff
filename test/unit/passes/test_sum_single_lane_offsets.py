"""`sum-single-lane-offsets` loads the same element, by offsets of any width and sign."""

import numpy as np

from flagc.passes.ttir.sum_single_lane_offsets import SumSingleLaneOffsets
from support.running import assert_same

KERNEL = """
tt.func public @pick(%x: !tt.ptr<f32>, %out: !tt.ptr<f32>, %far: i64, %back: i32) {
  %pid = tt.get_program_id x : i32
  %a = tt.addptr %x, %far : !tt.ptr<f32>, i64
  %b = tt.addptr %a, %back : !tt.ptr<f32>, i32
  %bs = tt.splat %b : !tt.ptr<f32> -> tensor<1x!tt.ptr<f32>>
  %index = tt.splat %pid : i32 -> tensor<1xi32>
  %p = tt.addptr %bs, %index : tensor<1x!tt.ptr<f32>>, tensor<1xi32>
  %v = tt.load %p : tensor<1x!tt.ptr<f32>>
  %o = tt.addptr %out, %pid : !tt.ptr<f32>, i32
  %os = tt.splat %o : !tt.ptr<f32> -> tensor<1x!tt.ptr<f32>>
  tt.store %os, %v : tensor<1x!tt.ptr<f32>>
  tt.return
}
"""


def test_the_same_elements_are_loaded():
    x = np.arange(100, dtype=np.float32)
    arguments = [x, np.zeros(5, np.float32), 40, -7]
    after = assert_same(SumSingleLaneOffsets(), KERNEL, arguments, grid=(5,))
    np.testing.assert_array_equal(after[1], x[33:38])
