"""`while-to-for` runs as often, and leaves the counter as it was."""

import itertools

import numpy as np

from flagc.passes.ttir.while_to_for import WhileToFor
from support.running import assert_same

# Nested: sums i * j, and stores both counters' last numbers.
KERNEL = """
tt.func public @count(%at: !tt.ptr<i32>, %start: i32, %n: i32, %m: i32) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %three = arith.constant 3 : i32
  %end:3 = scf.while (%i = %start, %sum = %zero, %last = %zero) : (i32, i32, i32)
      -> (i32, i32, i32) {
    %c = arith.cmpi sgt, %n, %i : i32
    scf.condition(%c) %i, %sum, %last : i32, i32, i32
  } do {
  ^bb0(%i: i32, %sum: i32, %last: i32):
    %inner:2 = scf.while (%s = %sum, %j = %zero) : (i32, i32) -> (i32, i32) {
      %c = arith.cmpi slt, %j, %m : i32
      scf.condition(%c) %s, %j : i32, i32
    } do {
    ^bb0(%s: i32, %j: i32):
      %product = arith.muli %i, %j : i32
      %more = arith.addi %s, %product : i32
      %next = arith.addi %one, %j : i32
      scf.yield %more, %next : i32, i32
    }
    %next = arith.addi %i, %three : i32
    scf.yield %next, %inner#0, %inner#1 : i32, i32, i32
  }
  %at1 = tt.addptr %at, %one : !tt.ptr<i32>, i32
  %at3 = tt.addptr %at, %three : !tt.ptr<i32>, i32
  tt.store %at, %end#0 : !tt.ptr<i32>
  tt.store %at1, %end#1 : !tt.ptr<i32>
  tt.store %at3, %end#2 : !tt.ptr<i32>
  tt.return
}
"""


def test_nested_loops():
    for start, n, m in itertools.product((-4, 0, 2), (-5, 0, 1, 6, 7), (0, 1, 4)):
        assert_same(WhileToFor(), KERNEL, [np.zeros(4, np.int32), start, n, m])
