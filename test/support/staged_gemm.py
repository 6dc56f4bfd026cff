"""A GEMM in the dialect staged, written by hand: every op, flag and address of it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from flagc.ir.staged.tiles import accumulator_of

# Where each tile's two buffers begin.
_BUFFER = {"l1": 131072, "l0": 32768}


@dataclass(frozen=True)
class StagedGemm:
    """C = A @ B; `order` has T for a tensor that is stored transposed.

    Attributes:
        tile: M, N and K of a block; `step` of these K are in L0A and L0B at a time.
        bias: the element of a row that is added, '' for none. The fourth tensor then.
        addresses: whether tiles have addresses.
        flags: whether pipes wait for each other.
        unit_flag: whether M and FIX do so without flags.
        blocks: how many blocks share the tiles; 0: each has one.
    """

    element: str = "f16"
    out: str = "f16"
    order: str = "NN"
    tile: tuple[int, int, int] = (64, 64, 64)
    step: int = 32
    bias: str = ""
    relu: bool = False
    atomic: bool = False
    addresses: bool = True
    flags: bool = True
    unit_flag: bool = False
    blocks: int = 0

    def text(self) -> str:
        """Return the module in generic form. Arguments: tensors, M, N, K and three row strides."""
        bias = [f"!tt.ptr<{self.bias}>"] if self.bias else []
        pointers = [f"!tt.ptr<{kind}>" for kind in (self.element, self.element, self.out)] + bias
        names = ["a", "b", "c", *["bias"] * len(bias), "M", "N", "K", "sa", "sb", "sc"]
        types = [*pointers, *["i32"] * 6]
        arguments = ", ".join(f"%{n}: {t}" for n, t in zip(names, types, strict=True))
        limit = f"{{flagc.max_blocks = {self.blocks} : i32}}" if self.blocks else ""
        return f"""
