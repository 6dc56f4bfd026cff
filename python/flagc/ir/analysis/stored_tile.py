"""The matrix that a kernel stores tile by tile, and where in it a program's tile lies."""

from __future__ import annotations

from dataclasses import dataclass

from flagc.ir.analysis import affine
from flagc.ir.analysis.accesses import Access, Refused, describe
from flagc.ir.analysis.affine import Affine
from flagc.ir.analysis.index_values import IndexValues, NotAffine, lanes_of
from flagc.ir.analysis.launch_formulas import LaunchFormulas, covers_once
from flagc.ir.module import Operation, Value, defining_op
from flagc.ir.regions import block_operations
from flagc.ir.types import TensorType, element_bits, is_integer


@dataclass(frozen=True)
class StoredTile:
    """A store of a two-dimensional tile of a row-major matrix, which all programs cover once.

    Attributes:
        rows, columns: the tile's row and column numbers, of shape Mx1 and 1xN.
        stride: from row to row, in elements; `pitch` is what it is in the launch.
        size: rows and columns of the matrix.
        limits: what rows and columns are compared with to mask off lanes, by dimension; None where
            the mask does not, or compares with something that programs do not have in common.
    """

    store: Operation
    rows: Value
    columns: Value
    stride: Affine
    pitch: int
    size: tuple[int, int]
    limits: tuple[Affine | None, Affine | None]

    @property
    def value(self) -> Value:
        """What is stored."""
        return self.store.operands[1]

    @property
    def mask(self) -> Value | None:
        """The store's mask."""
        return self.store.operands[2] if len(self.store.operands) > 2 else None

    @property
    def bytes(self) -> int:
        """The size of the matrix in memory, without what may lie between its rows."""
        tensor = TensorType.of(self.value)
        assert tensor is not None
        return self.size[0] * self.size[1] * max(element_bits(tensor.element), 8) // 8


def stored_tile(values: IndexValues, store: Operation, numbers: LaunchFormulas) -> StoredTile:
    """Return the tile that `store` stores.

    Raises:
        NotAffine: it is none, or the launch's tiles are not a matrix in which each element is
            stored once.
    """
    if store.parent.operation.name != "tt.func":
        raise NotAffine(store, "the tile is stored in a loop or under a condition")
    access = describe(values, store)
    if isinstance(access, Refused):
        raise NotAffine(access.at, access.reason)
    if len(access.dimensions) != 2 or (access.mask is None and len(store.operands) > 2):
        raise NotAffine(store, "no two-dimensional tile is stored")
    if access.irregular or access.conditions or any(d.wrap for d in access.dimensions):
        raise NotAffine(store, "the tile's mask is more than bounds on rows and columns")
    if access.dimensions[1].stride.number != 1:
        raise NotAffine(store, "the tile's columns are not next to each other in memory")
    rows, columns = _row_and_column(values, store, access)
    stride = access.dimensions[0].stride
    pitch = numbers.at(stride, {})
    size = _size(values, access, numbers, rows, columns)
    if pitch < size[1]:
        raise NotAffine(store, "rows of the stored matrix overlap")
    limits = tuple(
        _limit(values.index(index), access, dim) for dim, index in enumerate((rows, columns))
    )
    return StoredTile(store, rows, columns, stride, pitch, size, limits)  # type: ignore[arg-type]


def _row_and_column(values: IndexValues, store: Operation, access: Access) -> tuple[Value, Value]:
    """Find the numbers that the address is computed from, as blocks of Mx1 and 1xN."""
    height, width = (dimension.size for dimension in access.dimensions)
    stride = access.dimensions[0].stride
    lanes = [values.symbols.get(affine.LANE, dim, n) for dim, n in enumerate((height, width))]
    address = access.offset + stride * lanes[0] + lanes[1]
    ops = block_operations(store)
    found: tuple[list[Value], list[Value]] = ([], [])
    for op in ops[: ops.index(store)]:
        for result in op.results:
            tensor = TensorType.of(result)
            if tensor is None or not is_integer(tensor.element) or tensor.element == "i1":
                continue
            if tensor.shape == (height, 1):
                found[0].append(result)
            if tensor.shape == (1, width):
                found[1].append(result)
    for row in found[0]:
        for column in found[1]:
            try:
                if stride * values.index(row) + values.index(column) == address:
                    return row, column
            except NotAffine:
                continue
    raise NotAffine(store, "the tile's address is not 'rows * stride + columns'")


def _size(
    values: IndexValues, access: Access, numbers: LaunchFormulas, rows: Value, columns: Value
) -> tuple[int, int]:
    starts, ends = [], []
    for dimension, index in zip(access.dimensions, (rows, columns), strict=True):
        low, high = numbers.lanes(dimension)
        start = numbers.by_program(values.index(index))
        starts.append(start + low)
        ends.append(start + high)
    size = covers_once(starts, ends, [dimension.size for dimension in access.dimensions])
    if size is None:
        raise NotAffine(access.op, "the tiles of this launch are no matrix stored once")
    return size[0], size[1]


def _limit(index: Affine, access: Access, dim: int) -> Affine | None:
    """Return what the mask compares rows (0) or columns (1) with, if all programs share it."""
    dimension = access.dimensions[dim]
    if len(dimension.upper) != 1 or dimension.lower:
        return None
    limit = dimension.upper[0].limit + index
    lane = next(symbol for symbol in index.symbols() if symbol.kind == affine.LANE)
    limit = limit.without(lane)
    shared = not lanes_of(limit) and not any(varies_by_program(s) for s in limit.all_symbols())
    return limit if shared else None


def varies_by_program(symbol: affine.Symbol) -> bool:
    """Return whether a symbol is a program id, the grid, or a loop's iteration."""
    if symbol.kind == affine.ITERATION:
        return True
    if symbol.kind != affine.SCALAR:
        return False
    op = defining_op(symbol.operands[0])
    return op is not None and op.name in ("tt.get_program_id", "tt.get_num_programs")
