"""Which element of a matrix each lane of an elementwise kernel works on.

A kernel that reads a row-major matrix, one element a lane, may count elements (`pid * BLOCK +
arange`), have a program for each row, or work on blocks of rows and columns. `Positions` restates
its formulas as formulas of row and column:

    positions.of(offset, (0,))       # of lanes along dimension 0: row * stride + column
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from flagc.ir.analysis import affine
from flagc.ir.analysis.accesses import Access
from flagc.ir.analysis.affine import Affine, Symbol
from flagc.ir.analysis.index_values import IndexValues, NotAffine
from flagc.ir.analysis.launch_formulas import LaunchFormulas, covers_once
from flagc.ir.analysis.stored_tile import StoredTile, varies_by_program

Frame = tuple[int, ...]  # along which dimension of the load of the matrix each dimension lies


@dataclass(frozen=True)
class _Coordinate:
    """`formula` is a coordinate of the element of a lane; `pivot` is a symbol in it, times 1."""

    formula: Affine
    pivot: Symbol

    def solved(self, coordinate: Affine) -> Affine:
        """Return what the pivot is where the coordinate is `coordinate`."""
        return coordinate - self.formula.without(self.pivot)


class Uncovered(NotAffine):
    """Lanes are understood, but are too few or too many."""


class Positions:
    """The lanes of a kernel that loads the matrix of `tile` by `load`.

    With `counted` they are taken to count the elements, else to be columns of rows. A kernel may be
    both, with a program of as many lanes as there are columns.

    Raises:
        NotAffine: the lanes of this launch are not the elements of the matrix, each once.
    """

    def __init__(
        self,
        values: IndexValues,
        load: Access,
        tile: StoredTile,
        numbers: LaunchFormulas,
        *,
        counted: bool,
    ) -> None:
        self._values = values
        self._tile = tile
        self._numbers = numbers
        self.row, self.column = values.scalar(tile.rows), values.scalar(tile.columns)
        self._linear = values.scalar(load.op.results[0])
        if len(load.dimensions) not in (1, 2) or any(d.wrap for d in load.dimensions):
            raise NotAffine(load.op, "the matrix is not loaded in plain blocks")
        coordinates = self._counted if counted else self._by_rows
        self._coordinates: dict[Symbol, tuple[_Coordinate, Affine]] = coordinates(load)
        self.check_coverage(load)

    def of(self, formula: Affine, frame: Frame) -> Affine:
        """Return a formula of lanes and programs as one of `row` and `column`.

        `frame` has the formula's dimensions.

        Raises:
            NotAffine: it depends on lane or program in another way.
        """
        moved = self._values.moved(formula, lambda dim: frame[dim])
        placed = self._replaced(moved)
        for symbol in placed.all_symbols():
            if symbol.kind == affine.LANE or varies_by_program(symbol):
                raise NotAffine(
                    None, "it depends on which program and lane computes an element, not only on "
                    "its row and column"
                )  # fmt: skip
        return placed

    def corners(self, formula: Affine) -> list[int] | None:
        """Return what a formula of row and column is at the corners of the matrix.

        None where it is not linear in each of them, so that the corners do not bound it.
        """
        symbols = [self.row.symbols()[0], self.column.symbols()[0]]
        if any(formula.degree(symbol) > 1 for symbol in symbols):
            return None
        inner = [s for s in formula.all_symbols() if s in symbols]
        if len(inner) > sum(symbol in symbols for symbol in formula.symbols()):
            return None
        last = [size - 1 for size in self._tile.size]
        return [
            self.at(formula, row, column)
            for row in sorted({0, last[0]})
            for column in sorted({0, last[1]})
        ]

    def at(self, formula: Affine, row: Any, column: Any) -> Any:
        """Return what a formula of row and column is for an element."""
        return self._numbers.at(formula, {self._tile.rows: row, self._tile.columns: column})

    def holds(self, margin: Affine) -> bool:
        """Return whether a formula is known not to be negative for any element of the matrix."""
        found = self.corners(margin)
        return found is not None and min(found) >= 0

    def same(self, left: Affine, right: Affine) -> bool:
        """Return whether two formulas are known to be equal for all elements of the matrix."""
        found = [self.corners(side) for side in (left, right)]
        return None not in found and found[0] == found[1]

    @property
    def address(self) -> Affine:
        """Elements from the matrix's first to that at row and column."""
        return self._tile.stride * self.row + self.column

    def check_coverage(self, access: Access) -> None:
        """Make sure that the lanes that `access` does not mask off are the matrix, each once.

        Raises:
            NotAffine: they are not.
        """
        dimensions = access.dimensions
        if access.irregular:
            raise NotAffine(access.op, "the mask is no comparison of row, column or element")
        lanes = [self._numbers.lanes(dimension) for dimension in dimensions]
        starts, ends, blocks = [], [], []
        for pivot, (coordinate, _) in self._coordinates.items():
            start = self._numbers.by_program(coordinate.formula)
            dim = pivot.operands[0] if pivot.kind == affine.LANE else None
            low, high = lanes[dim] if dim is not None else (0, 1)
            starts.append(start + low)
            ends.append(start + high)
            blocks.append(dimensions[dim].size if dim is not None else 1)
        wanted = self._tile.size
        if len(starts) == 1:
            wanted = (wanted[0] * wanted[1],)  # type: ignore[assignment]
        if covers_once(starts, ends, blocks) != wanted:
            raise Uncovered(
                access.op,
                f"its lanes are not the {'x'.join(map(str, self._tile.size))} elements that the "
                "first kernel stores, each once",
            )

    def _counted(self, load: Access) -> dict[Symbol, tuple[_Coordinate, Affine]]:
        """Lanes count the elements of a matrix without gaps."""
        tile = self._tile
        if len(load.dimensions) != 1 or load.dimensions[0].stride.number != 1:
            raise NotAffine(load.op, "lanes do not count the elements")
        if tile.pitch != tile.size[1]:
            raise NotAffine(load.op, "lanes count elements of a matrix with gaps between its rows")
        formula = load.offset + self._lane(load, 0)
        pivot = self._lane(load, 0).symbols()[0]
        return {pivot: (_Coordinate(formula, pivot), self._linear)}

    def _by_rows(self, load: Access) -> dict[Symbol, tuple[_Coordinate, Affine]]:
        """Lanes are columns of one row, or of rows along the other dimension."""
        strides = [self._numbers.at(dimension.stride, {}) for dimension in load.dimensions]
        if strides.count(1) != 1 or any(s not in (1, self._tile.pitch) for s in strides):
            raise NotAffine(load.op, "the matrix is not read with its own rows and columns")
        across = strides.index(1)
        row, column = self._split(load)
        lane = self._lane(load, across)
        found = {lane.symbols()[0]: (_Coordinate(column + lane, lane.symbols()[0]), self.column)}
        if len(strides) == 2:
            lane = self._lane(load, 1 - across)
            pivot = lane.symbols()[0]
            return {pivot: (_Coordinate(row + lane, pivot), self.row), **found}
        for symbol in row.symbols():
            if varies_by_program(symbol) and row.coefficient(symbol).number == 1:
                return {symbol: (_Coordinate(row, symbol), self.row), **found}
        raise NotAffine(load.op, "a program's row is not its number")

    def _split(self, load: Access) -> tuple[Affine, Affine]:
        """Return row and column of the first lane."""
        pitch = self._tile.pitch
        for symbol in load.offset.symbols():
            is_stride = symbol.kind == affine.SCALAR and not varies_by_program(symbol)
            if is_stride and load.offset.degree(symbol) == 1:
                scalar = Affine({(symbol,): 1})
                if self._numbers.at(scalar, {}) == pitch:
                    return load.offset.coefficient(symbol), load.offset.without(symbol)
        multiples = load.offset.only(lambda product: load.offset.terms[product] % pitch == 0)
        rows = multiples.divided(Affine.constant(pitch))
        assert rows is not None
        return rows, load.offset - multiples

    def _lane(self, load: Access, dim: int) -> Affine:
        return self._values.symbols.get(affine.LANE, dim, load.dimensions[dim].size)

    def _replaced(self, formula: Affine) -> Affine:
        """Replace pivots by what they are in terms of coordinates, also inside of quotients."""
        result = Affine({})
        for product, number in formula.terms.items():
            term = Affine.constant(number)
            for symbol in product:
                term = term * self._of_symbol(symbol)
            result = result + term
        linear = self._linear.symbols()[0]
        if linear in result.symbols():
            result = result.mapped(lambda s: self.address if s == linear else Affine({(s,): 1}))
        return result

    def _of_symbol(self, symbol: Symbol) -> Affine:
        if symbol in self._coordinates:
            coordinate, position = self._coordinates[symbol]
            return coordinate.solved(position)
        operands = symbol.affine_operands
        if not operands:
            return Affine({(symbol,): 1})
        left, right = (self._inner(operand) for operand in operands)
        if symbol.kind in (affine.QUOTIENT, affine.REMAINDER):
            if left == self._linear and self._is_width(right):
                return self.row if symbol.kind == affine.QUOTIENT else self.column
            left, right = self._replaced(left), self._replaced(right)
            divide = (
                self._values.quotient if symbol.kind == affine.QUOTIENT else self._values.remainder
            )
            return divide(left, right)
        left, right = self._replaced(left), self._replaced(right)
        return self._values.symbols.get(symbol.kind, left, right)

    def _inner(self, formula: Affine) -> Affine:
        """Replace pivots, but leave the count of elements as it is."""
        return formula.mapped(self._of_symbol)

    def _is_width(self, formula: Affine) -> bool:
        try:
            return self._numbers.at(formula, {}) == self._tile.size[1]
        except NotAffine:
            return False
