"""Moves: global memory to L1, L1 to L0A, L0B and BT.

A tile of L1 has one 32-byte block of each row in each fractal column; fractal columns lie `rows`
blocks apart, whatever part of them is used. Limits that end inside a fractal leave rows that no
move writes and that the Cube reads; these are set to zero, so that no product meets what happened
to lie there.
"""

from __future__ import annotations

from flagc.ir.module import Operation
from flagc.ir.staged.operations import StagedOp
from flagc.ir.staged.tiles import BLOCK_BYTES, FRACTAL_BYTES, FRACTAL_ROWS, ROW_BYTES
from flagc.targets.ascend.emission.code import Code, refuse, require
from flagc.targets.ascend.emission.instructions import (
    BIAS_MOVE,
    FEATURE_MAP,
    FILL,
    FRACTALS,
    ND2NZ_SHAPE,
    ND2NZ_STRIDES,
    WINDOW_EXTENT,
    WINDOW_SHAPE,
    most,
)
from flagc.targets.ascend.emission.scalars import Scalar
from flagc.targets.ascend.emission.tiles import Tile, Tiles

# Rows of the squares that LOAD.2D.TRANSPOSE turns, of bytes.
_SQUARE = 32
# MOV.L1.TO.BT counts its source in so many bytes.
_BIAS_UNIT = 64


