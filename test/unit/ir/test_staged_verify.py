"""Every rule of the dialect `staged`: the op that breaks it, and what is said."""

import pytest

from flagc.ir.module import Module
from flagc.ir.staged.operations import DEFINITIONS
from flagc.ir.staged.verify import find_problem

# A legal kernel up to its last op; `%l1`, `%a`, `%b`, ... are tiles of 64x64 or less.
VALUES = """
    %i32 = "arith.constant"() {value = 16 : i32} : () -> i32
    %i64 = "arith.constant"() {value = 16 : i64} : () -> i64
    %i1 = "arith.constant"() {value = true} : () -> i1
    %l1 = "staged.alloc"() {buffers = 2 : i32} : () -> !staged.tile<l1, 64x32xf16>
    %l1f32 = "staged.alloc"() : () -> !staged.tile<l1, 64x32xf32>
    %row = "staged.alloc"() : () -> !staged.tile<l1, 1x64xf16>
    %row8 = "staged.alloc"() : () -> !staged.tile<l1, 1x64xi8>
    %a = "staged.alloc"() {buffers = 2 : i32} : () -> !staged.tile<l0a, 64x32xf16>
    %at = "staged.alloc"() : () -> !staged.tile<l0a, 32x64xf16>
    %a8 = "staged.alloc"() : () -> !staged.tile<l0a, 64x32xi8>
    %b = "staged.alloc"() : () -> !staged.tile<l0b, 32x48xf16>
    %b16 = "staged.alloc"() : () -> !staged.tile<l0b, 16x48xf16>
    %b8 = "staged.alloc"() : () -> !staged.tile<l0b, 32x48xi8>
    %c = "staged.alloc"() : () -> !staged.tile<l0c, 64x48xf32>
    %c32 = "staged.alloc"() : () -> !staged.tile<l0c, 64x48xi32>
    %bt = "staged.alloc"() : () -> !staged.tile<bt, 1x64xf32>
    %bt16 = "staged.alloc"() : () -> !staged.tile<bt, 1x16xf32>
    %bt2 = "staged.alloc"() : () -> !staged.tile<bt, 2x64xf32>
    %bt128 = "staged.alloc"() : () -> !staged.tile<bt, 1x128xf32>
"""
TYPES = {
    "%p": "!tt.ptr<f16>",
    "%p8": "!tt.ptr<i8>",
    "%i32": "i32",
    "%i64": "i64",
    "%i1": "i1",
    "%l1": "!staged.tile<l1, 64x32xf16>",
    "%l1f32": "!staged.tile<l1, 64x32xf32>",
    "%row": "!staged.tile<l1, 1x64xf16>",
    "%row8": "!staged.tile<l1, 1x64xi8>",
    "%a": "!staged.tile<l0a, 64x32xf16>",
    "%at": "!staged.tile<l0a, 32x64xf16>",
    "%a8": "!staged.tile<l0a, 64x32xi8>",
    "%b": "!staged.tile<l0b, 32x48xf16>",
    "%b16": "!staged.tile<l0b, 16x48xf16>",
    "%b8": "!staged.tile<l0b, 32x48xi8>",
    "%c": "!staged.tile<l0c, 64x48xf32>",
    "%c32": "!staged.tile<l0c, 64x48xi32>",
    "%bt": "!staged.tile<bt, 1x64xf32>",
    "%bt16": "!staged.tile<bt, 1x16xf32>",
    "%bt2": "!staged.tile<bt, 2x64xf32>",
    "%bt128": "!staged.tile<bt, 1x128xf32>",
}
NONE = "()"
FLAG = '{from = "MTE2", to = "MTE1", event = 0 : i32}'


def kernel(op: str, operands: str = "", attributes: str = "", results: str = NONE) -> Module:
    """Return a kernel whose last op is `op`, at line 7 of k.py."""
    values = operands.split()
    types = ", ".join(TYPES[value] for value in values)
    result = "%r = " if results != NONE else ""
    tested = f'{result}"staged.{op}"({", ".join(values)}) {attributes} : ({types}) -> {results}'
    text = f"""
"builtin.module"() ({{
  "tt.func"() ({{
  ^bb0(%p: !tt.ptr<f16>, %p8: !tt.ptr<i8>):
    {VALUES}
    {tested} loc("k.py":7:3)
    "tt.return"() : () -> ()
  }}) {{sym_name = "k", function_type = (!tt.ptr<f16>, !tt.ptr<i8>) -> ()}} : () -> ()
}}) : () -> ()
"""
    return Module.parse(text, "staged")


