"""Blocks of a matrix in memory that stores and loads of an epilogue access."""

from __future__ import annotations

from dataclasses import dataclass

from flagc.ir.analysis.accesses import Refused, describe
from flagc.ir.analysis.affine import Affine
from flagc.ir.analysis.extents import mask_problem, matrix_extents
from flagc.ir.analysis.index_values import IndexValues
from flagc.ir.analysis.integer_facts import Facts
from flagc.ir.module import Operation, Value
from flagc.ir.types import PointerType, TensorType


@dataclass(frozen=True)
class MatrixBlock:
    """Rows of a matrix, `row_stride` elements apart from `offset` on.

    `rows` and `columns` are each what is there of the block, as a formula, and the block's size.
    """

    op: Operation
    base: Value
    offset: Affine
    row_stride: Affine
    rows: tuple[Affine, int]
    columns: tuple[Affine, int]


def stored_block(values: IndexValues, facts: Facts, op: Operation) -> MatrixBlock | Refused:
    """Return where a store puts a matrix."""
    access = describe(values, op)
    if isinstance(access, Refused):
        return Refused(access.at, access.at, f"no block of a matrix: {access.reason}")
    pointer = PointerType.of(access.base)
    tensor = TensorType.of(op.operands[1])
    assert tensor is not None
    if pointer is None or pointer.pointee != tensor.element:
        return Refused(op, op, f"the pointer is no pointer to {tensor.element}")
    flaw = mask_problem(access)
    if flaw is not None:
        return Refused(op, op, flaw)
    extents = matrix_extents(facts, access)
    if isinstance(extents, str):
        return Refused(op, op, extents)
    rows, columns = access.dimensions[-2:]
    if columns.stride.number != 1:
        return Refused(op, op, "along its rows, elements are no neighbours in memory")
    if rows.stride.number == 0:
        return Refused(op, op, "all its rows are the same one in memory")
    return MatrixBlock(
        op, access.base, access.offset, rows.stride, (extents[0], rows.size),
        (extents[1], columns.size),
    )  # fmt: skip