class Moves:
    """Emission of nd2nz, fill and the loads."""

    def __init__(self, code: Code, tiles: Tiles) -> None:
        self._code = code
        self._scalars = code.scalars
        self._tiles = tiles

    def fill(self, view: StagedOp) -> None:
        """Zeros in a whole tile. What the same pipe moves there next has to wait."""
        tile = self._tiles.of(view.operand("tile"))
        blocks = tile.type.bytes // BLOCK_BYTES
        require(view.op, tile.type, FILL, "blocks", blocks)
        self._zero(tile.address, 1, blocks, 0)
        self._code.barrier("MTE2")

    def nd2nz(self, view: StagedOp) -> None:
        """Rows of global memory to fractals of L1."""
        scalars, tile = self._scalars, self._tiles.of(view.operand("tile"))
        require(view.op, tile.type, ND2NZ_SHAPE, "columns", tile.type.columns)
        require(view.op, tile.type, ND2NZ_STRIDES, "target_fractal_column", tile.type.rows)
        rows = scalars.limit(view.operand("rows"), tile.type.rows)
        columns = scalars.limit(view.operand("columns"), tile.type.columns)
        with scalars.positive(rows, columns):
            offset = scalars.extended(view.operand("offset"))
            start = scalars.multiply(offset, tile.element_bytes)
            source = scalars.add(view.operand("base"), start)
            stride = scalars.extended(view.operand("row_stride"))
            self._rows(tile, source, stride, rows, columns)
            if not self._is_filled(tile, view.op):
                self._zero_row_tail(tile, rows, columns)
                self._zero_column_tail(tile, rows, columns)

    def _rows(
        self, tile: Tile, source: Scalar, stride: Scalar, rows: Scalar, columns: Scalar
    ) -> None:
        """Move all rows at once, or one by one when they lie further apart than the field says."""
        scalars = self._scalars
        limit = most(ND2NZ_STRIDES, "source_row")
        if isinstance(stride, int) and 0 < stride <= limit:
            self._move(tile, tile.address, source, stride, rows, columns)
            return
        if isinstance(stride, int):
            self._row_by_row(tile, source, stride, rows, columns)
            return
        # 0 and negative strides are large as unsigned numbers once 1 is taken away.
        near = scalars.compare("ult", scalars.subtract(stride, 1), limit)
        with scalars.choice(near) as branch:
            self._move(tile, tile.address, source, stride, rows, columns)
        with scalars.otherwise(branch):
            self._row_by_row(tile, source, stride, rows, columns)

    def _row_by_row(
        self, tile: Tile, source: Scalar, stride: Scalar, rows: Scalar, columns: Scalar
    ) -> None:
        scalars = self._scalars
        step = scalars.multiply(stride, tile.element_bytes)
        with scalars.loop(rows) as row:
            target = scalars.add(tile.address, scalars.multiply(row, BLOCK_BYTES))
            start = scalars.add(source, scalars.multiply(row, step))
            self._move(tile, target, start, 1, 1, columns)

    def _move(
        self,
        tile: Tile,
        target: Scalar,
        source: Scalar,
        stride: Scalar,
        rows: Scalar,
        columns: Scalar,
    ) -> None:
        code = self._code
        shape = code.word(ND2NZ_SHAPE, matrices=1, rows=rows, columns=columns)
        strides = code.word(
            ND2NZ_STRIDES,
            source_row=stride,
            target_fractal_column=tile.type.rows,
            target_row=1,
            target_matrix=1,
        )
        code.call(f"nd2nz_{tile.type.element}", target, source, shape, strides)

    @staticmethod
    def _is_filled(tile: Tile, move: Operation) -> bool:
        """Whether the whole tile is set to zero right before, in the same block."""
        return any(user.name == "fill" and user.op.block == move.block for user in tile.users)

    def _zero_row_tail(self, tile: Tile, rows: Scalar, columns: Scalar) -> None:
        """Zeros below the last row, up to the end of the fractal (of bytes: of the square)."""
        scalars = self._scalars
        if tile.type.rows == 1:
            return
        unit = _SQUARE if tile.type.element == "i8" else FRACTAL_ROWS
        end = scalars.smaller(scalars.round_up(rows, unit), tile.type.rows)
        missing = scalars.subtract(end, rows)
        if isinstance(missing, int) and missing == 0:
            return
        with scalars.positive(missing):
            target = scalars.add(tile.address, scalars.multiply(rows, BLOCK_BYTES))
            gap = scalars.subtract(tile.type.rows, missing)
            self._zero(target, scalars.divide_up(columns, tile.c0), missing, gap)

    def _zero_column_tail(self, tile: Tile, rows: Scalar, columns: Scalar) -> None:
        """Zeros in the fractal columns after the last one, where loads take more of them.

        That is a bias, which is taken whole, and f32 that is read transposed (a fractal's 16 rows
        of m are two columns).
        """
        scalars = self._scalars
        used = scalars.divide_up(columns, tile.c0)
        if tile.type.rows == 1:
            end: Scalar = tile.type.reserved_bytes // BLOCK_BYTES
        elif tile.type.element == "f32" and ("load_l0a", True) in tile.feeds:
            end = scalars.round_up(used, 2)
        else:
            return
        missing = scalars.subtract(end, used)
        if isinstance(missing, int) and missing == 0:
            return
        with scalars.positive(missing):
            start = scalars.multiply(used, tile.type.rows * BLOCK_BYTES)
            target = scalars.add(tile.address, start)
            blocks = scalars.multiply(missing, scalars.round_up(rows, FRACTAL_ROWS))
            self._zero(target, 1, missing if tile.type.rows == 1 else blocks, 0)

    def _zero(self, target: Scalar, repeat: Scalar, blocks: Scalar, gap: Scalar) -> None:
        word = self._code.word(FILL, repeat=repeat, blocks=blocks, gap=gap)
        self._code.call("fill_zero", target, word)

    def load_l0a(self, view: StagedOp) -> None:
        """Part of a tile of L1 as A: rows are m, or k when it is read transposed."""
        self._load(view, "a", view.flag("transpose"))

    def load_l0b(self, view: StagedOp) -> None:
        """Part of a tile of L1 as B: rows are k, or n when it is read transposed."""
        self._load(view, "b", not view.flag("transpose"))

    def _load(self, view: StagedOp, side: str, turns: bool) -> None:
        """`turns`: rows of L1 become columns of the fractals."""
        scalars = self._scalars
        source = self._tiles.of(view.operand("source"))
        tile = self._tiles.of(view.operand("tile"))
        names = ("m", "k") if side == "a" else ("k", "n")
        first = scalars.limit(view.operand(names[0]), tile.type.rows)
        second = scalars.limit(view.operand(names[1]), tile.type.columns)
        row = scalars.multiply(scalars.extended(view.operand("row")), BLOCK_BYTES)
        column_bytes = source.type.rows * source.element_bytes
        column = scalars.multiply(scalars.extended(view.operand("column")), column_bytes)
        start = scalars.add(scalars.add(source.address, row), column)
        rows, columns = (second, first) if view.flag("transpose") else (first, second)
        with scalars.positive(rows, columns):
            if turns and tile.type.element == "i8":
                self._squares(view, side, source, start, rows, columns)
            elif side == "a" and tile.type.element == "i8":
                self._row_fractals(source, tile, start, rows, columns)
            elif side == "b" and not turns:
                self._column_fractals(source, tile, start, rows, columns)
            else:
                self._window(view, side, source, start, rows, columns)

    def _window(
        self,
        view: StagedOp,
        side: str,
        source: Tile,
        start: Scalar,
        rows: Scalar,
        columns: Scalar,
    ) -> None:
        """A window of a feature map, its rows turned where fractals want that."""
        scalars, code = self._scalars, self._code
        tile = self._tiles.of(view.operand("tile"))
        turns = side == "b" or view.flag("transpose")
        if turns and tile.type.element == "f32":
            self._require_pairs(view, tile, "columns" if side == "a" else "rows")
        # As the library rounds. Turned A of f32 takes two columns of L1 for 16 rows of m.
        unit = FRACTAL_ROWS if side == "a" and turns else source.c0
        height = scalars.round_up(rows, FRACTAL_ROWS)
        width = scalars.round_up(columns, unit)
        second = int(side == "b")
        name = "set_fmatrix_b" if second else "set_fmatrix"
        code.call(name, code.word(FEATURE_MAP, width=source.type.rows, height=1))
        extent = code.word(WINDOW_EXTENT, columns=width, rows=height)
        plain = dict.fromkeys(
            (
                *("stride_width", "stride_height", "kernel_width", "kernel_height"),
                *("dilation_width", "dilation_height"),
            ),
            1,
        )
        shape = code.word(
            WINDOW_SHAPE, **plain, transpose=int(turns), second_map=second, channels=width
        )
        code.call(f"load_{side}_window_{tile.type.element}", tile.address, start, extent, shape)

    @staticmethod
    def _require_pairs(view: StagedOp, tile: Tile, axis: str) -> None:
        """Turning f32 takes 16 of k at a time."""
        if getattr(tile.type, axis) % FRACTAL_ROWS:
            refuse(
                view.op,
                f"f32 that is turned on its way to {tile.type.memory} comes in 16 of k, which "
                f"{tile.type.text()} is no multiple of",
            )

    def _row_fractals(
        self, source: Tile, tile: Tile, start: Scalar, rows: Scalar, columns: Scalar
    ) -> None:
        """A as it is: for 16 rows of m, all fractals along k."""
        scalars = self._scalars
        along_k = scalars.divide_up(columns, source.c0)
        step = scalars.multiply(along_k, FRACTAL_BYTES)
        for index in scalars.each(scalars.divide_up(rows, FRACTAL_ROWS)):
            self._fractals(
                "a",
                tile,
                scalars.add(tile.address, scalars.multiply(index, step)),
                scalars.add(start, scalars.multiply(index, FRACTAL_BYTES)),
                along_k,
                source.type.rows // FRACTAL_ROWS,
            )

    def _column_fractals(
        self, source: Tile, tile: Tile, start: Scalar, rows: Scalar, columns: Scalar
    ) -> None:
        """B whose rows in L1 are n: for each fractal of k, all fractals along n.

        They follow each other in L1 when all rows are taken, and then are one move.
        """
        scalars = self._scalars
        along_n = scalars.divide_up(rows, FRACTAL_ROWS)
        along_k = scalars.divide_up(columns, source.c0)
        whole = source.type.rows // FRACTAL_ROWS
        together = scalars.multiply(along_n, along_k)
        if source.type.rows != tile.type.columns:
            self._by_k(source, tile, start, along_n, along_k)
        elif isinstance(along_n, int):
            if along_n == whole:
                self._fractals("b", tile, tile.address, start, together, 1)
            else:
                self._by_k(source, tile, start, along_n, along_k)
        else:
            with scalars.choice(scalars.compare("eq", along_n, whole)) as branch:
                self._fractals("b", tile, tile.address, start, together, 1)
            with scalars.otherwise(branch):
                self._by_k(source, tile, start, along_n, along_k)

    def _by_k(
        self, source: Tile, tile: Tile, start: Scalar, along_n: Scalar, along_k: Scalar
    ) -> None:
        scalars = self._scalars
        step = scalars.multiply(along_n, FRACTAL_BYTES)
        for index in scalars.each(along_k):
            self._fractals(
                "b",
                tile,
                scalars.add(tile.address, scalars.multiply(index, step)),
                scalars.add(start, scalars.multiply(index, source.type.rows * BLOCK_BYTES)),
                along_n,
                1,
            )

    def _fractals(
        self, side: str, tile: Tile, target: Scalar, start: Scalar, repeat: Scalar, stride: int
    ) -> None:
        word = self._code.word(FRACTALS, repeat=repeat, source_stride=stride)
        self._code.call(f"load_{side}_fractals_{tile.type.element}", target, start, word)

    def _squares(
        self,
        view: StagedOp,
        side: str,
        source: Tile,
        start: Scalar,
        rows: Scalar,
        columns: Scalar,
    ) -> None:
        """Bytes, turned in squares of 32: each becomes two fractals, of m (A) or n (B).

        One instruction for each, as in the library; the unit of a stride between them is not sure.
        """
        scalars, tile = self._scalars, self._tiles.of(view.operand("tile"))
        if tile.type.rows % _SQUARE or tile.type.columns % _SQUARE:
            refuse(
                view.op,
                f"bytes are turned in squares of {_SQUARE}, which {tile.type.text()} is no "
                "multiple of",
            )
        down = scalars.divide_up(rows, _SQUARE)  # along k
        across = scalars.divide_up(columns, _SQUARE)  # along m or n, two fractals each
        for outer in scalars.each(across):
            for inner in scalars.each(down):
                if side == "a":  # [m/16][k/32]
                    place = scalars.add(scalars.multiply(scalars.multiply(outer, 2), down), inner)
                    apart = scalars.subtract(down, 1)
                else:  # [k/32][n/16]
                    line = scalars.multiply(scalars.multiply(inner, across), 2)
                    place = scalars.add(line, scalars.multiply(outer, 2))
                    apart = 0
                target = scalars.add(tile.address, scalars.multiply(place, FRACTAL_BYTES))
                along = scalars.multiply(inner, _SQUARE * BLOCK_BYTES)
                sideways = scalars.multiply(outer, source.type.rows * BLOCK_BYTES)
                word = self._code.word(FRACTALS, repeat=1, source_stride=1, gap=1)
                self._code.call(
                    f"load_{side}_squares_i8",
                    target,
                    scalars.add(scalars.add(start, along), sideways),
                    word,
                    apart,
                )

    def load_bt(self, view: StagedOp) -> None:
        """One row of L1 to the bias table."""
        scalars = self._scalars
        source = self._tiles.of(view.operand("source"))
        tile = self._tiles.of(view.operand("tile"))
        count = scalars.limit(view.operand("n"), tile.type.columns)
        with scalars.positive(count):
            size = scalars.multiply(count, source.element_bytes)
            whole = scalars.round_up(size, _bias_bytes(source))
            word = self._code.word(
                BIAS_MOVE,
                from_f16=int(source.type.element == "f16"),
                bursts=1,
                length=scalars.divide_up(whole, _BIAS_UNIT),
            )
            self._code.call("load_bt", tile.address, source.address, word)


def _bias_bytes(source: Tile) -> int:
    """Bytes that a bias in L1 is rounded up to: products of bytes may take 32 columns at a time."""
    return ROW_BYTES if source.type.element == "i32" else _BIAS_UNIT