LEGAL = [
    ("alloc", "", "{buffers = 2 : i32, addresses = [0, 4096]}", TYPES["%l1"]),
    ("nd2nz", "%p %i64 %i64 %i32 %i32 %l1", "", NONE),
    ("fill", "%l1", "", NONE),
    ("load_l0a", "%l1 %i32 %i32 %i32 %i32 %a", "", NONE),
    ("load_l0a", "%l1 %i32 %i32 %i32 %i32 %at", "{transpose = true}", NONE),
    ("load_l0b", "%l1 %i32 %i32 %i32 %i32 %b16", "{transpose = true}", NONE),
    ("load_bt", "%row %i32 %bt", "", NONE),
    ("mad", "%a %b %c %i32 %i32 %i32 %i1", "{unit_flag = 2 : i32}", NONE),
    ("mad", "%a %b %c %i32 %i32 %i32 %i1 %bt", "", NONE),
    ("mad", "%a8 %b8 %c32 %i32 %i32 %i32 %i1", "", NONE),
    ("fixpipe", "%c %p %i64 %i64 %i32 %i32", '{relu = true, atomic = "add"}', NONE),
    ("read_accumulator", "%c %i1", "", "tensor<64x48xf32>"),
    ("read_tile", "%l1", "", "tensor<64x32xf16>"),
    ("set_flag", "", FLAG, NONE),
    ("wait_flag", "%l1", FLAG.replace("0 :", "6 :"), NONE),
    ("barrier", "", '{pipe = "ALL"}', NONE),
    ("block_index", "", "", "i32"),
    ("grid_size", "", "{axis = 2 : i32}", "i32"),
]


def test_every_op_has_a_legal_use() -> None:
    assert {case[0] for case in LEGAL} == set(DEFINITIONS)


@pytest.mark.parametrize("case", LEGAL, ids=lambda case: f"{case[0]} {case[1]}")
def test_legal(case: tuple[str, str, str, str]) -> None:
    assert find_problem(kernel(*case)) is None


