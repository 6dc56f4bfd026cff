"""`structured-early-return` runs the same blocks."""

import numpy as np

from flagc.passes.ttir.structured_early_return import StructuredEarlyReturn
from support.running import assert_same

# Returns at once, or after a first store, or after a loop of stores, or stores elsewhere.
KERNEL = """
tt.func public @k(%out: !tt.ptr<i32>, %n: i32) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %four = arith.constant 4 : i32
  %pid = tt.get_program_id x : i32
  %start = arith.muli %pid, %four : i32
  %at = tt.addptr %out, %start : !tt.ptr<i32>, i32
  %c = arith.cmpi sge, %pid, %n : i32
  cf.cond_br %c, ^exit, ^first
^first:
  tt.store %at, %one : !tt.ptr<i32>
  %next = tt.addptr %at, %one : !tt.ptr<i32>, i32
  %odd = arith.andi %pid, %one : i32
  %is_odd = arith.cmpi eq, %odd, %one : i32
  cf.cond_br %is_odd, ^loop, ^other
^loop:
  scf.for %i = %zero to %pid step %one : i32 {
    %sum = arith.addi %i, %pid : i32
    tt.store %next, %sum : !tt.ptr<i32>
  }
  %is_one = arith.cmpi eq, %pid, %one : i32
  cf.cond_br %is_one, ^last, ^exit
^last:
  %far = tt.addptr %next, %one : !tt.ptr<i32>, i32
  tt.store %far, %n : !tt.ptr<i32>
  tt.return
^other:
  tt.store %next, %four : !tt.ptr<i32>
  cf.br ^exit
^exit:
  tt.return
}
"""


def test_every_path():
    for n in (0, 2, 3, 6):
        out = np.zeros(24, np.int32)
        after = assert_same(StructuredEarlyReturn(), KERNEL, [out, n], grid=(6,))
        assert np.count_nonzero(after[0][::4]) == n
