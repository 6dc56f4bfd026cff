"""Typed views of the types that a pass meets: pointers, tensors, buffers, tensor descriptors.

pointer = PointerType.of(value)          # None when `value` is no pointer
tensor = TensorType.of(value)            # shape, element type, layout
module.type(tensor.with_element("i1").text())
"""

from __future__ import annotations

import dataclasses
import itertools
from dataclasses import dataclass, field
from typing import Any

from flagc.ir.layouts import Layout, from_node
from flagc.ir.opaque_text import Call, Item, Node, OpaqueTextError, Word, integer, parse

Shape = tuple[int, ...]

# Stands for a dimension that is not known ("?").
DYNAMIC = -1


@dataclass(frozen=True)
class PointerType:
    """`!tt.ptr<pointee, address_space>`; `pointee` is a type's text, e.g. of a whole tensor."""

    pointee: str
    address_space: int = 1

    @staticmethod
    def of(value_or_type: Any) -> PointerType | None:
        """Return the view of a value's type, a type or its text; None for anything else."""
        node = _node_of(value_or_type)
        if not isinstance(node, Call) or node.name != "!tt.ptr" or not node.items:
            return None
        space = integer(node.items[1]) if len(node.items) > 1 else 1
        return PointerType(str(node.items[0]), space)

    @property
    def pointed_tensor(self) -> TensorType | None:
        """The tensor behind a block pointer, `!tt.ptr<tensor<...>>`; None for a plain pointer."""
        return TensorType.of(self.pointee)

    def text(self) -> str:
        """Return the type's text."""
        space = f", {self.address_space}" if self.address_space != 1 else ""
        return f"!tt.ptr<{self.pointee}{space}>"


@dataclass(frozen=True)
class TensorType:
    """`tensor<shape x element, layout>`; `element` is a type's text."""

    shape: Shape
    element: str
    layout: Layout | None = None

    @staticmethod
    def of(value_or_type: Any) -> TensorType | None:
        """Return the view of a value's type, a type or its text; None for anything else."""
        node = _node_of(value_or_type)
        if not isinstance(node, Call) or node.name != "tensor" or not node.items:
            return None
        shape, element = _shaped(node.items[0])
        layout = from_node(node.items[1]) if len(node.items) > 1 else None
        return TensorType(shape, element, layout)

    @property
    def pointer(self) -> PointerType | None:
        """The element type's view when this is a tensor of pointers."""
        return PointerType.of(self.element)

    def with_element(self, element: str) -> TensorType:
        """Return the same tensor with another element type."""
        return dataclasses.replace(self, element=element)

    def text(self) -> str:
        """Return the type's text."""
        layout = f", {self.layout.text()}" if self.layout is not None else ""
        return f"tensor<{_shape_text(self.shape)}{self.element}{layout}>"


@dataclass(frozen=True)
class MemDescType:
    """`!ttg.memdesc`: a buffer in shared or tensor memory.

    `rest` holds what follows the memory space but `mutable`, e.g. the allocation's shape.
    """

    shape: Shape
    element: str
    layout: Layout
    memory_space: str
    mutable: bool = False
    rest: tuple[str, ...] = field(default=())

    @staticmethod
    def of(value_or_type: Any) -> MemDescType | None:
        """Return the view of a value's type, a type or its text; None for anything else."""
        node = _node_of(value_or_type)
        if not isinstance(node, Call) or node.name != "!ttg.memdesc" or len(node.items) < 3:
            return None
        shape, element = _shaped(node.items[0])
        rest = [str(item) for item in node.items[3:]]
        mutable = bool(rest) and rest[0] == "mutable"
        return MemDescType(
            shape,
            element,
            from_node(node.items[1]),
            str(node.items[2]),
            mutable,
            tuple(rest[1:] if mutable else rest),
        )

    def text(self) -> str:
        """Return the type's text."""
        shaped = f"{_shape_text(self.shape)}{self.element}"
        parts = [shaped, self.layout.text(), self.memory_space]
        parts += ["mutable"] if self.mutable else []
        return f"!ttg.memdesc<{', '.join([*parts, *self.rest])}>"


@dataclass(frozen=True)
class TensorDescType:
    """`!tt.tensordesc`: a descriptor that loads and stores `block`s of a tensor in memory.

    Triton 3.6 writes the block as a tensor type, `!tt.tensordesc<tensor<64x64xf16>>`; 3.9 writes
    its shape alone (`bare`), `!tt.tensordesc<64x64xf16>`.
    """

    block: TensorType
    bare: bool = False

    @staticmethod
    def of(value_or_type: Any) -> TensorDescType | None:
        """Return the view of a value's type, a type or its text; None for anything else."""
        node = _node_of(value_or_type)
        if not isinstance(node, Call) or node.name != "!tt.tensordesc" or not node.items:
            return None
        first = node.items[0]
        if isinstance(first, Call) and first.name == "tensor":
            block = TensorType.of(str(first))
            assert block is not None
            return TensorDescType(block)
        block = TensorType.of(str(Call("tensor", node.items)))
        return TensorDescType(block, bare=True) if block is not None else None

    def text(self) -> str:
        """Return the type's text."""
        inner = self.block.text()
        return f"!tt.tensordesc<{inner.removeprefix('tensor<') if self.bare else inner + '>'}"


def element_of(value_or_type: Any) -> str:
    """Return the element type's text of a tensor, or the type's own text for a scalar."""
    tensor = TensorType.of(value_or_type)
    return tensor.element if tensor is not None else str(_node_of(value_or_type))


def element_bits(element: str) -> int:
    """Return the width in bits of a scalar type's text: 16 for `f16`, `bf16` and `i16`.

    Pointers have 64 bits; the fp8, fp6 and fp4 kinds have what their name says.

    Raises:
        ValueError: the type has no fixed width (`index`), or is no scalar.
    """
    if element.startswith("!tt.ptr"):
        return 64
    kind = next((k for k in ("bf", "f", "si", "ui", "i") if element.startswith(k)), None)
    digits = element.removeprefix(kind) if kind else ""
    width = "".join(itertools.takewhile(str.isdigit, digits))
    if not width:
        raise ValueError(f"type '{element}' has no bit width")
    return int(width)


def is_float(element: str) -> bool:
    """Return whether a scalar type's text names a floating-point type, fp8 kinds included."""
    return element.startswith(("f", "bf"))


def is_integer(element: str) -> bool:
    """Return whether a scalar type's text names an integer type (`index` is none)."""
    return element[:1] == "i" and element[1:].isdigit()


def signless(element: str) -> str:
    """Return a scalar type's text without signedness: `i32` for `si32` and `ui32`.

    Descriptor types say whether integers are signed; no other type in Triton's IR does.
    """
    without = element[1:] if element.startswith(("si", "ui")) else element
    return without if is_integer(without) else element


def _node_of(value_or_type: Any) -> Node:
    text = str(getattr(value_or_type, "type", value_or_type))
    try:
        return parse(text)
    except OpaqueTextError:
        return Word(text)


def _shaped(item: Item) -> tuple[Shape, str]:
    """Split `2x64xf16` into ((2, 64), "f16"); the element may be any type, `4x!tt.ptr<f16>`."""
    text = str(item)
    shape: list[int] = []
    while True:
        size, separator, rest = text.partition("x")
        if not separator or not (size.isdigit() or size == "?"):
            return tuple(shape), text
        shape.append(DYNAMIC if size == "?" else int(size))
        text = rest


def _shape_text(shape: Shape) -> str:
    return "".join(f"{'?' if size == DYNAMIC else size}x" for size in shape)
