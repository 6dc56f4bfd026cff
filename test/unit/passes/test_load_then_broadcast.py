"""`load-then-broadcast` loads what the kernel loads; an access outside the arrays would fail."""

import itertools

import numpy as np

from flagc.passes.ttir.load_then_broadcast import LoadThenBroadcast
from support.running import assert_same

# 4 rows by 8 columns of one row of `in`, under a mask on either.
KERNEL = """
tt.func public @repeat(%in: !tt.ptr<f32>, %out: !tt.ptr<f32>, %m: i32, %n: i32) {
  %none = arith.constant dense<-1.0> : tensor<4x8xf32>
  %eights = arith.constant dense<8> : tensor<4x1xi32>
  %r4 = tt.make_range {end = 4 : i32, start = 0 : i32} : tensor<4xi32>
  %r8 = tt.make_range {end = 8 : i32, start = 0 : i32} : tensor<8xi32>
  %i = tt.expand_dims %r4 {axis = 1 : i32} : tensor<4xi32> -> tensor<4x1xi32>
  %j = tt.expand_dims %r8 {axis = 0 : i32} : tensor<8xi32> -> tensor<1x8xi32>
  %ms = tt.splat %m : i32 -> tensor<4x1xi32>
  %ns = tt.splat %n : i32 -> tensor<1x8xi32>
  %rows = arith.cmpi slt, %i, %ms : tensor<4x1xi32>
  %columns = arith.cmpi slt, %j, %ns : tensor<1x8xi32>
  %rb = tt.broadcast %rows : tensor<4x1xi1> -> tensor<4x8xi1>
  %cb = tt.broadcast %columns : tensor<1x8xi1> -> tensor<4x8xi1>
  %mask = arith.andi %rb, %cb : tensor<4x8xi1>
  %ins = tt.splat %in : !tt.ptr<f32> -> tensor<1x8x!tt.ptr<f32>>
  %p = tt.addptr %ins, %j : tensor<1x8x!tt.ptr<f32>>, tensor<1x8xi32>
  %ps = tt.broadcast %p : tensor<1x8x!tt.ptr<f32>> -> tensor<4x8x!tt.ptr<f32>>
  %v = tt.load %ps, %mask, %none : tensor<4x8x!tt.ptr<f32>>
  %i8 = arith.muli %i, %eights : tensor<4x1xi32>
  %ib = tt.broadcast %i8 : tensor<4x1xi32> -> tensor<4x8xi32>
  %jb = tt.broadcast %j : tensor<1x8xi32> -> tensor<4x8xi32>
  %at = arith.addi %ib, %jb : tensor<4x8xi32>
  %outs = tt.splat %out : !tt.ptr<f32> -> tensor<4x8x!tt.ptr<f32>>
  %to = tt.addptr %outs, %at : tensor<4x8x!tt.ptr<f32>>, tensor<4x8xi32>
  tt.store %to, %v : tensor<4x8x!tt.ptr<f32>>
  tt.return
}
"""


def test_masks_on_rows_and_columns():
    for rows, columns in itertools.product((0, 1, 3, 4), (1, 5, 8)):
        given = np.arange(columns if rows else 1, dtype=np.float32)  # nothing else may be read
        out = np.zeros((4, 8), np.float32)
        assert_same(LoadThenBroadcast(), KERNEL, [given, out, rows, columns])
