"""Run modules of level staged on numpy arrays: what tiles hold, whatever they are made of.

Every element of a tile is undefined until something puts it there; a buffer is undefined each time
its `staged.alloc` is executed. Storing what is undefined is an error (`Undefined`). Flags and
barriers do nothing: ops run in program order.
"""

import numpy as np

from flagc.ir.staged.operations import DEFINITIONS, PREFIX, staged_op
from flagc.ir.staged.tiles import TileType
from flagc.ir.types import PointerType
from support.ttir_interpreter import Program, dtype_of
from support.ttir_interpreter import run as run_ttir


class Undefined(AssertionError):
    """Something is stored that nothing computed."""


class Tile:
    """One tile: values, and which of them are defined."""

    def __init__(self, kind):
        self.values = np.zeros((kind.rows, kind.columns), dtype_of(kind.element))
        self.defined = np.zeros(self.values.shape, bool)


def run(module, arguments, grid=(1,)):
    """Run the module's only kernel; see `ttir_interpreter.run`."""
    run_ttir(module, arguments, grid, StagedProgram)


class StagedProgram(Program):
    """A program that knows the ops of the dialect."""

    def checked(self, op, result, output):
        return output if isinstance(output, Tile) else super().checked(op, result, output)

    def staged(self, op, inputs):
        view = staged_op(op)
        named = dict(zip(view.definition.operands, inputs, strict=False))
        return getattr(self, f"do_{view.name}")(view, **named) or []

    def do_alloc(self, view):
        return [Tile(TileType.of(view.op.results[0]))]

    def do_fill(self, view, tile):
        tile.values[:], tile.defined[:] = 0, True

    def do_nd2nz(self, view, base, offset, row_stride, rows, columns, tile):
        rows, columns = _limits(tile.values.shape, rows, columns)
        dtype = tile.values.dtype
        for row in range(rows if columns else 0):
            address = int(base) + (int(offset) + row * int(row_stride)) * dtype.itemsize
            for column in range(columns):
                value = self.memory.load(address + column * dtype.itemsize, dtype)
                tile.values[row, column] = value
        tile.defined[:rows, :columns] = True

    def do_load_l0a(self, view, source, row, column, m, k, tile):
        self._part(view, source, (int(row), int(column)), (m, k), tile)

    def do_load_l0b(self, view, source, row, column, k, n, tile):
        self._part(view, source, (int(row), int(column)), (k, n), tile)

    def _part(self, view, source, place, limits, tile):
        rows, columns = _limits(tile.values.shape, *limits)
        there = source.values[place[0] :, place[1] :], source.defined[place[0] :, place[1] :]
        if view.flag("transpose"):
            there = there[0].T, there[1].T
        tile.values[:rows, :columns] = there[0][:rows, :columns]
        tile.defined[:rows, :columns] = there[1][:rows, :columns]

    def do_load_bt(self, view, source, n, tile):
        (columns,) = _limits(tile.values.shape[1:], n)
        tile.values[:, :columns] = source.values[:, :columns].astype(tile.values.dtype)
        tile.defined[:, :columns] = source.defined[:, :columns]

    def do_mad(self, view, a, b, c, m, k, n, init, bias=None):
        m, n = _limits(c.values.shape, m, n)
        (k,) = _limits(a.values.shape[1:], k)
        if not (m and n and k):
            return
        total, defined = c.values[:m, :n], c.defined[:m, :n]
        if init:
            start = 0 if bias is None else bias.values[:, :n]
            total[:] = start
            defined[:] = True if bias is None else bias.defined[:, :n]
        kind = total.dtype
        total += a.values[:m, :k].astype(kind) @ b.values[:k, :n].astype(kind)
        defined &= a.defined[:m, :k].all(1)[:, None] & b.defined[:k, :n].all(0)[None, :]

    def do_fixpipe(self, view, source, base, offset, row_stride, m, n):
        rows, columns = _limits(source.values.shape, m, n)
        dtype = dtype_of(PointerType.of(view.operand("base")).pointee)
        values = source.values[:rows, :columns]
        if not source.defined[:rows, :columns].all():
            raise Undefined(f"{view.op}")
        if view.flag("relu"):
            values = np.maximum(values, 0)
        for (row, column), value in np.ndenumerate(values.astype(dtype)):
            element = int(offset) + row * int(row_stride) + column
            address = int(base) + element * dtype.itemsize
            before = self.memory.load(address, dtype) if view.text("atomic") == "add" else 0
            self.memory.store(address, dtype.type(value + before))

    def do_nothing(self, view, *_, **__):
        """Flags and barriers."""

    do_set_flag = do_wait_flag = do_barrier = do_nothing


def _limits(sizes, *limits):
    return [max(0, min(int(limit), size)) for limit, size in zip(limits, sizes, strict=True)]


StagedProgram.handlers = {
    **Program.handlers,
    **{f"{PREFIX}{name}": StagedProgram.staged for name in DEFINITIONS},
}
