"""Operands of `tt.dot` that `stage-loads` put into tiles of L1."""

from __future__ import annotations

from dataclasses import dataclass

from flagc.ir.analysis.accesses import LOADS, Refused
from flagc.ir.analysis.affine import Affine
from flagc.ir.analysis.index_values import IndexValues
from flagc.ir.module import Operation, Value, defining_op
from flagc.ir.staged.operations import staged_op
from flagc.ir.staged.tiles import TileType
from flagc.ir.types import TensorType


@dataclass(frozen=True)
class TileOperand:
    """A matrix in a tile. Rows and columns are the matrix's, not the tile's, if transposed.

    Attributes:
        move: the `staged.nd2nz` that fills the tile.
        transposed: the matrix's rows are the tile's columns.
        shape: sizes of the matrix that is multiplied.
        padded: the tile's sizes, which are no smaller.
        limits: how many rows and columns there are, unless there are more (i32).
        extents: the limits as formulas.
    """

    tile: Value
    move: Operation
    transposed: bool
    shape: tuple[int, int]
    padded: tuple[int, int]
    limits: tuple[Value, Value]
    extents: tuple[Affine, Affine]
    element: str


def tile_operand(values: IndexValues, dot: Operation, number: int) -> TileOperand | Refused:
    """Return the tile behind operand `number` of a dot."""
    value = dot.operands[number]
    op = defining_op(value)
    view = staged_op(op) if op is not None else None
    if op is None or view is None or view.name != "read_tile":
        which = "left" if number == 0 else "right"
        if op is not None and op.name in LOADS:
            return Refused(dot, op, f"the {which} operand is not in L1; stage-loads puts it there")
        source = f"'{op.name}'" if op is not None else "the loop around it"
        return Refused(
            dot, op or dot, f"the {which} operand comes from {source}, not from memory (tl.load)"
        )
    tile = view.operand("source")
    users = [staged_op(use.owner.operation) for use in tile.uses]
    (move,) = (user for user in users if user is not None and user.name == "nd2nz")
    kind, tensor = TileType.of(tile), TensorType.of(value)
    assert kind is not None and tensor is not None
    limits = (move.operand("rows"), move.operand("columns"))
    extents = (values.index(limits[0]), values.index(limits[1]))
    padded = (kind.rows, kind.columns)
    transposed = view.flag("transpose")
    if transposed:
        limits, extents, padded = limits[::-1], extents[::-1], padded[::-1]
    rows, columns = tensor.shape[-2:]
    return TileOperand(
        tile, move.op, transposed, (rows, columns), padded, limits, extents, kind.element
    )
