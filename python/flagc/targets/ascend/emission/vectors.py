"""Vector ops: instructions over all rows of a tile at once, 64 columns after the other.

One repeat of an instruction handles the same 64 columns of one row, so that limits are a mask, the
number of repeats, and the number of instructions. What is repeated has a stride of 0.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from flagc.ir.staged.operations import StagedOp
from flagc.ir.staged.tiles import BLOCK_BYTES
from flagc.ir.staged.verify_vector import COLUMN
from flagc.targets.ascend.emission.code import Code
from flagc.targets.ascend.emission.instructions import VECTOR_BINARY, VECTOR_UNARY
from flagc.targets.ascend.emission.scalars import Scalar
from flagc.targets.ascend.emission.tiles import Tile, Tiles

# Elements of 32 bits in a repeat; conversions count by the wider type.
_LANES = 64
_ALL = -1  # a mask of 64 lanes
_ROUNDING_LETTERS = {"rint": "r", "trunc": "z", "floor": "f", "ceil": "c", "": ""}


@dataclass(frozen=True)
class _Operand:
    """Where an instruction finds 64 columns of all rows; strides in blocks."""

    address: Scalar
    block_stride: int
    repeat_stride: int


class Vectors:
    """Emission of the ops `vector_...`."""

    def __init__(self, code: Code, tiles: Tiles) -> None:
        self._code = code
        self._scalars = code.scalars
        self._tiles = tiles

    def fill(self, view: StagedOp) -> None:
        """One number everywhere."""
        tile = self._tiles.of(view.operand("tile"))
        value = view.operand("value")
        if tile.type.element == "f32":
            value = self._scalars.op("arith.bitcast", [value], ["i32"]).results[0]
        bits = self._scalars.extended(value)
        with self._parts(tile, tile.type.columns) as part:
            self._fill(self._part(tile, tile, part), bits, tile.type.rows)
        self._settle()

    def _fill(self, target: _Operand, bits: Scalar, rows: Scalar) -> None:
        word = self._code.word(
            VECTOR_UNARY,
            target_block=target.block_stride,
            target_repeat=target.repeat_stride,
            repeat=rows,
        )
        self._code.call("vector_fill", target.address, bits, word)

    def cast(self, view: StagedOp) -> None:
        """To another type, or to whole numbers."""
        tile = self._tiles.of(view.operand("tile"))
        source = self._tiles.of(view.operand("source"))
        letter = _ROUNDING_LETTERS[view.text("rounding")]
        self._unary(view, f"vector_cast_{source.type.element}_{tile.type.element}{letter}")

    def unary(self, view: StagedOp) -> None:
        """A function of one element."""
        self._unary(view, f"vector_{view.text('kind')}")

    def _unary(self, view: StagedOp, name: str) -> None:
        source = self._tiles.of(view.operand("source"))

        def compute(tile: Tile, part: Scalar, rows: Scalar) -> None:
            target, given = self._part(tile, tile, part), self._part(source, tile, part)
            word = self._code.word(
                VECTOR_UNARY,
                target_block=target.block_stride,
                source_block=given.block_stride,
                target_repeat=target.repeat_stride,
                source_repeat=given.repeat_stride,
                repeat=rows,
            )
            self._code.call(name, target.address, given.address, word)

        self._each(view, compute)

    def binary(self, view: StagedOp) -> None:
        """A function of two elements."""
        left, right = (self._tiles.of(view.operand(name)) for name in ("left", "right"))

        def compute(tile: Tile, part: Scalar, rows: Scalar) -> None:
            name = f"vector_{view.text('kind')}_{tile.type.element}"
            operands = [self._part(given, tile, part) for given in (tile, left, right)]
            self._two(name, operands, rows)

        self._each(view, compute)

    def _two(self, name: str, operands: list[_Operand], rows: Scalar, mode: int = 0) -> None:
        target, left, right = operands
        word = self._code.word(
            VECTOR_BINARY,
            target_block=target.block_stride,
            left_block=left.block_stride,
            right_block=right.block_stride,
            target_repeat=target.repeat_stride,
            left_repeat=left.repeat_stride,
            right_repeat=right.repeat_stride,
            mode=mode,
            repeat=rows,
        )
        self._code.call(name, target.address, left.address, right.address, word)

    def select(self, view: StagedOp) -> None:
        """Compare, and take one of two elements.

        The comparison's bits lie at the start of the scratch memory; VSEL takes their address from
        a register that is loaded from UB, where it is in the scratch memory's last block.
        """
        names = ("left", "right", "if_true", "if_false")
        left, right, if_true, if_false = (self._tiles.of(view.operand(name)) for name in names)
        scratch = self._tiles.of(view.operand("scratch"))
        cell = self._scalars.add(scratch.address, scratch.type.bytes - BLOCK_BYTES)
        bits = _Operand(scratch.address, 1, COLUMN)
        with self._scalars.positive(*self._limits(view)):
            for lanes, number in ((COLUMN, 0), (1, scratch.address)):
                self._mask(lanes)
                self._fill(_Operand(cell, 1, 0), number, 1)
                self._settle()
            self._code.call("set_compare_mask", cell)

        def compute(tile: Tile, part: Scalar, rows: Scalar) -> None:
            compared = [bits, *(self._part(given, tile, part) for given in (left, right))]
            self._two(f"vector_{view.text('kind')}", compared, rows)
            self._settle()
            taken = [self._part(given, tile, part) for given in (tile, if_true, if_false)]
            self._two("vector_select", taken, rows, mode=2)
            self._settle()

        self._each(view, compute)

    def column(self, view: StagedOp) -> None:
        """Each number of a row, 8 times. No mask applies."""
        source, tile = (self._tiles.of(view.operand(name)) for name in ("source", "tile"))
        word = self._code.word(
            VECTOR_UNARY,
            target_block=1,
            target_repeat=COLUMN,
            repeat=-(-tile.type.rows // COLUMN),
        )
        self._code.call("vector_column", tile.address, source.address, word)
        self._settle()

    def _limits(self, view: StagedOp) -> tuple[Scalar, Scalar]:
        tile = self._tiles.of(view.operand("tile"))
        rows = self._scalars.limit(view.operand("rows"), tile.type.rows)
        columns = self._scalars.limit(view.operand("columns"), tile.type.columns)
        return rows, columns

    def _each(self, view: StagedOp, compute: Callable[[Tile, Scalar, Scalar], None]) -> None:
        tile = self._tiles.of(view.operand("tile"))
        rows, columns = self._limits(view)
        with self._scalars.positive(rows, columns):
            with self._parts(tile, columns) as part:
                compute(tile, part, rows)
            self._settle()

    @contextmanager
    def _parts(self, tile: Tile, columns: Scalar) -> Iterator[Scalar]:
        """Create what follows for each 64 columns, with a mask of those that there are."""
        scalars = self._scalars
        if tile.type.columns <= _LANES:
            self._mask(columns)
            yield 0
            return
        with scalars.loop(scalars.divide_up(columns, _LANES)) as part:
            rest = scalars.subtract(columns, scalars.multiply(part, _LANES))
            self._mask(scalars.smaller(rest, _LANES))
            yield part

    def _mask(self, lanes: Scalar) -> None:
        """Let the first `lanes` of 64 take part, at least one."""
        mask = self._scalars.shift_right(_ALL, self._scalars.subtract(_LANES, lanes))
        self._code.call("set_mask", 0, mask)

    def _part(self, given: Tile, result: Tile, part: Scalar) -> _Operand:
        """Return where an operand's columns are that stand for those of the result."""
        kind = given.type
        is_column = kind.columns == COLUMN and result.type.columns != COLUMN
        pitch = kind.columns * given.element_bytes // BLOCK_BYTES
        repeat = 0 if kind.rows == 1 else pitch
        if is_column:
            return _Operand(given.address, 0, repeat)
        step = self._scalars.multiply(part, _LANES * given.element_bytes)
        return _Operand(self._scalars.add(given.address, step), 1, repeat)

    def _settle(self) -> None:
        """What comes next may read what was written (AscendC, PipeBarrier<PIPE_V>)."""
        self._code.barrier("V")
