import pytest

from flagc.ir.builder import Builder
from flagc.ir.module import Module, defining_op

TEXT = """"builtin.module"() ({ "tt.func"() ({
^bb0(%a: i32, %t: tensor<4xf16>):
  "tt.store"(%a) : (i32) -> ()
  "tt.return"() : () -> ()
}) {sym_name = "k"} : () -> () }) : () -> ()"""


@pytest.fixture
def module():
    module = Module.parse(TEXT, "ttir")
    with module.context:
        yield module


def names(module):
    return [op.name for op in module.walk()][1:]


def test_ops_are_created_before_and_after_their_neighbour(module):
    (store,) = module.walk("tt.store")
    module.create("t.before", before=store)
    module.create("t.after", results=["i32"], after=store)
    assert names(module) == ["t.before", "tt.store", "t.after", "tt.return"]
    with pytest.raises(ValueError, match="exactly one"):
        module.create("t.nowhere")


def test_expressions_come_in_program_order(module):
    (store,) = module.walk("tt.store")
    argument, tensor = module.functions()[0].regions[0].blocks[0].arguments
    build = Builder(module, before=store)
    doubled = build.muli(argument, build.constant(2, "i32"))
    build.select(build.cmpi("slt", doubled, argument), doubled, argument)
    above = build.cmpf("ogt", tensor, build.constant(0, tensor.type))
    assert names(module)[:4] == ["arith.constant", "arith.muli", "arith.cmpi", "arith.select"]
    assert str(above.type) == "tensor<4xi1>"
    assert str(defining_op(above).attributes["predicate"]) == "2 : i64"


@pytest.mark.parametrize(
    ("value", "type_text", "expected"),
    [
        (3, "i32", "3 : i32"),
        (True, "i1", "true"),
        (1, "f32", "1.000000e+00 : f32"),
        ("0x7E00", "f16", "0x7E00 : f16"),
        (1e-8, "f64", "1.000000e-08 : f64"),
        (float("inf"), "f32", "0x7F800000 : f32"),
        (float("-inf"), "f16", "0xFC00 : f16"),
        (float("nan"), "bf16", "0x7FC0 : bf16"),
        (0, "tensor<4xf16>", "dense<0.000000e+00> : tensor<4xf16>"),
        (1, "tensor<4xi1>", "dense<true> : tensor<4xi1>"),
    ],
)
def test_constants(module, value, type_text, expected):
    build = Builder(module, before=next(module.walk("tt.store")))
    constant = defining_op(build.constant(value, type_text))
    assert str(constant.attributes["value"]) == expected


@pytest.mark.parametrize(
    ("type_text", "constant"),
    [("!tt.ptr<f16>", "0 : i64"), ("tensor<4x!tt.ptr<i8>>", "dense<0> : tensor<4xi64>")],
)
def test_null_pointers(module, type_text, constant):
    null = Builder(module, before=next(module.walk("tt.store"))).zero(type_text)
    assert str(null.type) == type_text
    converted = defining_op(null)
    assert converted.name == "tt.int_to_ptr"
    assert str(defining_op(converted.operands[0]).attributes["value"]) == constant
