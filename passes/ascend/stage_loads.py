"""Load the operands of matrix products into tiles of L1."""

from __future__ import annotations

import math
from dataclasses import dataclass

from flagc.ir.analysis.accesses import STORES, Access, Refused, describe
from flagc.ir.analysis.affine import Affine
from flagc.ir.analysis.dot_operands import OperandLoad, operand_loads
from flagc.ir.analysis.extents import mask_problem, matrix_extents
from flagc.ir.analysis.index_values import IndexValues
from flagc.ir.analysis.integer_facts import Facts
from flagc.ir.analysis.signs import is_zero
from flagc.ir.equal_ops import merge_equal_scalars
from flagc.ir.module import Module, Operation, Value
from flagc.ir.scalar_values import ScalarValues
from flagc.ir.staged.operations import create
from flagc.ir.staged.tiles import CUBE_ELEMENTS, FRACTAL_ROWS, TileType, c0_of
from flagc.ir.types import PointerType, TensorType
from flagc.ir.unused_values import erase_unused_values
from flagc.passes.ascend.batches import split_batches
from flagc.pipeline.context import PassContext
from flagc.pipeline.passes import Pass, register

_ATOMICS = ("tt.atomic_rmw", "tt.atomic_cas")


@register
@dataclass(frozen=True)
class StageLoads(Pass):
    """Turn loads whose values only `tt.dot` multiplies into moves to L1.

    a = tt.load(ptrs, mask)      =>   tile = staged.alloc                  L1, 128x64
    tt.dot(a, ...)                    staged.nd2nz(base, offset, row stride, rows, columns, tile)
                                      a = staged.read_tile(tile)

    A tile lies as the matrix does in memory: along its columns elements are neighbours. A matrix
    that is stored transposed, and `tl.trans`, are a `transpose` of `read_tile`. Masks become the
    move's limits, `M - 128*tile` rows. Lanes that are masked off must be zero, or left open: the
    next pass sees to it that they are not multiplied. Products of batches of matrices become loops
    over the batch.
    """

    name = "stage-loads"
    level = "staged"

    def run(self, module: Module, context: PassContext) -> None:
        """Replace every load that feeds a product."""
        if not any(True for _ in module.walk("tt.dot")):
            context.decline(None, "the kernel has no matrix product (tl.dot)")
        batches = split_batches(module)
        if isinstance(batches, Refused):
            context.decline(batches.at, batches.reason)
        if batches:
            context.statistic("loops over batches", batches)
        values = IndexValues()
        facts = Facts(values)
        written = _written(values, module)
        moves = []
        for load in operand_loads(module):
            move = _move(values, facts, load, written)
            if isinstance(move, Refused):
                context.decline(move.at, move.reason)
            moves.append(move)
        scalars = ScalarValues(module, values)
        for move in moves:
            _emit(module, scalars, move)
            context.statistic("loads")
        for move in moves:
            _erase(move.load)
        erase_unused_values(module)
        merge_equal_scalars(module)


@dataclass(frozen=True)
class _Move:
    """What a load becomes.

    Attributes:
        rows, columns: sizes of the matrix as it lies in memory.
        row_limit, column_limit: how many of them there are, unless there are more.
        transposed: the load's rows are the tile's columns.
    """

    load: OperandLoad
    base: Value
    offset: Affine
    row_stride: Affine
    rows: int
    columns: int
    row_limit: Affine
    column_limit: Affine
    element: str
    transposed: bool


def _move(
    values: IndexValues, facts: Facts, load: OperandLoad, written: list[Value]
) -> _Move | Refused:
    if load.other_use is not None:
        return Refused(load.op, load.op, _used_elsewhere(load.other_use))
    access = describe(values, load.op)
    if isinstance(access, Refused):
        return Refused(access.at, access.at, f"no block of a matrix: {access.reason}")
    problem = _problem(access, written)
    if problem is None:
        found = _placed(facts, load, access)
        if isinstance(found, _Move):
            return found
        problem = found
    return Refused(load.op, load.op, problem)