BROKEN = [
    (("prefetch", "", "", NONE), "no such op in the dialect staged; its ops: alloc, nd2nz"),
    (("fill", "", "", NONE), "takes tile; 0 operands were given"),
    (("fill", "%l1 %l1", "", NONE), "takes tile; 2 operands were given"),
    (("barrier", "%l1", '{pipe = "M"}', NONE), "takes no operands; 1 operands were given"),
    (("fill", "%l1", "", "i32"), "has 0 results, not 1"),
    (("fill", "%l1", "{relu = true}", NONE), "unknown attribute 'relu'; it takes: none"),
    (
        ("mad", "%a %b %c %i32 %i32 %i32 %i1", "{init = true}", NONE),
        "unknown attribute 'init'; it takes: unit_flag",
    ),
    (("fill", "%i32", "", NONE), "operand 'tile' is a tile, not i32"),
    (("fill", "%a", "", NONE), "operand 'tile' is written in l1, but the tile is in l0a"),
    (("read_tile", "%c", "", "tensor<4xf32>"), "operand 'source' is read in l1, but the tile is"),
    (
        ("mad", "%a %b %b %i32 %i32 %i32 %i1", "", NONE),
        "operand 'c' is written in l0c, but the tile is in l0b",
    ),
    (
        ("nd2nz", "%i64 %i64 %i64 %i32 %i32 %l1", "", NONE),
        "operand 'base' is a pointer to global memory, not i64",
    ),
    (("nd2nz", "%p %i32 %i64 %i32 %i32 %l1", "", NONE), "operand 'offset' is an i64, not i32"),
    (("mad", "%a %b %c %i32 %i32 %i32 %i32", "", NONE), "operand 'init' is an i1, not i32"),
    (("alloc", "", "", "i32"), "makes a tile, not i32"),
    (
        ("alloc", "", "", "!staged.tile<l2, 16x16xf16>"),
        "'l2' is no memory of tiles; these are: l1, l0a, l0b, l0c, bt, ub",
    ),
    (("alloc", "", "", "!staged.tile<l0a, 16x16xf64>"), "l0a holds no f64, only f16, bf16, f32"),
    (("alloc", "", "", "!staged.tile<l0c, 16x16xf16>"), "l0c holds no f16, only f32, i32"),
    (("alloc", "", "", "!staged.tile<l1, 0x16xf16>"), "at least one row and one column"),
    (
        ("alloc", "", "", "!staged.tile<l1, 24x16xf16>"),
        "a tile of f16 in l1 is made of fractals of 16x16, which 24x16 is no multiple of",
    ),
    (("alloc", "", "", "!staged.tile<l1, 1x24xf16>"), "fractals of 1x16, which 1x24"),
    (("alloc", "", "", "!staged.tile<l0b, 16x16xi8>"), "fractals of 32x16, which 16x16"),
    (("alloc", "", "", "!staged.tile<l0a, 16x16xi8>"), "fractals of 16x32, which 16x16"),
    (("alloc", "", "", "!staged.tile<l0c, 16x24xf32>"), "fractals of 16x16, which 16x24"),
    (("alloc", "", "{buffers = 0 : i32}", TYPES["%l1"]), "buffers = 0: a tile has at least one"),
    (("alloc", "", "{addresses = [0, 32]}", TYPES["%l1"]), "2 addresses for 1 buffers"),
    (
        ("alloc", "", "{addresses = [256]}", TYPES["%a"]),
        "address 256: tiles in l0a are aligned to 512 bytes",
    ),
    (
        ("nd2nz", "%p8 %i64 %i64 %i32 %i32 %l1", "", NONE),
        "moves i8 of global memory into a tile of f16",
    ),
    (("load_l0a", "%l1f32 %i32 %i32 %i32 %i32 %a", "", NONE), "moves f32 into a tile of f16"),
    (
        ("load_l0a", "%l1 %i32 %i32 %i32 %i32 %at", "", NONE),
        "a part of 32x64 is taken out of a tile of 64x32",
    ),
    (
        ("load_l0b", "%l1 %i32 %i32 %i32 %i32 %b", "{transpose = false}", NONE),
        "a part of 32x48 is taken out of a tile of 64x32",
    ),
    (("load_bt", "%row8 %i32 %bt", "", NONE), "moves i8 into a bias of f32; f16 or the same"),
    (("load_bt", "%l1 %i32 %bt", "", NONE), "a bias is one row"),
    (("load_bt", "%row %i32 %bt2", "", NONE), "a bias is one row"),
    (("load_bt", "%row %i32 %bt128", "", NONE), "a bias of 128 columns is taken out of 64"),
    (
        ("mad", "%a8 %b %c32 %i32 %i32 %i32 %i1", "", NONE),
        "multiplies i8 by f16; both have to be the same type",
    ),
    (
        ("mad", "%a8 %b8 %c %i32 %i32 %i32 %i1", "", NONE),
        "sums of i8 are i32, the accumulator is f32",
    ),
    (
        ("mad", "%a %b16 %c %i32 %i32 %i32 %i1", "", NONE),
        "a tile of 64x32 times one of 16x48 is no 64x48",
    ),
    (
        ("mad", "%a %b %c %i32 %i32 %i32 %i1 %bt16", "", NONE),
        "a bias of 16 f32 for 48 columns of f32",
    ),
    (
        ("mad", "%a8 %b8 %c32 %i32 %i32 %i32 %i1 %bt", "", NONE),
        "a bias of 64 f32 for 48 columns of i32",
    ),
    (
        ("fixpipe", "%c32 %p %i64 %i64 %i32 %i32", "", NONE),
        "stores i32 accumulators as i32, not as f16",
    ),
    (
        ("fixpipe", "%c %p8 %i64 %i64 %i32 %i32", "", NONE),
        "stores f32 accumulators as f16, bf16, f32, not as i8",
    ),
    (
        ("fixpipe", "%c %p %i64 %i64 %i32 %i32", '{atomic = "max"}', NONE),
        'atomic = "max": only "add" is known',
    ),
    (
        ("fixpipe", "%c %p %i64 %i64 %i32 %i32", "{unit_flag = 1 : i32}", NONE),
        "unit_flag = 1: it is one of 0, 2, 3",
    ),
    (("set_flag", "", FLAG.replace("MTE2", "L1"), NONE), "'L1' is no pipe; pipes are: S, V, M"),
    (("wait_flag", "", FLAG.replace("MTE1", "ALL"), NONE), "'ALL' is no pipe"),
    (("set_flag", "", FLAG.replace("MTE1", "MTE2"), NONE), "a pipe works in order"),
    (("set_flag", "", FLAG.replace("0 :", "8 :"), NONE), "this uses 8 to 8"),
    (("set_flag", "", '{from = "M", to = "FIX"}', NONE), "this uses -1 to -1"),
    (("wait_flag", "%a", FLAG.replace("0 :", "7 :"), NONE), "this uses 7 to 8"),
    (("barrier", "", "", NONE), "'' is no pipe; pipes are: S, V, M, MTE1, MTE2, MTE3, FIX, or ALL"),
]


@pytest.mark.parametrize(("case", "says"), BROKEN, ids=[says[:40] for _, says in BROKEN])
def test_broken(case: tuple[str, str, str, str], says: str) -> None:
    problem = find_problem(kernel(*case))
    assert problem is not None
    op, text = problem
    assert op.name == f"staged.{case[0]}"
    assert 'loc("k.py":7:3)' in str(op.location)
    assert says in text
