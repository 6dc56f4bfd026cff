"""The ops of the dialect `staged`: what each takes, which pipe runs it, and what it may touch.

An op's operands have names; `staged_op(op).operand("rows")` finds one, `create` makes an op of
named operands. Tiles are buffers: an op that fills one has it as operand, and `staged.alloc` makes
one. Sizes called `rows`, `columns`, `m`, `k` and `n` are limits (i32): the op uses
max(0, min(limit, the tile's size)), so a limit is what a mask leaves over, `M - 128 * tile`.
Offsets and strides of global memory count elements (i64), `row` and `column` in tiles are i32 and
multiples of fractals.

    alloc() -> tile {buffers, addresses, shared}    one buffer of `buffers`, in rotation: each time
                                           the op is executed, the next one. `plan-memory` adds
                                           `addresses`, one for each buffer (bytes from the memory's
                                           start). Tiles of gm that are `shared` are what the block
                                           adds to a tile of the launch: its rows are numbered
                                           through all blocks, and any block may touch them
    nd2nz(base, offset, row_stride, rows, columns, tile)         GM rows -> L1 fractals
    fill(tile)                                                   zeros in a whole tile of L1
    load_l0a(source, row, column, m, k, tile) {transpose}        L1 -> L0A; with transpose L1 holds
                                                                 [k][m]. row, column: where the part
                                                                 starts in L1's rows and columns
    load_l0b(source, row, column, k, n, tile) {transpose}        L1 -> L0B; with transpose L1 holds
                                                                 [n][k]
    load_bt(source, n, tile)                                     one row of L1 -> BT, f16 to f32
    mad(a, b, c, m, k, n, init[, bias])    c = a*b + (init ? bias or 0 : c)
                                           {unit_flag}: M and FIX take turns by themselves, on
                                           fractals: 2 for a product that others follow, 3 for the
                                           last one and for the fixpipe (AscendC UnitFlag)
    fixpipe(source, base, offset, row_stride, m, n) {relu, atomic, unit_flag}
                                           L0C -> GM rows, converted to the element of `base`.
                                           `atomic = "add"` adds to what is there
    read_accumulator(source, fresh) -> tensor    bridge from tiles to tensors, until `stage-store`;
                                           `fresh`: nothing was accumulated, the tensor is zero
    read_tile(source) -> tensor {transpose}    bridge, until `stage-dot-on-cube`: what a load gave
    set_flag([tile]) {from, to, event}     pipe `from` says that it got here; with `tile`, event +
    wait_flag([tile]) {from, to, event}    the number of the tile's buffer. Pipe `to` waits for that
    barrier() {pipe, core}                 all earlier work of the pipe is done first (or "ALL").
                                           ALL is of the cube core, unless `core = "AIV"`
    block_index() -> i32                   which of the launched blocks this is
    grid_size() -> i32 {axis}              the script's grid; fewer blocks may be launched, at most
                                           the function's attribute `flagc.max_blocks`, and at most
                                           `flagc.blocks_per_program` (else 1) for each program

A cube core (AIC) has two vector cores (AIV), which run the same program: each core takes its own
ops from it, by their pipe. On vector cores these are AIV.MTE2, V and MTE3, and `sub_block` says
which of the two it is. They meet in tiles of `gm` and by flags that count:

    spill(source, tile, m, n[, row])       L0C -> rows of a tile of gm, as they are, from `row` on,
                                           which is a multiple of the accumulator's rows
    fetch(source, row, rows, columns, tile)                      gm -> UB, from `row` on
    load_ub(base, offset, row_stride, rows, columns, tile)       GM rows -> UB
    store_ub(source, base, offset, row_stride, rows, columns)    UB -> GM rows {atomic}
    vector_fill(value, tile)               the number, f32 or i32, everywhere in the tile
    vector_cast(source, rows, columns, tile) {rounding}          "rint" to nearest even, "trunc",
                                           "floor", "ceil"; f32 to f32 gives whole numbers
    vector_unary(source, rows, columns, tile) {kind}             abs exp ln sqrt
    vector_binary(left, right, rows, columns, tile) {kind}       add sub mul div max min
    vector_select(left, right, if_true, if_false, scratch, rows, columns, tile) {kind}
                                           eq ne lt le gt ge, and one of two values
    vector_column(source, tile)            a row of numbers, each of them 8 times: a column
    cross_set() {from, to, flag}           pipe `from` of one kind of core says that it got here;
    cross_wait() {from, to, flag}          pipe `to` of the other kind waits for that. A vector
                                           core's flag is set when both have set it
    grid_barrier() {from, to, flag}        the same for all blocks of the launch, which have to run
                                           at once: `to` waits until `from` got here on every core
    sub_block() -> i32                     0 or 1, the vector core of the block

Operands of vector ops are tiles like the result's, or are repeated: one row, a column (8 wide), or
both (1x8, one number).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from flagc.ir.module import AttributeLike, Module, Operation, Value

Effect = Literal["read", "write", "update"]

PREFIX = "staged."
PIPES = ("S", "V", "M", "MTE1", "MTE2", "MTE3", "FIX", "AIV.MTE2")
VECTOR_PIPES = ("V", "MTE3", "AIV.MTE2")
# AscendC: event ids per ordered pair of pipes.
EVENTS = 8
# Of a module: names of the passes of level "staged" that have run on it.
PASSES_RUN = "staged.passes"
# Flags between a cube core and its vector cores: 16, of which CANN's own functions use the upper
# ones (AscendC, CrossCoreSetFlag).
CROSS_FLAGS = 8
# What a cross-core flag counts up to (AscendC, CrossCoreSetFlag).
MOST_CROSS_SETS = 15
UNARY_KINDS = ("abs", "exp", "ln", "sqrt")
BINARY_KINDS = ("add", "sub", "mul", "div", "max", "min")
COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge")
ROUNDINGS = ("rint", "trunc", "floor", "ceil")
UNIT_FLAGS = (0, 2, 3)


@dataclass(frozen=True)
class TileUse:
    """An operand that is a tile: the memory it lies in, and what the op does to it."""

    memory: str
    effect: Effect


Kind = str | TileUse  # "pointer", "number" (f32 or i32), an integer type, or a tile


@dataclass(frozen=True)
class Definition:
    """One op.

    Attributes:
        pipe: the pipe that runs it; None for what is no instruction.
        operands: kinds by name, in order; the last `optional` ones may be missing.
        attributes: names that it may carry.
        results: how many.
    """

    pipe: str | None
    operands: Mapping[str, Kind]
    attributes: tuple[str, ...] = ()
    results: int = 0
    optional: int = 0


_FLAGS = ("from", "to", "event")
DEFINITIONS: dict[str, Definition] = {
    "alloc": Definition(None, {}, ("buffers", "addresses", "shared"), results=1),
    "nd2nz": Definition(
        "MTE2",
        {
            **{"base": "pointer", "offset": "i64", "row_stride": "i64"},
            **{"rows": "i32", "columns": "i32", "tile": TileUse("l1", "write")},
        },
    ),
    "fill": Definition("MTE2", {"tile": TileUse("l1", "write")}),
    "load_l0a": Definition(
        "MTE1",
        {
            **{"source": TileUse("l1", "read"), "row": "i32", "column": "i32"},
            **{"m": "i32", "k": "i32", "tile": TileUse("l0a", "write")},
        },
        ("transpose",),
    ),
    "load_l0b": Definition(
        "MTE1",
        {
            **{"source": TileUse("l1", "read"), "row": "i32", "column": "i32"},
            **{"k": "i32", "n": "i32", "tile": TileUse("l0b", "write")},
        },
        ("transpose",),
    ),
    "load_bt": Definition(
        "MTE1", {"source": TileUse("l1", "read"), "n": "i32", "tile": TileUse("bt", "write")}
    ),
    "mad": Definition(
        "M",
        {
            **{"a": TileUse("l0a", "read"), "b": TileUse("l0b", "read")},
            **{"c": TileUse("l0c", "update"), "m": "i32", "k": "i32", "n": "i32"},
            **{"init": "i1", "bias": TileUse("bt", "read")},
        },
        ("unit_flag",),
        optional=1,
    ),
    "fixpipe": Definition(
        "FIX",
        {
            **{"source": TileUse("l0c", "read"), "base": "pointer", "offset": "i64"},
            **{"row_stride": "i64", "m": "i32", "n": "i32"},
        },
        ("relu", "atomic", "unit_flag"),
    ),
    "read_accumulator": Definition(
        None, {"source": TileUse("l0c", "read"), "fresh": "i1"}, results=1
    ),
    "read_tile": Definition(None, {"source": TileUse("l1", "read")}, ("transpose",), results=1),
    "set_flag": Definition(None, {"tile": TileUse("", "read")}, _FLAGS, optional=1),
    "wait_flag": Definition(None, {"tile": TileUse("", "read")}, _FLAGS, optional=1),
    "barrier": Definition(None, {}, ("pipe", "core")),
    "block_index": Definition(None, {}, results=1),
    "grid_size": Definition(None, {}, ("axis",), results=1),
}
_READ, _WRITE = TileUse("ub", "read"), TileUse("ub", "write")
_PART: dict[str, Kind] = {"rows": "i32", "columns": "i32", "tile": _WRITE}
_ROWS: dict[str, Kind] = {"base": "pointer", "offset": "i64", "row_stride": "i64"}
DEFINITIONS |= {
    "spill": Definition(
        "FIX",
        {
            **{"source": TileUse("l0c", "read"), "tile": TileUse("gm", "write")},
            **{"m": "i32", "n": "i32", "row": "i32"},
        },
        ("unit_flag",),
        optional=1,
    ),
    "fetch": Definition("AIV.MTE2", {"source": TileUse("gm", "read"), "row": "i32", **_PART}),
    "load_ub": Definition("AIV.MTE2", {**_ROWS, **_PART}),
    "store_ub": Definition(
        "MTE3", {"source": _READ, **_ROWS, "rows": "i32", "columns": "i32"}, ("atomic",)
    ),
    "vector_fill": Definition("V", {"value": "number", "tile": _WRITE}),
    "vector_cast": Definition("V", {"source": _READ, **_PART}, ("rounding",)),
    "vector_unary": Definition("V", {"source": _READ, **_PART}, ("kind",)),
    "vector_binary": Definition("V", {"left": _READ, "right": _READ, **_PART}, ("kind",)),
    "vector_select": Definition(
        "V",
        {
            **{"left": _READ, "right": _READ, "if_true": _READ, "if_false": _READ},
            **{"scratch": TileUse("ub", "update"), **_PART},
        },
        ("kind",),
    ),
    "vector_column": Definition("V", {"source": _READ, "tile": _WRITE}),
    "cross_set": Definition(None, {}, ("from", "to", "flag")),
    "cross_wait": Definition(None, {}, ("from", "to", "flag")),
    "grid_barrier": Definition(None, {}, ("from", "to", "flag")),
    "sub_block": Definition(None, {}, results=1),
}
# The attribute of a function whose launch has at most so many blocks, `i32`.
MAX_BLOCKS = "flagc.max_blocks"
# And the one that says how many blocks share the work of one program of the script, `i32`.
BLOCKS_PER_PROGRAM = "flagc.blocks_per_program"


@dataclass(frozen=True)
class StagedOp:
    """A view of one op of the dialect."""

    op: Operation
    definition: Definition

    @property
    def name(self) -> str:
        """The op's name without the dialect's."""
        return str(self.op.name).removeprefix(PREFIX)

    @property
    def pipe(self) -> str | None:
        """The pipe that runs the op."""
        return self.definition.pipe

    def operand(self, name: str) -> Value:
        """Return the operand called `name`.

        Raises:
            KeyError: there is none in this op.
        """
        index = list(self.definition.operands).index(name)
        if index >= len(self.op.operands):
            raise KeyError(name)
        return self.op.operands[index]

    def has(self, name: str) -> bool:
        """Return whether the optional operand `name` is there."""
        return list(self.definition.operands).index(name) < len(self.op.operands)

    def tiles(self) -> list[tuple[Value, TileUse]]:
        """Return the tiles that the op's instruction touches, and how."""
        if self.pipe is None:
            return []
        pairs = zip(self.op.operands, self.definition.operands.values(), strict=False)
        return [(value, kind) for value, kind in pairs if isinstance(kind, TileUse)]

    def flag(self, name: str) -> bool:
        """Return a boolean attribute; False when it is missing."""
        return name in self.op.attributes and bool(self.op.attributes[name].value)

    def text(self, name: str) -> str:
        """Return a string attribute; '' when it is missing."""
        return str(self.op.attributes[name].value) if name in self.op.attributes else ""

    def integer(self, name: str, default: int = 0) -> int:
        """Return an integer attribute."""
        return int(self.op.attributes[name].value) if name in self.op.attributes else default


