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
    %f32 = "arith.constant"() {value = 1.0 : f32} : () -> f32
    %gm = "staged.alloc"() : () -> !staged.tile<gm, 64x48xf32>
    %gm32 = "staged.alloc"() : () -> !staged.tile<gm, 64x32xf32>
    %u = "staged.alloc"() : () -> !staged.tile<ub, 32x48xf32>
    %u128 = "staged.alloc"() : () -> !staged.tile<ub, 128x48xf32>
    %u256 = "staged.alloc"() : () -> !staged.tile<ub, 256x48xf32>
    %u16 = "staged.alloc"() : () -> !staged.tile<ub, 32x48xf16>
    %ui = "staged.alloc"() : () -> !staged.tile<ub, 32x48xi32>
    %urow = "staged.alloc"() : () -> !staged.tile<ub, 1x48xf32>
    %u1 = "staged.alloc"() : () -> !staged.tile<ub, 1x8xf32>
    %uheads = "staged.alloc"() : () -> !staged.tile<ub, 1x32xf32>
    %ucolumn = "staged.alloc"() : () -> !staged.tile<ub, 32x8xf32>
    %scratch = "staged.alloc"() : () -> !staged.tile<ub, 1x288xi8>
    %small = "staged.alloc"() : () -> !staged.tile<ub, 1x256xi8>
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
    "%f32": "f32",
    "%gm": "!staged.tile<gm, 64x48xf32>",
    "%gm32": "!staged.tile<gm, 64x32xf32>",
    "%u": "!staged.tile<ub, 32x48xf32>",
    "%u128": "!staged.tile<ub, 128x48xf32>",
    "%u256": "!staged.tile<ub, 256x48xf32>",
    "%u16": "!staged.tile<ub, 32x48xf16>",
    "%ui": "!staged.tile<ub, 32x48xi32>",
    "%urow": "!staged.tile<ub, 1x48xf32>",
    "%u1": "!staged.tile<ub, 1x8xf32>",
    "%uheads": "!staged.tile<ub, 1x32xf32>",
    "%ucolumn": "!staged.tile<ub, 32x8xf32>",
    "%scratch": "!staged.tile<ub, 1x288xi8>",
    "%small": "!staged.tile<ub, 1x256xi8>",
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
    ("barrier", "", '{pipe = "ALL", core = "AIV"}', NONE),
    ("spill", "%c %gm %i32 %i32", "", NONE),
    ("fetch", "%gm %i32 %i32 %i32 %u", "", NONE),
    ("load_ub", "%p %i64 %i64 %i32 %i32 %u16", "", NONE),
    ("store_ub", "%u16 %p %i64 %i64 %i32 %i32", '{atomic = "add"}', NONE),
    ("vector_fill", "%f32 %u1", "", NONE),
    ("vector_fill", "%i32 %ui", "", NONE),
    ("vector_cast", "%u16 %i32 %i32 %u", "", NONE),
    ("vector_cast", "%u %i32 %i32 %u16", '{rounding = "rint"}', NONE),
    ("vector_unary", "%u %i32 %i32 %u", '{kind = "exp"}', NONE),
    ("vector_binary", "%urow %ucolumn %i32 %i32 %u", '{kind = "div"}', NONE),
    ("vector_binary", "%ui %ui %i32 %i32 %ui", '{kind = "max"}', NONE),
    ("vector_select", "%u %u1 %u %urow %scratch %i32 %i32 %u", '{kind = "lt"}', NONE),
    ("vector_column", "%uheads %ucolumn", "", NONE),
    ("cross_set", "", '{from = "FIX", to = "AIV.MTE2", flag = 7 : i32}', NONE),
    ("cross_wait", "", '{from = "AIV.MTE2", to = "FIX", flag = 0 : i32}', NONE),
    ("grid_barrier", "", '{from = "FIX", to = "AIV.MTE2", flag = 7 : i32}', NONE),
    ("sub_block", "", "", "i32"),
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
        "'l2' is no memory of tiles; these are: l1, l0a, l0b, l0c, bt, ub, gm",
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
    (("barrier", "", "", NONE), "'' is no pipe; pipes are: S, V, M, MTE1, MTE2, MTE3, FIX, "),
    (
        ("barrier", "", '{pipe = "ALL", core = "GPU"}', NONE),
        "'GPU' is no core; cores are: AIC, AIV",
    ),
    (("alloc", "", "", "!staged.tile<gm, 16x16xf16>"), "gm holds no f16, only f32, i32"),
    (
        ("spill", "%c %gm32 %i32 %i32", "", NONE),
        "moves 64x48xf32 as they are, which is no 64x32xf32",
    ),
    (
        ("spill", "%c %u %i32 %i32", "", NONE),
        "operand 'tile' is written in gm, but the tile is in ub",
    ),
    (("fetch", "%gm %i32 %i32 %i32 %ui", "", NONE), "moves f32 into a tile of i32"),
    (("fetch", "%gm %i32 %i32 %i32 %u128", "", NONE), "128 rows are taken out of a tile of 64"),
    (
        ("load_ub", "%p %i64 %i64 %i32 %i32 %u", "", NONE),
        "moves between f16 of global memory and a tile of f32",
    ),
    (
        ("store_ub", "%u %p %i64 %i64 %i32 %i32", "", NONE),
        "moves between f16 of global memory and a tile of f32",
    ),
    (
        ("store_ub", "%u16 %p %i64 %i64 %i32 %i32", '{atomic = "max"}', NONE),
        'atomic = "max": only "add" is known',
    ),
    (("vector_fill", "%i64 %u", "", NONE), "operand 'value' is an f32 or i32, not i64"),
    (("vector_fill", "%i32 %u", "", NONE), "fills a tile of f32 with an i32"),
    (("vector_fill", "%f32 %u256", "", NONE), "at most 255 rows of 8160 bytes, not 256x48xf32"),
    (("vector_cast", "%u16 %i32 %i32 %ui", "", NONE), "no conversion from f16 to i32"),
    (
        ("vector_cast", "%u16 %i32 %i32 %u", '{rounding = "rint"}', NONE),
        "nothing of f16 is rounded in f32",
    ),
    (("vector_cast", "%u %i32 %i32 %u16", "", NONE), 'rounding = "": it is one of rint, trunc'),
    (
        ("vector_cast", "%urow %i32 %i32 %u16", '{rounding = "rint"}', NONE),
        "1x48 elements are no 32x48",
    ),
    (("vector_unary", "%u %i32 %i32 %u", '{kind = "sin"}', NONE), 'kind = "sin": it is one of abs'),
    (
        ("vector_unary", "%u16 %i32 %i32 %u16", '{kind = "abs"}', NONE),
        "computes f32, not f16",
    ),
    (("vector_binary", "%u %u %i32 %i32 %u", '{kind = "pow"}', NONE), "it is one of add, sub, mul"),
    (("vector_binary", "%ui %ui %i32 %i32 %ui", '{kind = "div"}', NONE), "computes f32, not i32"),
    (
        ("vector_binary", "%ui %u %i32 %i32 %u", '{kind = "add"}', NONE),
        "operand 'left' is of i32, the result of f32",
    ),
    (
        ("vector_binary", "%u %u128 %i32 %i32 %u", '{kind = "add"}', NONE),
        "operand 'right' of 128x48 cannot be repeated to 32x48",
    ),
    (
        ("vector_binary", "%uheads %u %i32 %i32 %u", '{kind = "add"}', NONE),
        "operand 'left' of 1x32 cannot be repeated to 32x48",
    ),
    (
        ("vector_select", "%u %u %u %u %scratch %i32 %i32 %u", '{kind = "un"}', NONE),
        'kind = "un": it is one of eq, ne, lt',
    ),
    (
        ("vector_select", "%u %u %u %u %small %i32 %i32 %u", '{kind = "lt"}', NONE),
        "needs 288 bytes of scratch memory, not 256",
    ),
    (
        ("vector_column", "%urow %ucolumn", "", NONE),
        "makes 48x8 of one row of 48, not 32x8 of 1x48",
    ),
    (
        ("cross_set", "", '{from = "FIX", to = "MTE2", flag = 0 : i32}', NONE),
        "FIX and MTE2 are pipes of the same core: use set_flag and wait_flag",
    ),
    (("cross_set", "", '{from = "FIX", to = "L2", flag = 0 : i32}', NONE), "'L2' is no pipe"),
    (
        ("cross_wait", "", '{from = "FIX", to = "V", flag = 8 : i32}', NONE),
        "flags 0 to 7 exist between cores; this uses 8",
    ),
]


@pytest.mark.parametrize(("case", "says"), BROKEN, ids=[says[:40] for _, says in BROKEN])
def test_broken(case: tuple[str, str, str, str], says: str) -> None:
    problem = find_problem(kernel(*case))
    assert problem is not None
    op, text = problem
    assert op.name == f"staged.{case[0]}"
    assert 'loc("k.py":7:3)' in str(op.location)
    assert says in text
