import pytest
from layout_kernels import opaque_texts

from flagc.ir.layouts import NvmmaSharedLayout
from flagc.ir.module import Module
from flagc.ir.types import (
    MemDescType,
    PointerType,
    TensorDescType,
    TensorType,
    element_bits,
    element_of,
    is_float,
    is_integer,
    signless,
)

VIEWS = (PointerType, TensorType, MemDescType, TensorDescType)
SHARED = "#ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>"


def test_pointers():
    assert PointerType.of("!tt.ptr<f16>") == PointerType("f16")
    assert PointerType.of("!tt.ptr<f16, 3>").address_space == 3
    assert PointerType.of("f16") is None
    assert PointerType.of("!tt.ptr<tensor<8x8xf16>>").pointed_tensor == TensorType((8, 8), "f16")


def test_tensors():
    tensor = TensorType.of("tensor<4x?x!tt.ptr<!tt.ptr<f16>>>")
    assert tensor == TensorType((4, -1), "!tt.ptr<!tt.ptr<f16>>")
    assert tensor.pointer == PointerType("!tt.ptr<f16>")
    assert tensor.with_element("i1").text() == "tensor<4x?xi1>"
    assert TensorType.of("!tt.ptr<f16>") is None


def test_buffers():
    text = f"!ttg.memdesc<2x64x64xf16, {SHARED}, #ttg.shared_memory, mutable, 3x64x64>"
    buffer = MemDescType.of(text)
    assert (buffer.shape, buffer.element, buffer.mutable) == ((2, 64, 64), "f16", True)
    assert buffer.layout == NvmmaSharedLayout(128, False, 16)
    assert buffer.rest == ("3x64x64",)
    assert buffer.text() == text


@pytest.mark.parametrize(
    "text",
    [
        "!tt.tensordesc<tensor<64x32xf16>>",
        "!tt.tensordesc<64x32xf16>",
        f"!tt.tensordesc<tensor<64x32xf16, {SHARED}>>",
        f"!tt.tensordesc<64x32xf16, {SHARED}>",
    ],
)
def test_descriptors_of_both_triton_versions(text):
    descriptor = TensorDescType.of(text)
    assert (descriptor.block.shape, descriptor.block.element) == ((64, 32), "f16")
    assert descriptor.text() == text


def test_views_of_values():
    module = Module.parse(
        '"builtin.module"() ({ %0 = "t.op"() : () -> tensor<8x!tt.ptr<i8>> }) : () -> ()', "ttir"
    )
    (op,) = module.walk()
    assert TensorType.of(op.results[0]).pointer == PointerType("i8")
    assert element_of(op.results[0]) == "!tt.ptr<i8>"
    assert element_of("i32") == "i32"


@pytest.mark.parametrize(
    ("element", "bits"),
    [("i1", 1), ("f16", 16), ("bf16", 16), ("f64", 64), ("f8E4M3FN", 8), ("f4E2M1FN", 4),
     ("ui8", 8), ("!tt.ptr<f16>", 64)],
)  # fmt: skip
def test_widths(element, bits):
    assert element_bits(element) == bits


def test_no_width():
    for element in ("index", "tensor<4xf16>", "!ttg.async.token"):
        with pytest.raises(ValueError, match="has no bit width"):
            element_bits(element)


def test_kinds():
    assert [e for e in ("i32", "bf16", "f8E5M2", "index", "i1") if is_float(e)] == [
        "bf16",
        "f8E5M2",
    ]
    assert [e for e in ("i32", "index", "i1", "f16") if is_integer(e)] == ["i32", "i1"]


def test_signless():
    elements = ("si32", "ui8", "i1", "f16", "bf16")
    assert [signless(element) for element in elements] == ["i32", "i8", "i1", "f16", "bf16"]


def test_every_type_of_real_kernels_round_trips():
    seen = set()
    for text in opaque_texts():
        for kind in VIEWS:
            view = kind.of(text)
            if view is not None:
                assert view.text() == text
                seen.add(kind)
    assert seen == set(VIEWS)
