"""Moves of the vector cores, and what a cube core and its vector cores hand each other."""

from __future__ import annotations

from flagc.ir.module import Value
from flagc.ir.staged.operations import StagedOp
from flagc.ir.staged.tiles import BLOCK_BYTES
from flagc.ir.types import element_bits
from flagc.targets.ascend.emission.abi import KernelFunction
from flagc.targets.ascend.emission.code import Code, require
from flagc.targets.ascend.emission.control import Control, pipe_name
from flagc.targets.ascend.emission.instructions import UB_GAPS, UB_MOVE
from flagc.targets.ascend.emission.products import ATOMIC_BITS, Products
from flagc.targets.ascend.emission.scalars import Scalar
from flagc.targets.ascend.emission.tiles import Tile, Tiles

_CORES = {"AIC": "CUBE", "AIV": "VECTOR"}


class Exchange:
    """Emission of spill, fetch, load_ub, store_ub, cross_set and cross_wait.

    `workspace` is the bytes that each block has for its tiles of gm.
    """

    def __init__(
        self,
        code: Code,
        tiles: Tiles,
        kernel: KernelFunction,
        products: Products,
        control: Control,
        workspace: int,
    ) -> None:
        self._code = code
        self._scalars = code.scalars
        self._tiles = tiles
        self._kernel = kernel
        self._products = products
        self._control = control
        self._bytes = workspace
        self._own: Value | None = None

    def spill(self, view: StagedOp) -> None:
        """Accumulators, as they are, to rows of the block's workspace."""
        tile = self._tiles.of(view.operand("tile"))
        source = self._tiles.of(view.operand("source"))
        m = self._scalars.limit(view.operand("m"), source.type.rows)
        n = self._scalars.limit(view.operand("n"), source.type.columns)
        target = self._address(tile)
        with self._scalars.positive(m, n):
            element = tile.type.element
            self._products.store(view, source, target, tile.type.columns, (m, n), element)

    def _address(self, tile: Tile) -> Scalar:
        """Return where a tile of gm is."""
        if self._own is None:
            place = self._scalars.before
            self._scalars.at_start()
            base = self._kernel.workspace(self._scalars)
            block = self._scalars.extended(self._control.block_index())
            offset = self._scalars.multiply(block, self._bytes)
            self._own = self._scalars.value(self._scalars.add(base, offset))
            self._scalars.at(place)
        return self._scalars.add(self._own, tile.address)

    def fetch(self, view: StagedOp) -> None:
        """Rows of the block's workspace to UB."""
        scalars = self._scalars
        source = self._tiles.of(view.operand("source"))
        require(view.op, source.type, UB_GAPS, "source", source.type.bytes)
        row = scalars.extended(view.operand("row"))
        pitch = source.type.columns * source.element_bytes
        start = scalars.add(self._address(source), scalars.multiply(row, pitch))
        self._load(view, start, source.type.columns, source.type.columns)

    def load_ub(self, view: StagedOp) -> None:
        """Rows of global memory to UB."""
        tile = self._tiles.of(view.operand("tile"))
        self._load(view, self._global(view, tile), self._stride(view), tile.type.columns)

    def _global(self, view: StagedOp, tile: Tile) -> Scalar:
        offset = self._scalars.extended(view.operand("offset"))
        start = self._scalars.multiply(offset, tile.element_bytes)
        return self._scalars.add(view.operand("base"), start)

    def _stride(self, view: StagedOp) -> Scalar:
        return self._scalars.extended(view.operand("row_stride"))

    def _load(self, view: StagedOp, start: Scalar, stride: Scalar, most: int) -> None:
        tile = self._tiles.of(view.operand("tile"))
        name = f"ub_load_{element_bits(tile.type.element)}"
        columns = min(tile.type.columns, most)
        self._rows(view, tile, start, stride, name, columns, from_global=True)

    def store_ub(self, view: StagedOp) -> None:
        """Rows of UB to global memory."""
        tile = self._tiles.of(view.operand("source"))
        atomic = ATOMIC_BITS[tile.type.element] if view.text("atomic") else ()
        self._products.set_control(atomic, enable=True)
        name = f"ub_store_{element_bits(tile.type.element)}"
        start, stride = self._global(view, tile), self._stride(view)
        self._rows(view, tile, start, stride, name, tile.type.columns, from_global=False)
        self._products.set_control(atomic, enable=False)

    def _rows(
        self,
        view: StagedOp,
        tile: Tile,
        start: Scalar,
        stride: Scalar,
        name: str,
        most: int,
        *,
        from_global: bool,
    ) -> None:
        """Move all rows at once, or one by one where they overlap or come in another order."""
        scalars = self._scalars
        require(view.op, tile.type, UB_MOVE, "bursts", tile.type.rows)
        rows = scalars.limit(view.operand("rows"), tile.type.rows)
        columns = scalars.limit(view.operand("columns"), most)
        size = scalars.multiply(columns, tile.element_bytes)
        step = scalars.multiply(stride, tile.element_bytes)
        pitch = tile.type.columns * tile.element_bytes

        def move(place: Scalar, near: Scalar, count: Scalar, gap: Scalar) -> None:
            blocks = scalars.divide_up(size, BLOCK_BYTES)
            inside = scalars.subtract(pitch // BLOCK_BYTES, blocks)
            source, target = (gap, inside) if from_global else (inside, gap)
            shape = self._code.word(UB_MOVE, bursts=count, bytes=size)
            gaps = self._code.word(UB_GAPS, source=source, target=target)
            ends = (near, place) if from_global else (place, near)
            self._code.call(name, *ends, shape, gaps)

        with scalars.positive(rows, columns):
            # A gap of 32 bits; a negative one is large as an unsigned number.
            gap = scalars.subtract(step, size)
            regular = scalars.compare("ult", gap, 1 << 32)
            with scalars.choice(regular) as branch:
                move(start, tile.address, rows, gap)
            with scalars.otherwise(branch), scalars.loop(rows) as row:
                place = scalars.add(start, scalars.multiply(row, step))
                near = scalars.add(tile.address, scalars.multiply(row, pitch))
                move(place, near, 1, 0)

    def cross(self, view: StagedOp, core: str) -> None:
        """Set or wait for a flag between the cores. The scalar unit waits, as the vendor's does."""
        start = pipe_name(view.text("from"))
        attributes = {
            "tcore_type": f"#hivm.tcore_type<{_CORES[core]}>",
            "tpipe": f"#hivm.pipe<PIPE_{start}>",
            "pipe": "#hivm.pipe<PIPE_S>",
            "static_flag_id": f"{view.integer('flag')} : i64",
        }
        if view.name == "cross_wait":
            self._code.hivm("sync_block_wait", **attributes)
            return
        base = self._kernel.ffts_base
        attributes["operandSegmentSizes"] = "array<i32: 0, 1>"
        self._scalars.op("hivm.hir.sync_block_set", [base], [], **attributes)
