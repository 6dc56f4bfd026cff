"""Typed views of Triton's layouts (`#ttg.blocked<{...}>` and so on).

    layout = layouts.parse(attribute)                  # a BlockedLayout, say
    attribute_text = replace(layout, order=(0, 1)).text()

A view holds the fields that passes look at; one that is not written in the IR is None. Fields that
this file does not know, as a newer Triton may add, are kept in `extra` and printed where they
stood. A layout that is not known at all is an `UnknownLayout`, which prints as it was read.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar

from flagc.ir.opaque_text import (
    Call,
    Field,
    Group,
    Item,
    Node,
    OpaqueTextError,
    Word,
    fields_of,
    integer,
    integers,
)
from flagc.ir.opaque_text import parse as parse_text

Bases = tuple[tuple[int, ...], ...]


# Names in the IR that are not the field's name in camel case.
_SPELLINGS = {"warps_per_cta": "warpsPerCTA", "op_index": "opIdx"}


@dataclass(frozen=True)
class Layout:
    """Base of all layouts.

    Attributes:
        extra: fields that the class does not know, as (name, text).
    """

    mnemonic: ClassVar[str] = ""
    braces: ClassVar[bool] = True

    extra: tuple[tuple[str, str], ...] = field(default=(), kw_only=True)
    # The names of the fields as read, so that the text comes out in the same order.
    written: tuple[str, ...] = field(default=(), kw_only=True, repr=False, compare=False)

    def text(self) -> str:
        """Return the attribute's text. A layout that was parsed and not changed prints the same."""
        items: dict[str, Item] = {}
        for key, option in _keys(type(self)).items():
            value = getattr(self, option.name)
            if value is not None:
                items[key] = Field(key, _to_node(value))
        for name, text in self.extra:
            items[name] = Field(name, parse_text(text))
        order = [name for name in self.written if name in items]
        order += [name for name in items if name not in order]
        ordered = tuple(items[name] for name in order)
        return str(Call(self.mnemonic, (Group("{", ordered),) if self.braces else ordered))


@dataclass(frozen=True)
class BlockedLayout(Layout):
    """`#ttg.blocked`: each thread owns a box of consecutive elements."""

    mnemonic = "#ttg.blocked"
    size_per_thread: tuple[int, ...]
    threads_per_warp: tuple[int, ...]
    warps_per_cta: tuple[int, ...]
    order: tuple[int, ...]


@dataclass(frozen=True)
class SliceLayout(Layout):
    """`#ttg.slice`: `parent` with dimension `dim` removed."""

    mnemonic = "#ttg.slice"
    dim: int
    parent: Layout


@dataclass(frozen=True)
class NvidiaMmaLayout(Layout):
    """`#ttg.nvidia_mma`: the accumulator of mma.sync (version 2), wgmma (3) or tcgen05 (5).

    `instr_shape` is [M, N, K] for version 3, and [M, N] for version 2.
    """

    mnemonic = "#ttg.nvidia_mma"
    version_major: int
    version_minor: int
    warps_per_cta: tuple[int, ...]
    instr_shape: tuple[int, ...]


@dataclass(frozen=True)
class DotOperandLayout(Layout):
    """`#ttg.dot_op`: operand `op_index` (0 is A, 1 is B) of a dot whose result is `parent`."""

    mnemonic = "#ttg.dot_op"
    op_index: int
    parent: Layout
    k_width: int | None = None


@dataclass(frozen=True)
class SwizzledSharedLayout(Layout):
    """`#ttg.swizzled_shared`: rows in shared memory with vectors of `vec` permuted by phase."""

    mnemonic = "#ttg.swizzled_shared"
    vec: int
    per_phase: int
    max_phase: int
    order: tuple[int, ...]


@dataclass(frozen=True)
class NvmmaSharedLayout(Layout):
    """`#ttg.nvmma_shared`: shared memory as TMA writes and wgmma and tcgen05 read it."""

    mnemonic = "#ttg.nvmma_shared"
    swizzling_byte_width: int
    transposed: bool
    element_bit_width: int
    fp4_padded: bool | None = None


