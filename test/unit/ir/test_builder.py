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
        (0, "tensor<4xf16>", "dense<0.000000e+00> : tensor<4xf16>"),
        (1, "tensor<4xi1>", "dense<true> : tensor<4xi1>"),
    ],
)
def test_constants(module, value, type_text, expected):
    build = Builder(module, before=next(module.walk("tt.store")))
    constant = defining_op(build.constant(value, type_text))
    assert str(constant.attributes["value"]) == expected