def _used_elsewhere(user: Operation) -> str:
    return f"what is loaded is used by '{user.name}' too, not by matrix products alone"


def _problem(access: Access, written: list[Value]) -> str | None:
    """Say why an access is no move into L1; None where it may be one."""
    tensor = TensorType.of(access.op.results[0])
    assert tensor is not None
    if tensor.element not in CUBE_ELEMENTS:
        allowed = ", ".join(CUBE_ELEMENTS)
        return f"the Cube does not multiply {tensor.element}, only {allowed}"
    pointer = PointerType.of(access.base)
    if pointer is None or pointer.pointee != tensor.element:
        return f"the pointer is no pointer to {tensor.element}"
    if access.base in written:
        return "the kernel also writes to what this pointer points to"
    if (flaw := mask_problem(access)) is not None:
        return flaw
    other = access.other
    is_masked = any(dimension.upper or dimension.lower for dimension in access.dimensions)
    if is_masked and other is not None and not _is_zero(other):
        return "lanes that are masked off are loaded as something else than 0"
    return None


def _is_zero(other: Value | float) -> bool:
    return other == 0.0 if isinstance(other, float) else is_zero(other)


def _placed(facts: Facts, load: OperandLoad, access: Access) -> _Move | str:
    """Find out along which dimension elements are neighbours, and what the limits are."""
    extents = matrix_extents(facts, access)
    if isinstance(extents, str):
        return extents
    dimensions = access.dimensions[-2:]
    sizes = [dimension.size for dimension in dimensions]
    strides = [dimension.stride for dimension in dimensions]
    dense = [dim for dim in (1, 0) if strides[dim].number == 1 or sizes[dim] == 1]
    if not dense:
        return "neither along its rows nor along its columns are elements neighbours in memory"
    columns = dense[0]
    rows = 1 - columns
    if strides[rows].number == 0 and sizes[rows] > 1:
        return "all its rows are the same one in memory"
    tensor = TensorType.of(access.op.results[0])
    assert tensor is not None
    return _Move(
        load, access.base, access.offset, strides[rows], sizes[rows], sizes[columns],
        extents[rows], extents[columns], tensor.element, transposed=columns == 0,
    )  # fmt: skip


def _written(values: IndexValues, module: Module) -> list[Value]:
    """Return the pointers that the kernel writes through."""
    found = []
    for op in module.walk(*STORES, *_ATOMICS):
        access = describe(values, op)
        if isinstance(access, Access):
            found.append(access.base)
    return found


def _emit(module: Module, scalars: ScalarValues, move: _Move) -> None:
    """Create the tile and the move before the load, and what dots take after it."""
    op = move.load.op
    granule = max(FRACTAL_ROWS, c0_of(move.element))
    rows, columns = (math.ceil(size / granule) * granule for size in (move.rows, move.columns))
    tile_type = TileType("l1", rows, columns, move.element)
    operands = {
        "base": move.base,
        "offset": scalars.at(move.offset, "i64", op),
        "row_stride": scalars.at(move.row_stride, "i64", op),
        # A tile that is larger than the block must not get more than the block.
        "rows": scalars.limit(move.row_limit, move.rows, op, clamped=rows > move.rows),
        "columns": scalars.limit(
            move.column_limit, move.columns, op, clamped=columns > move.columns
        ),
    }
    alloc = create(
        module, "alloc", attributes={"buffers": "1 : i64"}, results=[tile_type.text()], before=op
    )
    tile = alloc.results[0]
    create(module, "nd2nz", {**operands, "tile": tile}, before=op)
    for value, is_transposed in move.load.views:
        attributes = {"transpose": "true"} if is_transposed != move.transposed else {}
        view = create(
            module, "read_tile", {"source": tile}, attributes, results=[value.type], before=op
        )
        value.replace_all_uses_with(view.results[0])


def _erase(load: OperandLoad) -> None:
    """Erase a load, and the transpositions of it, which nobody uses any more."""
    pending = [load.op]
    while pending:
        op = pending[-1]
        users = [use.owner.operation for use in op.results[0].uses]
        if users:
            pending += users
        else:
            pending.pop().erase()
