"""Moves of a K loop whose tiles of several iterations lie next to each other in global memory.

    for k in range(0, K, 64):  nd2nz(a + k, ...)   # 64 columns, then the next 64

Such moves can be made several at a time (`pack-k`).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from flagc.ir.analysis import affine
from flagc.ir.analysis.affine import Affine, Symbol
from flagc.ir.analysis.index_values import IndexValues, NotAffine
from flagc.ir.analysis.loop_carried import is_defined_inside
from flagc.ir.analysis.tile_accesses import block_of, is_allocation, tile_of
from flagc.ir.dead_code import is_pure
from flagc.ir.module import Operation, Value, defining_op
from flagc.ir.regions import is_inside
from flagc.ir.staged.operations import StagedOp, staged_op
from flagc.ir.staged.tiles import TileType

LOADS = ("load_l0a", "load_l0b")


@dataclass(frozen=True)
class Move:
    """One `staged.nd2nz` that can be packed.

    Attributes:
        view: the op.
        allocation: the `staged.alloc` of its tile.
        readers: the loads that take the tile to L0A or L0B.
        along: the name of the limit along k, `rows` or `columns`.
        is_limited: whether that limit comes from a mask; else the loop's end limits k.
        slice: the loop body's ops that compute the move's operands.
    """

    view: StagedOp
    allocation: Operation
    readers: tuple[StagedOp, ...]
    along: str
    is_limited: bool
    slice: tuple[Operation, ...]

    @property
    def tile(self) -> TileType:
        """The tile of one iteration."""
        return tile_of(self.allocation)

    @property
    def depth(self) -> int:
        """How far along k one iteration goes."""
        return self.tile.columns if self.along == "columns" else self.tile.rows

    @property
    def feeds(self) -> str:
        """`a` or `b`: the operand that the tile is."""
        return "a" if self.readers[0].name == "load_l0a" else "b"

    def packed(self, steps: int) -> TileType:
        """Return the tile of `steps` iterations."""
        tile = self.tile
        if self.along == "columns":
            return TileType(tile.memory, tile.rows, tile.columns * steps, tile.element)
        return TileType(tile.memory, tile.rows * steps, tile.columns, tile.element)


@dataclass(frozen=True)
class Unpackable:
    """Why a move, or a loop, stays as it is."""

    op: Operation
    reason: str


def moves_of(loop: Operation, values: IndexValues) -> list[Move | Unpackable]:
    """Return what is known of each `staged.nd2nz` of the body of the `scf.for` `loop` itself."""
    found: list[Move | Unpackable] = []
    for child in loop.regions[0].blocks[0].operations:
        view = staged_op(child.operation)
        if view is not None and view.name == "nd2nz":
            found.append(_move(loop, view, values))
    return found


def _move(loop: Operation, view: StagedOp, values: IndexValues) -> Move | Unpackable:
    tile = view.operand("tile")
    allocation = defining_op(tile)
    if allocation is None or not is_allocation(allocation):
        return Unpackable(view.op, "its tile is not known")
    if block_of(allocation) != block_of(view.op):
        return Unpackable(view.op, "its tile is not of the loop's body alone")
    users = [use.owner.operation for use in tile.uses]
    readers = [user for user in map(staged_op, users) if user is not None and user.name in LOADS]
    strangers = [user for user in users if user != view.op and not _is_one_of(user, readers)]
    if strangers:
        return Unpackable(strangers[0], "the tile is used by more than loads to L0A or L0B")
    axes = {_axis(reader) for reader in readers}
    if len(axes) != 1 or len({reader.name for reader in readers}) != 1:
        return Unpackable(view.op, "the tile has no one dimension that is k")
    if not all(is_inside(reader.op, loop) for reader in readers):
        return Unpackable(view.op, "the tile is read after the loop")
    (along,) = axes
    slice_ = _slice(loop, view.op.operands)
    if isinstance(slice_, Unpackable):
        return slice_
    limited = _advance_problem(loop, view, along, values)
    if isinstance(limited, Unpackable):
        return limited
    return Move(view, allocation, tuple(readers), along, limited, tuple(slice_))


def _is_one_of(op: Operation, views: Iterable[StagedOp]) -> bool:
    return any(view.op == op for view in views)


def _axis(reader: StagedOp) -> str:
    """Return which dimension of L1's tile is k: L0A's columns, L0B's rows."""
    is_columns = (reader.name == "load_l0a") != reader.flag("transpose")
    return "columns" if is_columns else "rows"


def _slice(loop: Operation, values: Iterable[Value]) -> list[Operation] | Unpackable:
    """Return the ops of the loop's body that compute `values`, in order."""
    body = [child.operation for child in loop.regions[0].blocks[0].operations]
    needed: list[Operation] = []
    pending = [op for op in map(defining_op, values) if op is not None]
    while pending:
        op = pending.pop()
        if op in needed or is_allocation(op) or not is_inside(op, loop):
            continue
        if op not in body or not is_pure(op):
            return Unpackable(op, "the move depends on what the iteration does before")
        needed.append(op)
        pending += [source for source in map(defining_op, op.operands) if source is not None]
    return [op for op in body if op in needed]


def _advance_problem(
    loop: Operation, view: StagedOp, along: str, values: IndexValues
) -> bool | Unpackable:
    """Return whether the limit along k is a mask's; or why iterations' tiles do not line up."""
    tile = TileType.of(view.operand("tile"))
    assert tile is not None
    depth = tile.columns if along == "columns" else tile.rows
    other = "rows" if along == "columns" else "columns"
    try:
        offset, stride, across, limit = (
            values.index(view.operand(name)) for name in ("offset", "row_stride", other, along)
        )
        moved, stretched, widened, shrunk = (
            _advance(loop, formula, values) for formula in (offset, stride, across, limit)
        )
    except NotAffine as problem:
        return Unpackable(problem.op or view.op, problem.reason)
    expected = Affine.constant(depth) * (stride if along == "rows" else 1)
    if moved != expected:
        return Unpackable(view.op, "the next iteration's tile does not follow this one's")
    if stretched.number != 0 or widened.number != 0:
        return Unpackable(view.op, f"row_stride or {other} change from iteration to iteration")
    if shrunk.number == -depth:
        return True
    number = limit.number
    if number is not None and number >= depth:
        return False
    return Unpackable(view.op, f"the limit of its {along} does not go down by {depth} each time")


def _advance(loop: Operation, formula: Affine, values: IndexValues) -> Affine:
    """Return by how much `formula` grows from one iteration of `loop` to the next.

    Raises:
        NotAffine: it depends on something else that the body computes.
    """
    counter = loop.regions[0].blocks[0].arguments[0]
    step = values.index(loop.operands[2])

    def following(symbol: Symbol) -> Affine:
        same = values.symbols.get(symbol.kind, *symbol.operands)
        if symbol.kind == affine.SCALAR:
            value = symbol.operands[0]
            if value == counter:
                return same + step
            if is_defined_inside(value, loop):
                raise NotAffine(defining_op(value), "this changes from iteration to iteration")
            return same
        if symbol.kind == affine.ITERATION:
            return same + 1 if symbol.operands[0] == loop else same
        operands = [
            operand.mapped(following) if isinstance(operand, Affine) else operand
            for operand in symbol.operands
        ]
        return values.symbols.get(symbol.kind, *operands)

    return formula.mapped(following) - formula