def core_of_pipe(pipe: str) -> str:
    """Return which kind of core has the pipe, "AIC" or "AIV"."""
    return "AIV" if pipe in VECTOR_PIPES else "AIC"


def core_of(view: StagedOp) -> str | None:
    """Return which kind of core runs the op; None when both do."""
    if view.pipe is not None:
        return core_of_pipe(view.pipe)
    if view.name == "cross_set":
        return core_of_pipe(view.text("from"))
    if view.name == "cross_wait":
        return core_of_pipe(view.text("to"))
    if view.name in ("set_flag", "wait_flag"):
        vector = any(view.text(end) in VECTOR_PIPES for end in ("from", "to"))
        return "AIV" if vector else "AIC"
    if view.name == "barrier":
        return view.text("core") or core_of_pipe(view.text("pipe"))
    return None


def staged_op(op: Operation) -> StagedOp | None:
    """Return the view of `op`; None when it is of another dialect, or unknown."""
    name = str(op.name)
    if not name.startswith(PREFIX):
        return None
    definition = DEFINITIONS.get(name.removeprefix(PREFIX))
    return StagedOp(op, definition) if definition is not None else None


def create(
    module: Module,
    name: str,
    operands: Mapping[str, Value] | None = None,
    attributes: Mapping[str, AttributeLike] | None = None,
    *,
    results: Sequence[Any] = (),
    before: Operation | None = None,
    after: Operation | None = None,
    location: Any = None,
) -> Operation:
    """Create `staged.<name>` with named operands, before or after another op (`Module.create`).

    Raises:
        KeyError: an operand that the op does not have, or one that is missing.
    """
    definition = DEFINITIONS[name]
    given = dict(operands or {})
    kinds = list(definition.operands)
    required = kinds[: len(kinds) - definition.optional]
    if (missing := [key for key in required if key not in given]) or (
        missing := [key for key in given if key not in kinds]
    ):
        raise KeyError(f"staged.{name}: operand '{missing[0]}'")
    values = [given[key] for key in kinds if key in given]
    return module.create(
        PREFIX + name, values, results, attributes, before=before, after=after, location=location
    )
