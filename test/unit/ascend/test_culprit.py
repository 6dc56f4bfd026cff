"""The op a crash depends on is found by taking ops out."""

import pytest

from flagc.ir.module import Module
from flagc.targets.ascend.culprit import find_culprit

TEXT = """
"builtin.module"() ({
  "tt.func"() ({
  ^bb0(%p: !tt.ptr<f32>, %q: !tt.ptr<f32>):
    %zero = "arith.constant"() {value = 0 : i32} : () -> i32 loc("k.py":1:1)
    %a = "tt.load"(%p) : (!tt.ptr<f32>) -> f32 loc("k.py":2:1)
    %b = "tt.load"(%q) {volatile} : (!tt.ptr<f32>) -> f32 loc("k.py":3:1)
    %c = "arith.addf"(%a, %b) : (f32, f32) -> f32 loc("k.py":4:1)
    "tt.store"(%p, %c) : (!tt.ptr<f32>, f32) -> () loc("k.py":5:1)
    "tt.store"(%q, %a) : (!tt.ptr<f32>, f32) -> () loc("k.py":6:1)
    "tt.return"() : () -> ()
  }) {sym_name = "k"} : () -> ()
}) : () -> ()
"""


def volatile_load(module: Module) -> bool:
    return any("volatile" in op.attributes for op in module.walk("tt.load"))


def any_store(module: Module) -> bool:
    return any(True for _ in module.walk("tt.store"))


def test_the_most_specific_op_is_blamed() -> None:
    # Erasing the store of line 5 cures too, but takes the sum and the load with it.
    culprit = find_culprit(TEXT, volatile_load)
    assert str(culprit) == "'tt.load' (k.py:3)"


def test_ops_that_only_cure_together_are_blamed_together() -> None:
    assert str(find_culprit(TEXT, any_store)) == "its 2 'tt.store' (k.py:5)"


@pytest.mark.parametrize("seconds", [20.0, 0.0])
def test_none_when_nothing_cures_or_time_is_up(seconds: float) -> None:
    crashes = (lambda module: True) if seconds else volatile_load
    assert find_culprit(TEXT, crashes, seconds=seconds) is None