"builtin.module"() ({{
  "tt.func"() <{{sym_name = "gemm", sym_visibility = "public",
                function_type = ({", ".join(types)}) -> ()}}> ({{
  ^bb0({arguments}):
{self._constants()}
{self._in_loop(self._program()) if self.blocks else self._program()}
    "tt.return"() : () -> ()
  }}) {limit} : () -> ()
}}) : () -> ()
"""

    def _constants(self) -> str:
        m, n, k = self.tile
        return _lines(
            [
                *(_constant(name, value) for name, value in (("zero", 0), ("bm", m), ("bn", n))),
                *(_constant(name, value) for name, value in (("bk", k), ("step", self.step))),
                '%true = "arith.constant"() <{value = true}> : () -> i1',
                '%nothing = "arith.constant"() <{value = 0 : i64}> : () -> i64',
            ]
        )

    def _in_loop(self, program: str) -> str:
        """The program for each tile of the grid that is this block's."""
        return f"""
    %block = "staged.block_index"() : () -> i32
    %gx = "staged.grid_size"() {{axis = 0 : i32}} : () -> i32
    %gy = "staged.grid_size"() {{axis = 1 : i32}} : () -> i32
    {_arith("muli", "tiles", "gx", "gy")}
    {_constant("blocks", self.blocks)}
    "scf.for"(%block, %tiles, %blocks) ({{
    ^bb3(%number: i32):
    {_arith("divsi", "x", "number", "gy")}
    {_arith("remsi", "y", "number", "gy")}
{program}
      "staged.barrier"() {{pipe = "ALL"}} : () -> ()
      "scf.yield"() : () -> ()
    }}) : (i32, i32, i32) -> ()
"""

    def _program(self) -> str:
        return f"""
{self._start()}
{self._flags("set", 2)}
{self._bias()}
    "scf.for"(%zero, %K, %bk) ({{
    ^bb1(%start: i32):
{self._k_block()}
      "scf.yield"() : () -> ()
    }}) : (i32, i32, i32) -> ()
{self._flags("wait", 2)}
{self._store()}
"""

    def _start(self) -> str:
        m, n, _ = self.tile
        program = [
            '%x = "tt.get_program_id"() {axis = 0 : i32} : () -> i32',
            '%y = "tt.get_program_id"() {axis = 1 : i32} : () -> i32',
        ]
        lines = [
            *([] if self.blocks else program),
            *(_arith("muli", "m0", "x", "bm"), _arith("muli", "n0", "y", "bn")),
            *(_arith("subi", "m", "M", "m0"), _arith("subi", "n", "N", "n0")),
            *(_wide(name) for name in ("m0", "n0", "sa", "sb", "sc")),
            self._alloc("acc", f"l0c, {m}x{n}x{self._sum}", [0]),
        ]
        return _lines(lines)

    @property
    def _sum(self) -> str:
        return accumulator_of(self.element)

    def _alloc(self, name: str, tile: str, addresses: list[int]) -> str:
        attributes = [f"buffers = {len(addresses)} : i32"]
        if self.addresses:
            attributes.append(f"addresses = array<i64: {', '.join(map(str, addresses))}>")
        kind = f"!staged.tile<{tile}>"
        return f'%{name} = "staged.alloc"() {{{", ".join(attributes)}}} : () -> {kind}'

    def _flags(self, kind: str, buffers: int) -> str:
        """Set or wait for all flags that say that a buffer is free."""
        return _lines(
            self._flag(kind, start, end, event)
            for start, end in (("MTE1", "MTE2"), ("M", "MTE1"))
            for event in range(buffers)
        )

    def _flag(self, kind: str, start: str, end: str, event: int = 0, tile: str = "") -> str:
        if not self.flags:
            return ""
        operand, types = "", "()"
        if tile:
            operand, types = f"%{tile}", f"({self._types[tile]})"
        attributes = f'{{from = "{start}", to = "{end}", event = {event} : i32}}'
        return f'"staged.{kind}_flag"({operand}) {attributes} : {types} -> ()'

    @property
    def _stored(self) -> tuple[tuple[int, int], tuple[int, int]]:
        """Rows and columns of the tiles of A and B in L1."""
        m, n, k = self.tile
        a = (m, k) if self.order[0] == "N" else (k, m)
        b = (k, n) if self.order[1] == "N" else (n, k)
        return a, b

    @property
    def _types(self) -> dict[str, str]:
        (m, n, _), (a, b) = self.tile, self._stored
        element = self.element
        tiles = {
            "ta": f"l1, {a[0]}x{a[1]}x{element}",
            "tb": f"l1, {b[0]}x{b[1]}x{element}",
            "la": f"l0a, {m}x{self.step}x{element}",
            "lb": f"l0b, {self.step}x{n}x{element}",
            "acc": f"l0c, {m}x{n}x{self._sum}",
            "bias_row": f"l1, 1x{n}x{self.bias}",
            "table": f"bt, 1x{n}x{self._sum}",
        }
        return {name: f"!staged.tile<{text}>" for name, text in tiles.items()}

    def _bias(self) -> str:
        if not self.bias:
            return ""
        types = self._types
        row, table = types["bias_row"], types["table"]
        one = '%one = "arith.constant"() <{value = 1 : i32}> : () -> i32'
        move = (
            '"staged.nd2nz"(%bias, %n0w, %nothing, %one, %n, %bias_row) : '
            f"(!tt.ptr<{self.bias}>, i64, i64, i32, i32, {row}) -> ()"
        )
        return _lines(
            [
                one,
                self._alloc("bias_row", _inside(row), [4 * _BUFFER["l1"] - 4096]),
                self._alloc("table", _inside(table), [0]),
                move,
                self._flag("set", "MTE2", "MTE1", 5),
                self._flag("wait", "MTE2", "MTE1", 5),
                f'"staged.load_bt"(%bias_row, %n, %table) : ({row}, i32, {table}) -> ()',
                self._flag("set", "MTE1", "M", 5),
                self._flag("wait", "MTE1", "M", 5),
            ]
        )

    def _k_block(self) -> str:
        types = self._types
        l1 = _BUFFER["l1"]
        lines = [
            *(_arith("subi", "k", "K", "start"), _wide("start")),
            *self._offset("a", self.order[0] == "T", "m0", "startw"),
            *self._offset("b", self.order[1] == "T", "startw", "n0"),
            self._alloc("ta", _inside(types["ta"]), [0, l1]),
            self._alloc("tb", _inside(types["tb"]), [2 * l1, 3 * l1 - 16384]),
            self._flag("wait", "MTE1", "MTE2", tile="ta"),
            self._move("a", self.order[0] == "T", "m", "k"),
            self._move("b", self.order[1] == "T", "k", "n"),
            self._flag("set", "MTE2", "MTE1", tile="ta"),
            self._flag("wait", "MTE2", "MTE1", tile="ta"),
            '"scf.for"(%zero, %bk, %step) ({',
            "^bb2(%at: i32):",
            *self._product(),
            '"scf.yield"() : () -> ()',
            "}) : (i32, i32, i32) -> ()",
            self._flag("set", "MTE1", "MTE2", tile="ta"),
        ]
        return _lines(lines)

    @staticmethod
    def _offset(name: str, transposed: bool, row: str, column: str) -> list[str]:
        """%<name>o: where the block begins; its rows are those in memory."""
        row, column = (f"{entry.removesuffix('w')}w" for entry in (row, column))
        first, second = (column, row) if transposed else (row, column)
        return [
            _arith("muli", f"{name}r", first, f"s{name}w", "i64"),
            _arith("addi", f"{name}o", f"{name}r", second, "i64"),
        ]

    def _move(self, name: str, transposed: bool, rows: str, columns: str) -> str:
        if transposed:
            rows, columns = columns, rows
        types = f"(!tt.ptr<{self.element}>, i64, i64, i32, i32, {self._types[f't{name}']})"
        operands = f"(%{name}, %{name}o, %s{name}w, %{rows}, %{columns}, %t{name})"
        return f'"staged.nd2nz"{operands} : {types} -> ()'

    def _product(self) -> list[str]:
        types = self._types
        l0 = _BUFFER["l0"]
        taken, bias = ("true" if order == "T" else "false" for order in self.order), ""
        a_turned, b_turned = taken
        init = "first"
        table = ""
        if self.bias:
            bias, table = ", %table", f", {types['table']}"
        a_at = "(%ta, %at, %zero" if self.order[0] == "T" else "(%ta, %zero, %at"
        b_at = "(%tb, %zero, %at" if self.order[1] == "T" else "(%tb, %at, %zero"
        return [
            _arith("subi", "kk", "k", "at"),
            _arith("addi", "so_far", "start", "at"),
            f'%{init} = "arith.cmpi"(%so_far, %zero) <{{predicate = 0 : i64}}> : (i32, i32) -> i1',
            self._alloc("la", _inside(types["la"]), [0, l0]),
            self._alloc("lb", _inside(types["lb"]), [0, l0]),
            self._flag("wait", "M", "MTE1", tile="la"),
            f'"staged.load_l0a"{a_at}, %m, %kk, %la) {{transpose = {a_turned}}} : '
            f"({types['ta']}, i32, i32, i32, i32, {types['la']}) -> ()",
            f'"staged.load_l0b"{b_at}, %kk, %n, %lb) {{transpose = {b_turned}}} : '
            f"({types['tb']}, i32, i32, i32, i32, {types['lb']}) -> ()",
            self._flag("set", "MTE1", "M", tile="la"),
            self._flag("wait", "MTE1", "M", tile="la"),
            f'"staged.mad"(%la, %lb, %acc, %m, %kk, %n, %{init}{bias}) '
            f"{{unit_flag = {2 * self.unit_flag} : i32}} : "
            f"({types['la']}, {types['lb']}, {types['acc']}, i32, i32, i32, i1{table}) -> ()",
            self._flag("set", "M", "MTE1", tile="la"),
        ]

    def _store(self) -> str:
        atomic = ', atomic = "add"' if self.atomic else ""
        relu = str(self.relu).lower()
        waits = [self._flag(kind, "M", "FIX") for kind in ("set", "wait")]
        types = f"({self._types['acc']}, !tt.ptr<{self.out}>, i64, i64, i32, i32)"
        return _lines(
            [
                *self._offset("c", False, "m0", "n0"),
                *([] if self.unit_flag else waits),
                f'"staged.fixpipe"(%acc, %c, %co, %scw, %m, %n) {{relu = {relu}{atomic}, '
                f"unit_flag = {3 * self.unit_flag} : i32}} : {types} -> ()",
            ]
        )


def _inside(tile: str) -> str:
    return tile.removeprefix("!staged.tile<").removesuffix(">")


def _constant(name: str, value: int) -> str:
    return f'%{name} = "arith.constant"() <{{value = {value} : i32}}> : () -> i32'


def _arith(name: str, result: str, left: str, right: str, kind: str = "i32") -> str:
    return f'%{result} = "arith.{name}"(%{left}, %{right}) : ({kind}, {kind}) -> {kind}'


def _wide(name: str) -> str:
    return f'%{name}w = "arith.extsi"(%{name}) : (i32) -> i64'


def _lines(lines: Iterable[str]) -> str:
    return "\n".join(f"    {line}" for line in lines if line)
