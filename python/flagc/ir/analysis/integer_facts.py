"""What is certain about formulas: numbers that divide them, and that they are not negative.

    facts = Facts(values, grid=(None, None, None))
    facts.divisor(k)                        # 16, by the argument's tt.divisibility
    facts.is_non_negative(k - counter - 64) # True where the loop ends at k, and 64 divides it

Facts come from arguments' attributes, hints on ops (`tl.multiple_of`), loops' bounds, the grid when
it is given, and what `/`, `%`, `min` and `max` imply. Taken for granted are that index arithmetic
does not overflow, that indices are divided by positive numbers only, and that a kernel argument
which is divided into blocks (the dividend of `cdiv`) is a size, thus not negative.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction

from flagc.ir.analysis import affine
from flagc.ir.analysis.affine import Affine, Symbol, Symbols
from flagc.ir.analysis.index_values import IndexValues
from flagc.ir.analysis.integer_ranges import numeric_range
from flagc.ir.launch_arguments import plan_of
from flagc.ir.module import Operation, Value, defining_op

# Grids of CUDA and Ascend have at most 2^31 - 1 programs along an axis.
_LARGEST_GRID = 2**31 - 1
_DIVISIBILITY = "tt.divisibility"
_ZERO = Affine({})


class Facts:
    """Facts about the symbols of `values`; `grid` gives the programs of each axis where known."""

    def __init__(self, values: IndexValues, grid: Sequence[int | None] = ()) -> None:
        self._values = values
        self._grid = (*grid, None, None, None)[:3]
        self._sizes: dict[Value, bool] = {}

    @property
    def symbols(self) -> Symbols:
        """The symbols of the formulas that this is about."""
        return self._values.symbols

    def divisor(self, formula: Affine) -> int:
        """Return the largest number known to divide `formula`; 0 for the number 0."""
        common = 0
        for product, number in formula.terms.items():
            if int(number) != number:
                return 1
            term = abs(int(number))
            for symbol in product:
                term *= self._symbol_divisor(symbol)
            common = math.gcd(common, term)
        return common

    def is_multiple(self, formula: Affine, number: int) -> bool:
        """Return whether `number` is known to divide `formula`."""
        return self.divisor(formula) % number == 0

    def is_non_negative(self, formula: Affine) -> bool:
        """Return whether `formula`, which is an integer, is known to be at least 0."""
        # An integer above -1 is at least 0, which makes up for quotients that are rounded.
        return self._exceeds_minus_one(formula)

    def _exceeds_minus_one(self, formula: Affine) -> bool:
        low = numeric_range(formula)[0]
        if low is not None and low > -1:
            return True
        symbol = self._next_symbol(formula)
        if symbol is None:
            return False
        coefficient = formula.coefficient(symbol)
        sign = self._sign(coefficient)
        bounds = self._lower(symbol) if sign > 0 else self._upper(symbol)
        rest = formula.without(symbol)
        return any(self._exceeds_minus_one(rest + coefficient * bound) for bound in bounds)

    def _next_symbol(self, formula: Affine) -> Symbol | None:
        """Return a symbol to be replaced by a bound: one that bounds of no other speak of."""
        usable = [
            s for s in formula.symbols() if formula.degree(s) == 1 and self._has_bound(formula, s)
        ]
        mentioned = {
            inner
            for symbol in usable
            for bound in (*self._lower(symbol), *self._upper(symbol))
            for inner in bound.all_symbols()
            if inner != symbol
        }
        return next((symbol for symbol in usable if symbol not in mentioned), None)

    def _has_bound(self, formula: Affine, symbol: Symbol) -> bool:
        sign = self._sign(formula.coefficient(symbol))
        if sign == 0:
            return False
        return bool(self._lower(symbol) if sign > 0 else self._upper(symbol))

    def _sign(self, coefficient: Affine) -> int:
        """Return 1 for a coefficient that is not negative, -1 for one not positive, 0 else."""
        number = coefficient.number
        if number is not None:
            return 1 if number > 0 else -1
        if self.is_non_negative(coefficient):
            return 1
        return -1 if self.is_non_negative(-coefficient) else 0

    def _lower(self, symbol: Symbol) -> list[Affine]:
        """Return formulas that are at most `symbol`."""
        if symbol.kind == affine.SCALAR:
            return self._scalar_lower(symbol.operands[0])
        if symbol.kind in (affine.LANE, affine.ITERATION):
            return [_ZERO]
        left, right = symbol.affine_operands
        if symbol.kind == affine.MAXIMUM:
            return [left, right]
        if symbol.kind == affine.MINIMUM:
            if self.is_non_negative(right - left):
                return [left]
            return [right] if self.is_non_negative(left - right) else self._zero_below(left, right)
        if not self.is_non_negative(left):
            return []
        if symbol.kind == affine.REMAINDER:
            return [_ZERO]
        return [self._rounded(left, right)[0], _ZERO] if right.number else [_ZERO]

    def _upper(self, symbol: Symbol) -> list[Affine]:
        """Return formulas that are at least `symbol`."""
        if symbol.kind == affine.SCALAR:
            return self._scalar_upper(symbol.operands[0])
        if symbol.kind == affine.LANE:
            return [Affine.constant(symbol.operands[1] - 1)]
        if symbol.kind == affine.ITERATION:
            return []
        left, right = symbol.affine_operands
        if symbol.kind == affine.MINIMUM:
            return [left, right]
        if symbol.kind == affine.MAXIMUM:
            if self.is_non_negative(left - right):
                return [left]
            return [right] if self.is_non_negative(right - left) else []
        if not self.is_non_negative(left):
            return []
        if symbol.kind == affine.REMAINDER:
            return [right - 1, left]
        return [self._rounded(left, right)[1]] if right.number else [left]

    def _zero_below(self, left: Affine, right: Affine) -> list[Affine]:
        both = self.is_non_negative(left) and self.is_non_negative(right)
        return [_ZERO] if both else []

    def _rounded(self, dividend: Affine, divisor: Affine) -> tuple[Affine, Affine]:
        """Return the bounds of a quotient by a number: one formula twice, where it is exact."""
        number = int(divisor.number or 1)
        rest = dividend.constant_term
        multiples = dividend - rest
        if 0 <= rest < number and self.divisor(multiples) % number == 0:
            exact = multiples * Fraction(1, number)
            return exact, exact
        each = Fraction(1, number)
        return (dividend - (number - 1)) * each, dividend * each

    def _scalar_lower(self, value: Value) -> list[Affine]:
        op = defining_op(value)
        if op is not None:
            if op.name == "tt.get_num_programs":
                known = self._grid[op.attributes["axis"].value]
                return [Affine.constant(known or 1)]
            low = numeric_range(self._values.scalar(value))[0]
            return [Affine.constant(low)] if low is not None else []
        loop = _counted_loop(value)
        if loop is not None:
            return [self._values.index(loop.operands[0])]
        return [_ZERO] if self._is_size(value) else []

    def _scalar_upper(self, value: Value) -> list[Affine]:
        op = defining_op(value)
        if op is not None:
            if op.name not in ("tt.get_program_id", "tt.get_num_programs"):
                return []
            axis = op.attributes["axis"].value
            known = self._grid[axis] or _planned_programs(op, axis)
            last = (known or _LARGEST_GRID) - (op.name == "tt.get_program_id")
            return [Affine.constant(last)]
        loop = _counted_loop(value)
        return [self._last_of(loop)] if loop is not None else []

    def _last_of(self, loop: Operation) -> Affine:
        """Return the greatest number that a loop's counter can be."""
        first, end, step = (self._values.index(loop.operands[index]) for index in range(3))
        distance = math.gcd(self.divisor(end - first), self.divisor(step))
        return end - max(distance, 1)

    def _symbol_divisor(self, symbol: Symbol) -> int:
        if symbol.kind == affine.SCALAR:
            return self._scalar_divisor(symbol.operands[0])
        if symbol.kind in (affine.LANE, affine.ITERATION):
            return 1
        left, right = symbol.affine_operands
        if symbol.kind == affine.QUOTIENT:
            return self._part(left, right)
        return math.gcd(self.divisor(left), self.divisor(right))

    def _part(self, dividend: Affine, divisor: Affine) -> int:
        """Return what divides the quotient of numbers of which one divides the other exactly."""
        common, number = self.divisor(dividend), divisor.number
        is_exact = number and number > 0 and common % int(number) == 0
        return max(common // int(number), 1) if number and is_exact else 1

    def _scalar_divisor(self, value: Value) -> int:
        known = argument_divisor(value)
        loop = _counted_loop(value)
        if loop is not None:
            first, step = (self.divisor(self._values.index(loop.operands[i])) for i in (0, 2))
            known = math.lcm(known, math.gcd(first, step) or 1)
        return known

    def _is_size(self, argument: Value) -> bool:
        """Return whether a kernel's argument is divided into blocks."""
        if argument not in self._sizes:
            function = argument.owner.owner.operation
            is_integer = str(argument.type).startswith("i")
            self._sizes[argument] = (
                function.name == "tt.func" and is_integer and _is_divided(argument)
            )
        return self._sizes[argument]


def _planned_programs(op: Operation, axis: int) -> int:
    """Return how many programs the launch plan allows along an axis, 0 where it does not say."""
    function = op
    while function.name != "tt.func":
        function = function.parent.operation
    plan = plan_of(function)
    # Later, program ids no longer number tiles.
    return plan.limits[axis] if plan and plan.ways == 1 and not plan.programs else 0


def _counted_loop(value: Value) -> Operation | None:
    """Return the loop whose counter `value` is."""
    if defining_op(value) is not None:
        return None
    owner = value.owner.owner.operation
    return owner if owner.name == "scf.for" and value.arg_number == 0 else None


def _is_divided(value: Value) -> bool:
    """Return whether `value`, or a sum or product of it, is a dividend or divisor."""
    return any(user in ("arith.divsi", "arith.remsi") for user in _uses_of_sums(value, 4))


def _uses_of_sums(value: Value, depth: int) -> Iterator[str]:
    for use in value.uses:
        user = use.owner.operation
        yield user.name
        if depth and user.name in ("arith.addi", "arith.extsi", "tt.splat"):
            yield from _uses_of_sums(user.results[0], depth - 1)


def argument_divisor(value: Value) -> int:
    """Return the number that attributes say divides an argument (a pointer's bytes) or a result."""
    op = defining_op(value)
    if op is not None:
        attributes = op.attributes
        return _number(attributes[_DIVISIBILITY]) if _DIVISIBILITY in attributes else 1
    owner = value.owner.owner.operation
    if owner.name != "tt.func" or "arg_attrs" not in owner.attributes:
        return 1
    own = owner.attributes["arg_attrs"][value.arg_number]
    return _number(own[_DIVISIBILITY]) if _DIVISIBILITY in own else 1


def _number(attribute: object) -> int:
    """Return an integer attribute's value, or the first of a dense one's."""
    value = getattr(attribute, "value", None)
    if value is None:
        value = next(iter(attribute))  # type: ignore[call-overload]
    return int(value)
