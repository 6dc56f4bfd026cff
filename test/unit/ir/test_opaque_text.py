import pytest
from layout_kernels import opaque_texts

from flagc.ir import opaque_text
from flagc.ir.opaque_text import Call, Field, Group, OpaqueTextError, Word


def test_structure_of_a_layout():
    node = opaque_text.parse("#ttg.slice<{dim = 0, parent = #ttg.blocked<{order = [1, 0]}>}>")
    order = Field("order", Group("[", (Word("1"), Word("0"))))
    parent = Call("#ttg.blocked", (Group("{", (order,)),))
    assert node == Call(
        "#ttg.slice", (Group("{", (Field("dim", Word("0")), Field("parent", parent))),)
    )
    assert [call.name for call in opaque_text.calls(node)] == ["#ttg.slice", "#ttg.blocked"]


@pytest.mark.parametrize(
    "text",
    [
        "f16",
        "!tt.ptr<f16, 1>",
        "tensor<4x!tt.ptr<tensor<8x?xbf16>>>",
        "#ttg.padded_shared<[128:+4, 256:+8] {order = [1, 0], shape = [64, 64]}>",
        "#ttng.tensor_memory_scales_encoding<>",
        '#ttg.new<<{a = -1, b = 0x7F800000 : f32, c = "<[, \\" ]"}>, {}, []>',
        "(tensor<4xf16>, i32) -> i1",
        "array<i32: 1, 0>",
        "dense<[[1, 2], [3, 4]]> : tensor<2x2xi32>",
        "[{tt.divisibility = 16 : i32}, {}]",
    ],
)
def test_prints_what_it_read(text):
    assert str(opaque_text.parse(text)) == text


def test_every_text_of_real_kernels_round_trips():
    texts = [text for text in opaque_texts() if "dense_resource" not in text]
    assert len(texts) > 100
    assert [text for text in texts if str(opaque_text.parse(text)) != text] == []


@pytest.mark.parametrize("text", ["", "[1, 2", "#a<{b = }>", "a>", '"open', "[1 2,, 3]", "[,]"])
def test_nonsense_is_an_error_that_shows_the_text(text):
    with pytest.raises(OpaqueTextError) as caught:
        opaque_text.parse(text)
    assert f"'{text}'" in str(caught.value)


def test_integers_refuse_other_lists():
    assert opaque_text.integers(opaque_text.parse("[16, -8]")) == (16, -8)
    for text in ("16", "[a]", "{a = 1}"):
        with pytest.raises(OpaqueTextError):
            opaque_text.integers(opaque_text.parse(text))
