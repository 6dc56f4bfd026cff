"""`select-values-not-pointers` reads and writes what the kernel did, and nothing else."""

import itertools

import numpy as np
import pytest

from flagc.passes.ttir.select_values_not_pointers import SelectValuesNotPointers
from support.running import assert_same

# Three inputs of different lengths, the third chosen in a nested branch; outputs chosen too.
SCALAR = """
tt.func public @copy(%a: !tt.ptr<f32>, %b: !tt.ptr<f32>, %c: !tt.ptr<f32>, %x: !tt.ptr<f32>,
                     %y: !tt.ptr<f32>, %na: i32, %nb: i32, %nc: i32, %to_x: i1) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %zeros = arith.constant dense<0.0> : tensor<8xf32>
  %pid = tt.get_program_id x : i32
  %first = arith.cmpi eq, %pid, %c0 : i32
  %in:2 = scf.if %first -> (!tt.ptr<f32>, i32) {
    scf.yield %a, %na : !tt.ptr<f32>, i32
  } else {
    %second = arith.cmpi eq, %pid, %c1 : i32
    %inner:2 = scf.if %second -> (!tt.ptr<f32>, i32) {
      scf.yield %b, %nb : !tt.ptr<f32>, i32
    } else {
      %less = arith.subi %nc, %c1 : i32
      %moved = tt.addptr %c, %c1 : !tt.ptr<f32>, i32
      scf.yield %moved, %less : !tt.ptr<f32>, i32
    }
    scf.yield %inner#0, %inner#1 : !tt.ptr<f32>, i32
  }
  %r = tt.make_range {end = 8 : i32, start = 0 : i32} : tensor<8xi32>
  %ns = tt.splat %in#1 : i32 -> tensor<8xi32>
  %mask = arith.cmpi slt, %r, %ns : tensor<8xi32>
  %ins = tt.splat %in#0 : !tt.ptr<f32> -> tensor<8x!tt.ptr<f32>>
  %from = tt.addptr %ins, %r : tensor<8x!tt.ptr<f32>>, tensor<8xi32>
  %v = tt.load %from, %mask, %zeros : tensor<8x!tt.ptr<f32>>
  %out = arith.select %to_x, %x, %y : !tt.ptr<f32>
  %c8 = arith.constant 8 : i32
  %start = arith.muli %pid, %c8 : i32
  %here = tt.addptr %out, %start : !tt.ptr<f32>, i32
  %outs = tt.splat %here : !tt.ptr<f32> -> tensor<8x!tt.ptr<f32>>
  %to = tt.addptr %outs, %r : tensor<8x!tt.ptr<f32>>, tensor<8xi32>
  tt.store %to, %v, %mask : tensor<8x!tt.ptr<f32>>
  tt.return
}
"""

# Even lanes from one array, odd ones from another; a 2-D access to a chosen 1-D pointer.
LANES = """
tt.func public @merge(%a: !tt.ptr<f32>, %b: !tt.ptr<f32>, %x: !tt.ptr<f32>, %n: i32) {
  %ones = arith.constant dense<1> : tensor<8xi32>
  %zeros = arith.constant dense<0> : tensor<8xi32>
  %none = arith.constant dense<0.0> : tensor<8x2xf32>
  %r = tt.make_range {end = 8 : i32, start = 0 : i32} : tensor<8xi32>
  %k = tt.make_range {end = 2 : i32, start = 0 : i32} : tensor<2xi32>
  %odd = arith.andi %r, %ones : tensor<8xi32>
  %even = arith.cmpi eq, %odd, %zeros : tensor<8xi32>
  %as = tt.splat %a : !tt.ptr<f32> -> tensor<8x!tt.ptr<f32>>
  %bs = tt.splat %b : !tt.ptr<f32> -> tensor<8x!tt.ptr<f32>>
  %at = arith.select %even, %as, %bs : tensor<8xi1>, tensor<8x!tt.ptr<f32>>
  %moved = tt.addptr %at, %r : tensor<8x!tt.ptr<f32>>, tensor<8xi32>
  %e = tt.expand_dims %moved {axis = 1 : i32} : tensor<8x!tt.ptr<f32>> -> tensor<8x1x!tt.ptr<f32>>
  %p = tt.broadcast %e : tensor<8x1x!tt.ptr<f32>> -> tensor<8x2x!tt.ptr<f32>>
  %ke = tt.expand_dims %k {axis = 0 : i32} : tensor<2xi32> -> tensor<1x2xi32>
  %kb = tt.broadcast %ke : tensor<1x2xi32> -> tensor<8x2xi32>
  %from = tt.addptr %p, %kb : tensor<8x2x!tt.ptr<f32>>, tensor<8x2xi32>
  %v = tt.load %from OPERANDS : tensor<8x2x!tt.ptr<f32>>
  %xs = tt.splat %x : !tt.ptr<f32> -> tensor<8x1x!tt.ptr<f32>>
  %re = tt.expand_dims %r {axis = 1 : i32} : tensor<8xi32> -> tensor<8x1xi32>
  %rr = arith.addi %re, %re : tensor<8x1xi32>
  %row = tt.addptr %xs, %rr : tensor<8x1x!tt.ptr<f32>>, tensor<8x1xi32>
  %rows = tt.broadcast %row : tensor<8x1x!tt.ptr<f32>> -> tensor<8x2x!tt.ptr<f32>>
  %to = tt.addptr %rows, %kb : tensor<8x2x!tt.ptr<f32>>, tensor<8x2xi32>
  tt.store %to, %v : tensor<8x2x!tt.ptr<f32>>
  tt.return
}
"""


@pytest.mark.parametrize("to_x", [False, True])
def test_scalar_choices(to_x):
    for na, nb, nc in itertools.product((1, 5), (2, 8), (3, 7)):
        inputs = [np.arange(1.0, size + 1, dtype=np.float32) for size in (na, nb, nc)]
        outputs = [np.zeros(24, np.float32) for _ in range(2)]
        arguments = [*inputs, *outputs, na, nb, nc, to_x]
        after = assert_same(SelectValuesNotPointers(), SCALAR, arguments, grid=(3,))
        assert np.count_nonzero(after[3 if to_x else 4]) == na + nb + nc - 1


@pytest.mark.parametrize("masked", [False, True])
def test_choices_by_lane(masked):
    text = LANES.replace("OPERANDS", ", %mask, %none" if masked else "")
    if masked:
        text = text.replace(
            "  %v =",
            """  %ns = tt.splat %n : i32 -> tensor<8x2xi32>
  %mask = arith.cmpi slt, %kb, %ns : tensor<8x2xi32>
  %v =""",
        )
    a, b = np.arange(8, dtype=np.float32), -np.arange(9, dtype=np.float32)
    after = assert_same(SelectValuesNotPointers(), text, [a, b, np.zeros(16, np.float32), 1])
    assert list(after[2][:6:2]) == [0, -1, 2]
