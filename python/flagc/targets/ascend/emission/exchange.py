"""Moves of the vector cores, and what a cube core and its vector cores hand each other."""

from __future__ import annotations

from flagc.ir.analysis.tile_accesses import is_shared
from flagc.ir.module import Value
from flagc.ir.staged.operations import StagedOp, core_of_pipe
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
    """Emission of spill, fetch, load_ub, store_ub, cross_set, cross_wait and grid_barrier.

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
        self._starts: dict[bool, Value] = {}

    def spill(self, view: StagedOp) -> None:
        """Accumulators, as they are, to rows of the block's workspace."""
        tile = self._tiles.of(view.operand("tile"))
        source = self._tiles.of(view.operand("source"))
        m = self._scalars.limit(view.operand("m"), source.type.rows)
        n = self._scalars.limit(view.operand("n"), source.type.columns)
        row = self._scalars.extended(view.operand("row")) if view.has("row") else 0
        target = self._row_address(tile, row)
        with self._scalars.positive(m, n):
            element = tile.type.element
            self._products.store(view, source, target, tile.type.columns, (m, n), element)

    def _row_address(self, tile: Tile, row: Scalar) -> Scalar:
        """Return where a row of a tile of gm is."""
        scalars = self._scalars
        start = self._block_workspace(shared=is_shared(tile.alloc))
        if is_shared(tile.alloc):
            # Rows are numbered through all blocks, each of which has so many.
            block = scalars.divide(row, tile.type.rows)
            start = scalars.add(start, scalars.multiply(block, self._bytes))
            row = scalars.subtract(row, scalars.multiply(block, tile.type.rows))
        pitch = tile.type.columns * tile.element_bytes
        return scalars.add(scalars.add(start, tile.address), scalars.multiply(row, pitch))

    def _block_workspace(self, *, shared: bool) -> Scalar:
        """Return where this block's part of the workspace begins; the first's with `shared`."""
        if shared not in self._starts:
            place = self._scalars.before
            self._scalars.at_start()
            start: Scalar = self._kernel.workspace(self._scalars)
            if not shared:
                block = self._scalars.extended(self._control.block_index())
                start = self._scalars.add(start, self._scalars.multiply(block, self._bytes))
            self._starts[shared] = self._scalars.value(start)
            self._scalars.at(place)
        return self._starts[shared]

    def fetch(self, view: StagedOp) -> None:
        """Rows of the block's workspace to UB."""
        source = self._tiles.of(view.operand("source"))
        require(view.op, source.type, UB_GAPS, "source", source.type.bytes)
        start = self._row_address(source, self._scalars.extended(view.operand("row")))
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
        self._flag("wait" if view.name == "cross_wait" else "set", view, core, start)

    def grid_barrier(self, view: StagedOp, core: str) -> None:
        """All cores of one kind wait for each other, then each lets the other kind's go on."""
        start = pipe_name(view.text("from"))
        if core == core_of_pipe(view.text("from")):
            self._flag("set", view, core, start, mode="INTER_BLOCK_SYNCHRONIZATION")
            self._flag("wait", view, core, start)
            self._flag("set", view, core, start)
        else:
            self._flag("wait", view, core, start)

    def _flag(self, kind: str, view: StagedOp, core: str, pipe: str, mode: str = "") -> None:
        attributes = {
            "tcore_type": f"#hivm.tcore_type<{_CORES[core]}>",
            "tpipe": f"#hivm.pipe<PIPE_{pipe}>",
            "pipe": "#hivm.pipe<PIPE_S>",
            "static_flag_id": f"{view.integer('flag')} : i64",
        }
        if kind == "wait":
            self._code.hivm("sync_block_wait", **attributes)
            return
        if mode:
            attributes["tsync_instr_mode"] = f"#hivm.sync_block_instr_mode<{mode}>"
        base = self._kernel.ffts_base
        attributes["operandSegmentSizes"] = "array<i32: 0, 1>"
        self._scalars.op("hivm.hir.sync_block_set", [base], [], **attributes)
