"""The rules of the dialect `staged`; every pass's result is held against them.

problem = find_problem(module)      # (op, "l0a holds no f64, ...") or None
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from flagc.ir.module import Module, Operation
from flagc.ir.staged.operations import (
    DEFINITIONS,
    EVENTS,
    PIPES,
    PREFIX,
    UNIT_FLAGS,
    StagedOp,
    TileUse,
    staged_op,
)
from flagc.ir.staged.tiles import ACCUMULATORS, ALIGNMENT, TileType, accumulator_of
from flagc.ir.staged.verify_vector import RULES as VECTOR_RULES
from flagc.ir.staged.verify_vector import tile as _tile
from flagc.ir.types import PointerType


def find_problem(module: Module) -> tuple[Operation, str] | None:
    """Return the first op of the dialect that breaks a rule, and which."""
    for op in module.walk():
        if not str(op.name).startswith(PREFIX):
            continue
        view = staged_op(op)
        if view is None:
            known = ", ".join(DEFINITIONS)
            return op, f"no such op in the dialect staged; its ops: {known}"
        for text in _problems(view):
            return op, text
    return None


def _problems(view: StagedOp) -> Iterator[str]:
    shape_problem = _count_problem(view)
    if shape_problem:
        yield shape_problem
        return
    yield from _operand_problems(view)
    for name in view.op.attributes:
        key = str(getattr(name, "name", name))
        if key not in view.definition.attributes:
            allowed = ", ".join(view.definition.attributes) or "none"
            yield f"unknown attribute '{key}'; it takes: {allowed}"
    if view.name in _RULES:
        yield from _RULES[view.name](view)


def _count_problem(view: StagedOp) -> str | None:
    kinds = list(view.definition.operands)
    least = len(kinds) - view.definition.optional
    count = len(view.op.operands)
    if not least <= count <= len(kinds):
        return f"takes {', '.join(kinds) or 'no operands'}; {count} operands were given"
    if len(view.op.results) != view.definition.results:
        return f"has {view.definition.results} results, not {len(view.op.results)}"
    return None


def _operand_problems(view: StagedOp) -> Iterator[str]:
    for value, (name, kind) in zip(
        view.op.operands, view.definition.operands.items(), strict=False
    ):
        if isinstance(kind, TileUse):
            yield from _tile_problems(name, TileType.of(value), str(value.type), kind)
        elif kind == "pointer":
            if PointerType.of(value) is None:
                yield f"operand '{name}' is a pointer to global memory, not {value.type}"
        elif kind == "number":
            if str(value.type) not in ACCUMULATORS:
                yield f"operand '{name}' is an f32 or i32, not {value.type}"
        elif str(value.type) != kind:
            yield f"operand '{name}' is an {kind}, not {value.type}"


def _tile_problems(name: str, tile: TileType | None, text: str, use: TileUse) -> Iterator[str]:
    if tile is None:
        yield f"operand '{name}' is a tile, not {text}"
        return
    if problem := tile.problem():
        yield f"operand '{name}': {problem}"
    if use.memory and tile.memory != use.memory:
        verb = "read" if use.effect == "read" else "written"
        yield f"operand '{name}' is {verb} in {use.memory}, but the tile is in {tile.memory}"


def _alloc(view: StagedOp) -> Iterator[str]:
    tile = TileType.of(view.op.results[0])
    if tile is None:
        yield f"makes a tile, not {view.op.results[0].type}"
        return
    if problem := tile.problem():
        yield problem
        return
    buffers = view.integer("buffers", 1)
    if buffers < 1:
        yield f"buffers = {buffers}: a tile has at least one buffer"
    if view.flag("shared") and (tile.memory != "gm" or buffers != 1):
        yield f"blocks share one buffer in gm, not {buffers} in {tile.memory}"
    if "addresses" not in view.op.attributes:
        return
    addresses = [int(entry) for entry in view.op.attributes["addresses"]]
    if len(addresses) != buffers:
        yield f"{len(addresses)} addresses for {buffers} buffers"
    alignment = ALIGNMENT[tile.memory]
    for address in addresses:
        if address % alignment:
            yield f"address {address}: tiles in {tile.memory} are aligned to {alignment} bytes"


def _nd2nz(view: StagedOp) -> Iterator[str]:
    tile, base = _tile(view, "tile"), PointerType.of(view.operand("base"))
    if base is not None and base.pointee != tile.element:
        yield f"moves {base.pointee} of global memory into a tile of {tile.element}"


def _load(view: StagedOp) -> Iterator[str]:
    source, tile = _tile(view, "source"), _tile(view, "tile")
    if source.element != tile.element:
        yield f"moves {source.element} into a tile of {tile.element}"
    rows, columns = tile.rows, tile.columns
    if view.flag("transpose"):
        rows, columns = columns, rows
    if rows > source.rows or columns > source.columns:
        yield (
            f"a part of {rows}x{columns} is taken out of a tile of {source.rows}x{source.columns}"
        )


def _load_bt(view: StagedOp) -> Iterator[str]:
    source, tile = _tile(view, "source"), _tile(view, "tile")
    if (source.element, tile.element) not in (("f16", "f32"), ("f32", "f32"), ("i32", "i32")):
        yield f"moves {source.element} into a bias of {tile.element}; f16 or the same type may be"
    if source.rows != 1 or tile.rows != 1:
        yield "a bias is one row"
    if source.columns < tile.columns:
        yield f"a bias of {tile.columns} columns is taken out of {source.columns}"


def _mad(view: StagedOp) -> Iterator[str]:
    a, b, c = (_tile(view, name) for name in ("a", "b", "c"))
    if a.element != b.element:
        yield f"multiplies {a.element} by {b.element}; both have to be the same type"
    if c.element != accumulator_of(a.element):
        yield f"sums of {a.element} are {accumulator_of(a.element)}, the accumulator is {c.element}"
    if a.rows != c.rows or b.columns != c.columns or a.columns != b.rows:
        yield (
            f"a tile of {a.rows}x{a.columns} times one of {b.rows}x{b.columns} is no "
            f"{c.rows}x{c.columns}"
        )
    if view.has("bias"):
        bias = _tile(view, "bias")
        if bias.element != c.element or bias.columns < c.columns:
            yield f"a bias of {bias.columns} {bias.element} for {c.columns} columns of {c.element}"
    yield from _unit_flag(view)


# What FIX.L0C.TO.OUT makes of accumulators without a scale (QuantMode_t of AscendC).
_STORES = {"f32": ("f16", "bf16", "f32"), "i32": ("i32",)}


def _fixpipe(view: StagedOp) -> Iterator[str]:
    source, base = _tile(view, "source"), PointerType.of(view.operand("base"))
    if base is not None and base.pointee not in _STORES[source.element]:
        allowed = ", ".join(_STORES[source.element])
        yield f"stores {source.element} accumulators as {allowed}, not as {base.pointee}"
    if view.text("atomic") not in ("", "add"):
        yield f'atomic = "{view.text("atomic")}": only "add" is known'
    yield from _unit_flag(view)


def _unit_flag(view: StagedOp) -> Iterator[str]:
    if (number := view.integer("unit_flag")) not in UNIT_FLAGS:
        yield f"unit_flag = {number}: it is one of {', '.join(map(str, UNIT_FLAGS))}"


def _flag(view: StagedOp) -> Iterator[str]:
    start, end = view.text("from"), view.text("to")
    for pipe in (start, end):
        if pipe not in PIPES:
            yield f"'{pipe}' is no pipe; pipes are: {', '.join(PIPES)}"
    if start == end:
        yield "a pipe works in order: it needs no flag for itself"
    event = view.integer("event", -1)
    last = event
    if view.op.operands:
        last += _buffers(view)
        last -= 1
    if event < 0 or last >= EVENTS:
        yield f"events 0 to {EVENTS - 1} exist for each pair of pipes; this uses {event} to {last}"


def _buffers(view: StagedOp) -> int:
    made = view.operand("tile").owner
    alloc = staged_op(getattr(made, "operation", made))
    return alloc.integer("buffers", 1) if alloc is not None else 1


def _barrier(view: StagedOp) -> Iterator[str]:
    if view.text("pipe") not in (*PIPES, "ALL"):
        yield f"'{view.text('pipe')}' is no pipe; pipes are: {', '.join(PIPES)}, or ALL"
    if view.text("core") not in ("", "AIC", "AIV"):
        yield f"'{view.text('core')}' is no core; cores are: AIC, AIV"


def _number(view: StagedOp) -> Iterator[str]:
    if str(view.op.results[0].type) != "i32":
        yield f"gives an i32, not {view.op.results[0].type}"
    if view.name == "grid_size" and view.integer("axis", -1) not in range(3):
        yield "a grid has the axes 0, 1 and 2"


_RULES: dict[str, Callable[[StagedOp], Iterator[str]]] = {
    "alloc": _alloc,
    "nd2nz": _nd2nz,
    "load_l0a": _load,
    "load_l0b": _load,
    "load_bt": _load_bt,
    "mad": _mad,
    "fixpipe": _fixpipe,
    "set_flag": _flag,
    "wait_flag": _flag,
    "barrier": _barrier,
    "block_index": _number,
    "grid_size": _number,
    "sub_block": _number,
    **VECTOR_RULES,
}
