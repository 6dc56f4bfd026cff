"""`every-second-as-column` stores the same elements to the same places."""

import numpy as np
import pytest

from flagc.passes.ttir.every_second_as_column import EverySecondAsColumn
from support.running import assert_same

KERNEL = """
tt.func public @conjugate(%a: !tt.ptr<f32>, %b: !tt.ptr<f32>, %out: !tt.ptr<f32>, %n: i32) {
  %eight = arith.constant 8 : i32
  %one = arith.constant dense<1> : tensor<8xi32>
  %two = arith.constant dense<2> : tensor<8xi32>
  %pid = tt.get_program_id x : i32
  %start = arith.muli %pid, %eight : i32
  %r = tt.make_range {end = 8 : i32, start = 0 : i32} : tensor<8xi32>
  %s = tt.splat %start : i32 -> tensor<8xi32>
  %x = arith.addi %s, %r : tensor<8xi32>
  %ns = tt.splat %n : i32 -> tensor<8xi32>
  %m = arith.cmpi slt, %x, %ns : tensor<8xi32>
  %as = tt.splat %a : !tt.ptr<f32> -> tensor<8x!tt.ptr<f32>>
  %bs = tt.splat %b : !tt.ptr<f32> -> tensor<8x!tt.ptr<f32>>
  %outs = tt.splat %out : !tt.ptr<f32> -> tensor<8x!tt.ptr<f32>>
  %ap = tt.addptr %as, %x : tensor<8x!tt.ptr<f32>>, tensor<8xi32>
  %bp = tt.addptr %bs, %x : tensor<8x!tt.ptr<f32>>, tensor<8xi32>
  %av = tt.load %ap, %m : tensor<8x!tt.ptr<f32>>
  %bv = tt.load %bp, %m : tensor<8x!tt.ptr<f32>>
  %minus = arith.negf %bv : tensor<8xf32>
  %even = arith.muli %two, %x : tensor<8xi32>
  %ep = tt.addptr %outs, %even : tensor<8x!tt.ptr<f32>>, tensor<8xi32>
  %op = tt.addptr %ep, %one : tensor<8x!tt.ptr<f32>>, tensor<8xi32>
  tt.store %ep, %av, %m : tensor<8x!tt.ptr<f32>>
  tt.store %op, %minus, %m : tensor<8x!tt.ptr<f32>>
  tt.return
}
"""


@pytest.mark.parametrize("n", [1, 8, 13])
def test_complex_numbers(n):
    a, b = (np.arange(1.0, n + 1, dtype=np.float32) * scale for scale in (1, 10))
    arguments = [a, b, np.zeros(2 * n, np.float32), n]
    after = assert_same(EverySecondAsColumn(), KERNEL, arguments, grid=(-(-n // 8),))
    np.testing.assert_array_equal(after[2].view(np.complex64), a - 1j * b)
