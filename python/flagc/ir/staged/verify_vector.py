"""The rules of the ops that vector cores run, and of what goes between the kinds of cores."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from flagc.ir.staged.operations import (
    BINARY_KINDS,
    COMPARISONS,
    CROSS_FLAGS,
    PIPES,
    ROUNDINGS,
    UNARY_KINDS,
    StagedOp,
    core_of_pipe,
)
from flagc.ir.staged.tiles import BLOCK_BYTES, TileType, scratch_bytes
from flagc.ir.types import PointerType, element_bits

# A vector instruction's repeats, one for each row, and its strides in blocks, have 8 bits.
MOST_REPEATS = 255
# What one column is repeated to: a block of 32 bits.
COLUMN = 8
CASTS = {
    ("f16", "f32"),
    ("bf16", "f32"),
    ("f32", "f16"),
    ("f32", "bf16"),
    ("f32", "f32"),
    ("f32", "i32"),
    ("i32", "f32"),
}
# From these to f32, nothing is rounded.
_EXACT = ("f16", "bf16")


def tile(view: StagedOp, name: str) -> TileType:
    """Return the type of a tile that is an operand; that it is one was checked before."""
    found = TileType.of(view.operand(name))
    assert found is not None
    return found


def _spill(view: StagedOp) -> Iterator[str]:
    source, target = tile(view, "source"), tile(view, "tile")
    rows = target.rows
    if view.has("row") and rows % source.rows == 0:
        rows = source.rows
    if (source.rows, source.columns, source.element) != (rows, target.columns, target.element):
        yield (
            f"moves {source.rows}x{source.columns}x{source.element} as they are, which is no "
            f"{target.rows}x{target.columns}x{target.element}"
        )


def _fetch(view: StagedOp) -> Iterator[str]:
    source, target = tile(view, "source"), tile(view, "tile")
    if source.element != target.element:
        yield f"moves {source.element} into a tile of {target.element}"
    if target.rows > source.rows:
        yield f"{target.rows} rows are taken out of a tile of {source.rows}"


def _rows(view: StagedOp) -> Iterator[str]:
    element = tile(view, "tile" if view.name == "load_ub" else "source").element
    base = PointerType.of(view.operand("base"))
    if base is not None and base.pointee != element:
        yield f"moves between {base.pointee} of global memory and a tile of {element}"
    if view.text("atomic") not in ("", "add"):
        yield f'atomic = "{view.text("atomic")}": only "add" is known'


def _fill(view: StagedOp) -> Iterator[str]:
    target, kind = tile(view, "tile"), str(view.operand("value").type)
    if kind != target.element:
        yield f"fills a tile of {target.element} with an {kind}"
    yield from _size(target)


def _cast(view: StagedOp) -> Iterator[str]:
    source, target = tile(view, "source"), tile(view, "tile")
    if (source.element, target.element) not in CASTS:
        yield f"no conversion from {source.element} to {target.element}"
    if (source.rows, source.columns) != (target.rows, target.columns):
        yield (f"{source.rows}x{source.columns} elements are no {target.rows}x{target.columns}")
    rounding = view.text("rounding")
    if source.element in _EXACT and rounding:
        yield f"nothing of {source.element} is rounded in {target.element}"
    if source.element not in _EXACT and rounding not in ROUNDINGS:
        yield f'rounding = "{rounding}": it is one of {", ".join(ROUNDINGS)}'
    yield from _size(target)


def _size(target: TileType) -> Iterator[str]:
    blocks = target.columns * element_bits(target.element) // 8 // BLOCK_BYTES
    if target.rows > MOST_REPEATS or blocks > MOST_REPEATS:
        yield (
            f"a vector op takes at most {MOST_REPEATS} rows of {MOST_REPEATS * BLOCK_BYTES} bytes, "
            f"not {target.rows}x{target.columns}x{target.element}"
        )


def _operands(view: StagedOp, names: tuple[str, ...], elements: tuple[str, ...]) -> Iterator[str]:
    """Operands are of the result's type, and lie as it does or are repeated."""
    target = tile(view, "tile")
    if target.element not in elements:
        yield f"computes {' or '.join(elements)}, not {target.element}"
    for name in names:
        given = tile(view, name)
        if given.element != target.element:
            yield f"operand '{name}' is of {given.element}, the result of {target.element}"
        if given.rows not in (1, target.rows) or given.columns not in (COLUMN, target.columns):
            yield (
                f"operand '{name}' of {given.rows}x{given.columns} cannot be repeated to "
                f"{target.rows}x{target.columns}"
            )
    yield from _size(target)


def _kind(view: StagedOp, known: tuple[str, ...]) -> Iterator[str]:
    if view.text("kind") not in known:
        yield f'kind = "{view.text("kind")}": it is one of {", ".join(known)}'


def _unary(view: StagedOp) -> Iterator[str]:
    yield from _kind(view, UNARY_KINDS)
    yield from _operands(view, ("source",), ("f32",))


def _binary(view: StagedOp) -> Iterator[str]:
    yield from _kind(view, BINARY_KINDS)
    elements = ("f32",) if view.text("kind") == "div" else ("f32", "i32")
    yield from _operands(view, ("left", "right"), elements)


def _select(view: StagedOp) -> Iterator[str]:
    yield from _kind(view, COMPARISONS)
    yield from _operands(view, ("left", "right", "if_true", "if_false"), ("f32",))
    needed, given = scratch_bytes(tile(view, "tile").rows), tile(view, "scratch").bytes
    if given < needed:
        yield f"needs {needed} bytes of scratch memory, not {given}"


def _column(view: StagedOp) -> Iterator[str]:
    source, target = tile(view, "source"), tile(view, "tile")
    if source.element != target.element or element_bits(source.element) != 32:
        yield f"makes a column of {target.element} of {source.element}; both are the same 32 bits"
    if source.rows != 1 or target.columns != COLUMN or source.columns != target.rows:
        yield (
            f"makes {source.columns}x{COLUMN} of one row of {source.columns}, not "
            f"{target.rows}x{target.columns} of {source.rows}x{source.columns}"
        )
    yield from _size(target)


def _cross(view: StagedOp) -> Iterator[str]:
    start, end = view.text("from"), view.text("to")
    for pipe in (start, end):
        if pipe not in PIPES:
            yield f"'{pipe}' is no pipe; pipes are: {', '.join(PIPES)}"
    if core_of_pipe(start) == core_of_pipe(end):
        yield f"{start} and {end} are pipes of the same core: use set_flag and wait_flag"
    if not 0 <= (flag := view.integer("flag", -1)) < CROSS_FLAGS:
        yield f"flags 0 to {CROSS_FLAGS - 1} exist between cores; this uses {flag}"


RULES: dict[str, Callable[[StagedOp], Iterator[str]]] = {
    "spill": _spill,
    "fetch": _fetch,
    "load_ub": _rows,
    "store_ub": _rows,
    "vector_fill": _fill,
    "vector_cast": _cast,
    "vector_unary": _unary,
    "vector_binary": _binary,
    "vector_select": _select,
    "vector_column": _column,
    "cross_set": _cross,
    "cross_wait": _cross,
    "grid_barrier": _cross,
}
