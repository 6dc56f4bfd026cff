import pytest

from flagc.ir.analysis.ranges import constant_value, is_non_negative
from flagc.ir.module import Module

MODULE = """"builtin.module"() ({{ "tt.func"() ({{ ^bb0(%n: i32):
  %zero = "arith.constant"() {{value = 0 : i32}} : () -> i32
  %eight = "arith.constant"() {{value = 8 : i32}} : () -> i32
  %minus = "arith.constant"() {{value = -8 : i32}} : () -> i32
  %id = "tt.get_program_id"() {{axis = 0 : i32}} : () -> i32
  {body}
  "tt.return"() : () -> ()
}}) {{sym_name = "k"}} : () -> () }}) : () -> ()"""


USE = '"t.result"(%r) : (i32) -> ()'


def result_of(body):
    module = Module.parse(MODULE.format(body=body), "ttir")
    (user,) = module.walk("t.result")
    return module, user.operands[0]


@pytest.mark.parametrize(
    ("name", "left", "right", "expected"),
    [
        ("muli", "%id", "%eight", True),
        ("addi", "%id", "%eight", True),
        ("addi", "%id", "%minus", False),
        ("subi", "%id", "%eight", False),
        ("muli", "%id", "%n", False),
        ("maxsi", "%n", "%zero", True),
        ("minsi", "%n", "%zero", False),
        ("remsi", "%id", "%n", True),
        ("divsi", "%id", "%n", False),
    ],
)
def test_arithmetic(name, left, right, expected):
    op = f'%r = "arith.{name}"({left}, {right}) : (i32, i32) -> i32'
    module, value = result_of(f"{op} {USE}")
    assert is_non_negative(value) is expected
    assert module.level == "ttir"  # the module owns the value


@pytest.mark.parametrize(("start", "expected"), [("%zero", True), ("%n", False)])
def test_loop_counters(start, expected):
    module, value = result_of(
        f""""scf.for"({start}, %n, %eight) ({{ ^bb0(%i: i32):
          "t.result"(%i) : (i32) -> ()
          "scf.yield"() : () -> ()
        }}) : (i32, i32, i32) -> ()"""
    )
    assert is_non_negative(value) is expected
    assert module.level == "ttir"


def test_constants():
    module, value = result_of('"t.result"(%minus) : (i32) -> ()')
    assert constant_value(value) == -8
    assert not is_non_negative(value)
    assert module.level == "ttir"
