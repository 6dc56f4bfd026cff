"""Scalars that a pass computes from formulas, as far outside of loops as their parts allow.

    scalars = ScalarValues(module, values)
    scalars.at(formula, "i64", op)       # for use at `op`

What the kernel has computed already, a quotient of the program id say, is used and not computed
again; the same formula at the same place is computed once.
"""

from __future__ import annotations

from flagc.ir.analysis import affine
from flagc.ir.analysis.affine import Affine, Symbol
from flagc.ir.analysis.index_values import IndexValues, NotAffine
from flagc.ir.builder import Builder
from flagc.ir.formula_ops import compute, convert, widest
from flagc.ir.module import Module, Operation, Value, defining_op
from flagc.ir.regions import is_inside
from flagc.ir.types import TensorType, is_integer

_DIVISIONS = (affine.QUOTIENT, affine.REMAINDER)
_OPAQUE = (affine.SCALAR, affine.LANE, affine.ITERATION)


class ScalarValues:
    """Formulas of one module as values; ops may be added to the module meanwhile, none erased."""

    def __init__(self, module: Module, values: IndexValues) -> None:
        self._module = module
        self._values = values
        self._made: list[tuple[Affine, str, Value]] = []
        self._computed: dict[Symbol, list[Value]] = {}
        for op in module.walk():
            if op.name.startswith("arith.") and len(op.results) == 1:
                self._note(op.results[0])

    def at(self, formula: Affine, kind: str, op: Operation) -> Value:
        """Return `formula` as an integer of type `kind`, for use at `op`."""
        for known, width, value in self._made:
            if known == formula and width == kind and dominates(value, op):
                return value
        place = self._place(formula, op)
        value = self._in_parts(formula, kind, op) if place == op else None
        if value is None:
            symbols = {symbol: self._computed_before(symbol, place)
                       for symbol in formula.all_symbols()}  # fmt: skip
            computed = {symbol: found for symbol, found in symbols.items() if found is not None}
            value = compute(Builder(self._module, before=place), formula, kind, computed)
        self._made.append((formula, kind, value))
        return value

    def _in_parts(self, formula: Affine, kind: str, op: Operation) -> Value | None:
        """Compute the terms that do not vary in the loop around `op` outside of it."""
        outside = Affine({})
        for product, number in formula.terms.items():
            term = Affine({product: number})
            if product and self._place(term, op) != op:
                outside = outside + term
        inside = formula - outside
        if not outside.terms or not inside.terms:
            return None
        is_negative = all(number < 0 for number in inside.terms.values())
        start = self.at(outside, kind, op)
        rest = self.at(-inside if is_negative else inside, kind, op)
        build = Builder(self._module, before=op)
        return build.subi(start, rest) if is_negative else build.addi(start, rest)

    def limit(self, formula: Affine, size: int, op: Operation, *, clamped: bool) -> Value:
        """Return how many of `size` lanes are below `formula`, an i32 that may exceed `size`.

        With `clamped` it does not.
        """
        if formula.number is not None:
            return self.at(Affine.constant(min(int(formula.number), size)), "i32", op)
        kind = widest(formula, "i32")
        if kind == "i32" and not clamped:
            return self.at(formula, kind, op)
        # More than an i32 holds must not be cut off.
        bounds = self._values.symbols
        least = bounds.get(affine.MINIMUM, formula, Affine.constant(size))
        if kind == "i32":
            return self.at(least, kind, op)
        wide = self.at(bounds.get(affine.MAXIMUM, least, Affine({})), kind, op)
        return convert(Builder(self._module, before=op), wide, "i32")

    def _note(self, value: Value) -> None:
        if TensorType.of(value) is not None or str(value.type) == "i1":
            return
        if not (is_integer(str(value.type)) or str(value.type) == "index"):
            return
        try:
            formula = self._values.index(value)
        except NotAffine:
            return
        if len(formula.terms) == 1:
            ((product, number),) = formula.terms.items()
            if number == 1 and len(product) == 1 and product[0].kind not in _OPAQUE:
                self._computed.setdefault(product[0], []).append(value)

    def _place(self, formula: Affine, op: Operation) -> Operation:
        """Return the op outside of which the formula cannot be computed."""
        place = op
        if any(symbol.kind in _DIVISIONS for symbol in self._unknown(formula, op)):
            return place  # in a loop that never runs the divisor may be 0
        while (parent := place.parent.operation).name in ("scf.for", "scf.if"):
            if not self._is_known(formula, parent):
                break
            place = parent
        return place

    def _unknown(self, formula: Affine, place: Operation) -> list[Symbol]:
        return [s for s in formula.all_symbols() if self._computed_before(s, place) is None]

    def _is_known(self, formula: Affine, place: Operation) -> bool:
        return all(self._is_symbol_known(symbol, place) for symbol in formula.symbols())

    def _is_symbol_known(self, symbol: Symbol, place: Operation) -> bool:
        if symbol.kind == affine.SCALAR:
            return dominates(symbol.operands[0], place)
        if symbol.kind == affine.ITERATION:
            return is_inside(place, symbol.operands[0])
        if self._computed_before(symbol, place) is not None:
            return True
        # A division is not moved to where the kernel has not divided.
        return symbol.kind not in _DIVISIONS and all(
            self._is_known(operand, place) for operand in symbol.affine_operands
        )

    def _computed_before(self, symbol: Symbol, place: Operation) -> Value | None:
        found = self._computed.get(symbol, [])
        return next((value for value in found if dominates(value, place)), None)


def dominates(value: Value, op: Operation) -> bool:
    """Return whether `value` can be used right before `op`."""
    made = defining_op(value)
    if made is None:
        return is_inside(op, value.owner.owner.operation)
    around = op
    while around.parent is not None:  # an op outside of all others lies in no block
        if around.block == made.block:
            return around != made and bool(made.is_before_in_block(around))
        around = around.parent.operation
    return False