@dataclass(frozen=True)
class LinearLayout(Layout):
    """`#ttg.linear`: where register, lane, warp and block bits point, as basis vectors."""

    mnemonic = "#ttg.linear"
    register: Bases
    lane: Bases
    warp: Bases
    block: Bases


@dataclass(frozen=True)
class TensorMemoryLayout(Layout):
    """`#ttng.tensor_memory_encoding`: Blackwell's tensor memory."""

    mnemonic = "#ttng.tensor_memory_encoding"
    braces = False
    block_m: int
    block_n: int
    col_stride: int | None = None


@dataclass(frozen=True)
class UnknownLayout(Layout):
    """Any other attribute, with its text."""

    spelling: str = ""

    def text(self) -> str:
        """Return the text as it was read."""
        return self.spelling


KNOWN_LAYOUTS: dict[str, type[Layout]] = {
    known.mnemonic: known
    for known in (
        BlockedLayout,
        SliceLayout,
        NvidiaMmaLayout,
        DotOperandLayout,
        SwizzledSharedLayout,
        NvmmaSharedLayout,
        LinearLayout,
        TensorMemoryLayout,
    )
}


def parse(attribute_or_text: Any) -> Layout:
    """Return the view of a layout given as attribute or as text.

    A known layout whose fields do not read as expected is an `UnknownLayout` too.

    Raises:
        OpaqueTextError: the text's brackets do not match.
    """
    return from_node(parse_text(str(attribute_or_text)))


def from_node(node: Item) -> Layout:
    """Return the view of a layout given as a node of `opaque_text`."""
    known = KNOWN_LAYOUTS.get(node.name) if isinstance(node, Call) else None
    if known is None:
        return UnknownLayout(str(node))
    assert isinstance(node, Call)
    try:
        layout = _read(known, fields_of(node.items))
    except (OpaqueTextError, TypeError):
        return UnknownLayout(str(node))
    # Text of a form that a later version may use, and that would not come out the same.
    return layout if layout.text() == str(node) else UnknownLayout(str(node))


def _read(known: type[Layout], pairs: list[Field]) -> Layout:
    """Raises OpaqueTextError for a value of the wrong form, TypeError for a missing field."""
    options = _keys(known)
    values: dict[str, Any] = {}
    extra = []
    for pair in pairs:
        option = options.get(pair.name)
        if option is None:
            extra.append((pair.name, str(pair.value)))
        else:
            values[option.name] = _READERS[str(option.type).removesuffix(" | None")](pair.value)
    written = tuple(pair.name for pair in pairs)
    return known(**values, extra=tuple(extra), written=written)


def _keys(known: type[Layout]) -> dict[str, dataclasses.Field[Any]]:
    """Return the fields of a layout class that stand in the IR, by their names there."""
    inherited = ("extra", "written")
    return {
        _SPELLINGS.get(option.name, _camel_case(option.name)): option
        for option in dataclasses.fields(known)
        if option.name not in inherited
    }


def _camel_case(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(other.capitalize() for other in others)


def _bases(node: Item) -> Bases:
    if not isinstance(node, Group):
        raise OpaqueTextError(f"'{node}' is no list")
    return tuple(integers(item) for item in node.items)


def _boolean(node: Item) -> bool:
    if str(node) not in ("true", "false"):
        raise OpaqueTextError(f"'{node}' is neither true nor false")
    return str(node) == "true"


_READERS: dict[str, Callable[[Item], Any]] = {
    "int": integer,
    "bool": _boolean,
    "tuple[int, ...]": integers,
    "Bases": _bases,
    "Layout": from_node,
}


def _to_node(value: Any) -> Node:
    if isinstance(value, bool):
        return Word("true" if value else "false")
    if isinstance(value, Layout):
        return parse_text(value.text())
    if isinstance(value, tuple):
        return Group("[", tuple(_to_node(part) for part in value))
    return Word(str(value))


__all__ = [
    "BlockedLayout",
    "DotOperandLayout",
    "KNOWN_LAYOUTS",
    "Layout",
    "LinearLayout",
    "NvidiaMmaLayout",
    "NvmmaSharedLayout",
    "SliceLayout",
    "SwizzledSharedLayout",
    "TensorMemoryLayout",
    "UnknownLayout",
    "from_node",
    "parse",
]
