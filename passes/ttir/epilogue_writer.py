"""An elementwise kernel, written anew on the tile that another kernel holds in registers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from flagc.ir.analysis import affine
from flagc.ir.analysis.accesses import mask_of
from flagc.ir.analysis.affine import Affine, Symbol
from flagc.ir.analysis.index_values import IndexValues, NotAffine, places
from flagc.ir.analysis.masks import mask_terms
from flagc.ir.analysis.matrix_positions import Frame, Positions
from flagc.ir.analysis.memory_effects import accesses_of
from flagc.ir.analysis.stored_tile import StoredTile
from flagc.ir.analysis.tensor_axes import shape_of
from flagc.ir.module import Module, Operation, Value, defining_op
from flagc.ir.types import TensorType, element_bits, element_of, is_integer

_OPS = frozenset(
    {"tt.fp_to_fp", "tt.clampf", "tt.mulhiui", "tt.precise_sqrt", "tt.precise_divf", "tt.bitcast",
     "tt.extern_elementwise"}
)  # fmt: skip
_DIALECTS = ("arith.", "math.")
_NAMES = {
    affine.QUOTIENT: "arith.divsi",
    affine.REMAINDER: "arith.remsi",
    affine.MINIMUM: "arith.minsi",
    affine.MAXIMUM: "arith.maxsi",
}
_LARGEST_I32 = 2**31 - 1

# Whether a value differs from row to row, and from column to column.
Kind = tuple[bool, bool]
_TILE, _SAME = (True, True), (False, False)


@dataclass(frozen=True)
class Placed:
    """A value on the tile: a scalar, or of shape Mx1, 1xN or MxN, as its kind says."""

    value: Value
    kind: Kind


@dataclass(frozen=True)
class Reach:
    """What is loaded or stored: a pointer argument, and the elements from it by row and column."""

    op: Operation
    base: Value
    offset: Affine


class EpilogueWriter:
    """Writes a follow-up kernel's values right before the tile's store.

    New ops use the follow-up's own arguments. `undo` takes them all away again.

    Attributes:
        loads, stores: what the follow-up reaches, but for its loads of the stored matrix.
    """

    def __init__(
        self,
        module: Module,
        values: IndexValues,
        tile: StoredTile,
        positions: Positions,
        is_matrix: Callable[[Value], bool],
    ) -> None:
        """`is_matrix` tells whether a pointer argument points to the stored matrix."""
        self._module = module
        self._values = values
        self._tile = tile
        self._positions = positions
        self._is_matrix = is_matrix
        self._created: list[Operation] = []
        self._placed: dict[tuple[Value, Frame], Placed] = {}
        self._numbers: dict[tuple[Affine, str], Placed] = {}
        self._conditions: dict[int, Value] = {}
        self.loads: list[Reach] = []
        self.stores: list[Reach] = []

    def undo(self) -> None:
        """Erase everything that was written."""
        for op in reversed(self._created):
            op.erase()

    def write(self, stores: list[Operation]) -> None:
        """Write stores of the follow-up kernel: all that they need, then the stores themselves.

        Raises:
            NotAffine: one cannot be stated in terms of the tile.
        """
        ready = []
        for op in stores:
            frame = tuple(range(len(shape_of(op.operands[0]))))
            reach = self._reach(op, frame)
            self.stores.append(reach)
            value = self._spread(self._place(op.operands[1], frame), _TILE)
            ready.append((op, [self._pointers(reach, _TILE), value]))
        mask = [self._tile.mask] if self._tile.mask is not None else []
        for op, operands in ready:
            self._create(op.name, [*operands, *mask], [], _attributes(op), op)

    def _place(self, value: Value, frame: Frame) -> Placed:
        key = (value, frame)
        if key not in self._placed:
            self._placed[key] = self._computed(value, frame)
        return self._placed[key]

    def _computed(self, value: Value, frame: Frame) -> Placed:
        op = defining_op(value)
        if op is None:
            return Placed(value, _SAME)
        if op.name == "arith.constant":
            return self._constant(op)
        if (number := self._position(value, frame)) is not None:
            return number
        if op.name in ("tt.splat", "tt.broadcast"):
            inner = frame if shape_of(op.operands[0]) else ()
            return self._place(op.operands[0], inner)
        if op.name in ("tt.expand_dims", "tt.trans", "tt.reshape"):
            place = places(op)
            if place is None:
                raise NotAffine(op, "a tensor is reshaped")
            rank = len(shape_of(op.operands[0]))
            # A dimension of one lane has no place in the result; any will do.
            inner = tuple(frame[self._place_of(place, dim)] for dim in range(rank))
            return self._place(op.operands[0], inner)
        if op.name == "tt.load":
            return self._load(op, frame)
        return self._elementwise(op, frame)

    @staticmethod
    def _place_of(place: Any, dim: int) -> int:
        try:
            return int(place(dim))
        except ValueError:
            return 0

    def _position(self, value: Value, frame: Frame) -> Placed | None:
        """Return integers that are a formula of row and column, and do not overflow."""
        element = element_of(value)
        if not is_integer(element) or element == "i1":
            return None
        try:
            formula = self._values.index(value)
            placed = self._positions.of(formula, frame)
            if placed == self._values.scalar(value):  # a scalar that is no arithmetic
                return None
            corners = self._positions.corners(placed)
        except NotAffine:
            return None
        limit = 2 ** (element_bits(element) - 1)
        if corners is None or max(corners) >= limit or min(corners) < -limit:
            return None
        return self._number(placed, element)

    def _elementwise(self, op: Operation, frame: Frame) -> Placed:
        is_known = op.name in _OPS or op.name.startswith(_DIALECTS)
        if not is_known or accesses_of(op) or len(op.results) != 1 or list(op.regions):
            raise NotAffine(op, f"'{op.name}' is no operation on one element by itself")
        operands = [self._place(operand, frame) for operand in op.operands]
        if element_of(op.results[0]).startswith("!tt.ptr"):
            raise NotAffine(op, "pointers are computed with")
        kind = _union(operands)
        parts = [self._spread(operand, kind) for operand in operands]
        return self._op(op.name, parts, element_of(op.results[0]), kind, _attributes(op), op)

    def _constant(self, op: Operation) -> Placed:
        attribute, element = op.attributes["value"], element_of(op.results[0])
        if shape_of(op.results[0]):
            if not attribute.is_splat:
                raise NotAffine(op, "lanes have different constants")
            attribute = attribute.get_splat_value()
        return self._op("arith.constant", [], element, _SAME, {"value": attribute}, op)

    def _load(self, op: Operation, frame: Frame) -> Placed:
        if "isVolatile" in op.attributes and op.attributes["isVolatile"].value:
            raise NotAffine(op, "the load is volatile")
        reach = self._reach(op, frame)
        if self._is_matrix(reach.base):
            if not self._positions.same(reach.offset, self._positions.address):
                raise NotAffine(op, "it reads another element of the matrix than the one it is at")
            if element_of(op.results[0]) != element_of(self._tile.value):
                raise NotAffine(op, "the matrix is read as another type than it is stored as")
            return Placed(self._tile.value, _TILE)
        self.loads.append(reach)
        kind = self._kind(reach.offset)
        masks = self._mask(kind)
        if masks is None:
            kind, masks = _TILE, [self._tile.mask]
        pointers = self._pointers(reach, kind)
        attributes = _attributes(op)
        segments = f"array<i32: 1, {len(masks)}, 0>"
        attributes["operandSegmentSizes"] = self._module.attribute(segments)
        element = element_of(op.results[0])
        return self._op(op.name, [pointers, *masks], element, kind, attributes, op)

    def _reach(self, op: Operation, frame: Frame) -> Reach:
        """Return what a load or store reaches, whose mask must let all of the matrix pass."""
        pointer = self._values.pointer(op.operands[0])
        if defining_op(pointer.base) is not None:
            raise NotAffine(op, "its pointer is no argument")
        mask = mask_of(op)
        for term in mask_terms(self._values, mask) if mask is not None else ():
            if term.margin is None:
                assert term.problem is not None
                raise NotAffine(term.problem.op or op, term.problem.reason)
            if not self._positions.holds(self._positions.of(term.margin, frame)):
                raise NotAffine(op, "its mask may leave out a part of the matrix")
        return Reach(op, pointer.base, self._positions.of(pointer.offset, frame))

    def _mask(self, kind: Kind) -> list[Value] | None:
        """Return the mask of a load; None if only the store's own masks the lanes in question."""
        if self._tile.mask is None or kind == _SAME:
            return []
        if kind == _TILE:
            return [self._tile.mask]
        dim = 0 if kind[0] else 1
        limit = self._tile.limits[dim]
        if limit is None:
            return None
        if dim not in self._conditions:
            index = self._tile.rows if dim == 0 else self._tile.columns
            bound = self._spread(self._number(limit, element_of(index)), kind)
            less = {"predicate": self._module.integer(2, 64)}
            found = self._op("arith.cmpi", [index, bound], "i1", kind, less)
            self._conditions[dim] = found.value
        return [self._conditions[dim]]

    def _pointers(self, reach: Reach, kind: Kind) -> Value:
        """Write `base + offset`, rows first, so that it reads like a kernel's own."""
        corners = self._positions.corners(reach.offset)
        is_small = corners is not None and max(map(abs, corners)) <= _LARGEST_I32
        element = "i32" if is_small else "i64"
        columns = reach.offset.only(
            lambda product: self._kind(Affine({product: 1})) == (False, True)
        )
        pointer = element_of(reach.base)
        result = Placed(reach.base, _SAME)
        for part in (reach.offset - columns, columns):
            if not part.terms:
                continue
            number = self._number(part, element)
            shared = _union([result, number])
            operands = [self._spread(result, shared), self._spread(number, shared)]
            result = self._op("tt.addptr", operands, pointer, shared, {}, reach.op)
        return self._spread(result, kind)

    def _kind(self, formula: Affine) -> Kind:
        symbols = set(formula.all_symbols())
        row, column = (
            position.symbols()[0] in symbols
            for position in (self._positions.row, self._positions.column)
        )
        return row, column

    def _number(self, formula: Affine, element: str) -> Placed:
        """Write a formula of row, column and scalars."""
        key = (formula, element)
        if key not in self._numbers:
            sums: dict[Kind, Placed] = {}
            for product, coefficient in formula.terms.items():
                term = self._product(product, coefficient, element)
                known = sums.get(term.kind)
                sums[term.kind] = self._binary("arith.addi", known, term) if known else term
            total = self._integer(0, element) if not sums else None
            for kind in sorted(sums):
                total = self._binary("arith.addi", total, sums[kind]) if total else sums[kind]
            assert total is not None
            self._numbers[key] = total
        return self._numbers[key]

    def _product(self, product: tuple[Symbol, ...], coefficient: Any, element: str) -> Placed:
        result = None
        if coefficient != 1 or not product:
            if int(coefficient) != coefficient:
                raise NotAffine(None, "an index has a fraction in it")
            result = self._integer(int(coefficient), element)
        for symbol in product:
            factor = self._symbol(symbol, element)
            result = self._binary("arith.muli", result, factor) if result else factor
        assert result is not None
        return result

    def _symbol(self, symbol: Symbol, element: str) -> Placed:
        if symbol.kind == affine.SCALAR:
            (value,) = symbol.operands
            if value in (self._tile.rows, self._tile.columns):
                kind = (value == self._tile.rows, value == self._tile.columns)
                return self._cast(Placed(value, kind), element)
            return self._cast(self._place(value, ()), element)
        if symbol.kind not in _NAMES:
            raise NotAffine(None, f"an index is a {symbol.kind}")
        left, right = (self._number(operand, element) for operand in symbol.affine_operands)
        return self._binary(_NAMES[symbol.kind], left, right)

    def _cast(self, number: Placed, element: str) -> Placed:
        own = element_of(number.value)
        if own == element:
            return number
        name = "arith.extsi" if element_bits(own) < element_bits(element) else "arith.trunci"
        return self._op(name, [number.value], element, number.kind)

    def _integer(self, number: int, element: str) -> Placed:
        attribute = self._module.attribute(f"{number} : {element}")
        return self._op("arith.constant", [], element, _SAME, {"value": attribute})

    def _binary(self, name: str, left: Placed, right: Placed) -> Placed:
        kind = _union([left, right])
        parts = [self._spread(side, kind) for side in (left, right)]
        return self._op(name, parts, element_of(left.value), kind)

    def _spread(self, placed: Placed, kind: Kind) -> Value:
        """Return a value in the shape of `kind`."""
        if placed.kind == kind:
            return placed.value
        name = "tt.splat" if placed.kind == _SAME else "tt.broadcast"
        return self._op(name, [placed.value], element_of(placed.value), kind).value

    def _op(
        self,
        name: str,
        operands: list[Value],
        element: str,
        kind: Kind,
        attributes: dict[str, Any] | None = None,
        origin: Operation | None = None,
    ) -> Placed:
        result = element
        if kind != _SAME:
            shape = shape_of(self._tile.value)
            sizes = tuple(n if wide else 1 for n, wide in zip(shape, kind, strict=True))
            result = TensorType(sizes, element).text()
        op = self._create(name, operands, [result], attributes or {}, origin)
        return Placed(op.results[0], kind)

    def _create(
        self,
        name: str,
        operands: list[Value],
        results: list[str],
        attributes: dict[str, Any],
        origin: Operation | None,
    ) -> Operation:
        location = origin.location if origin is not None else None
        op = self._module.create(
            name, operands, results, attributes, before=self._tile.store, location=location
        )
        self._created.append(op)
        return op


def _union(placed: list[Placed]) -> Kind:
    row, column = (any(part.kind[dim] for part in placed) for dim in (0, 1))
    return row, column


def _attributes(op: Operation) -> dict[str, Any]:
    return {name: op.attributes[name] for name in op.attributes.keys()}  # noqa: SIM118
