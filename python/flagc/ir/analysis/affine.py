"""Sums of products of symbols: what an index is, as a formula that can be computed with.

    rows * stride + 64 * step        two terms; `rows`, `stride` and `step` are symbols

A symbol is an integer that the compiler does not know: a kernel argument, a program id, a loop's
counter, a lane's number, or what `/`, `%`, `min` and `max` make of other formulas. Sums are equal
whatever the order in which a kernel adds and multiplies; index arithmetic is taken not to overflow.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

Number = int | Fraction
# The factors of a product, in the order of their serial numbers; repeated ones are powers.
Product = tuple["Symbol", ...]

SCALAR = "scalar"  # operands: (value,)
LANE = "lane"  # (dimension, size): the position along a dimension of a block, from 0
QUOTIENT = "quotient"  # (dividend, divisor), rounded towards zero
REMAINDER = "remainder"  # (dividend, divisor), with the sign of the dividend
MINIMUM = "minimum"
MAXIMUM = "maximum"
ITERATION = "iteration"  # (loop,): the number of the loop's current iteration, from 0


@dataclass(frozen=True)
class Symbol:
    """An unknown integer. `Symbols` makes them, so that equal ones are one object."""

    kind: str
    operands: tuple[Any, ...]
    serial: int = field(compare=False)

    @property
    def affine_operands(self) -> list[Affine]:
        """The operands that are sums."""
        return [operand for operand in self.operands if isinstance(operand, Affine)]


class Symbols:
    """The symbols of one function, numbered in the order in which they were met."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, tuple[Any, ...]], Symbol] = {}

    def get(self, kind: str, *operands: Any) -> Affine:
        """Return the symbol as a sum of itself."""
        key = (kind, operands)
        if key not in self._known:
            self._known[key] = Symbol(kind, operands, len(self._known))
        return Affine({(self._known[key],): 1})


class Affine:
    """A sum of products of symbols, each with a number as coefficient. Immutable."""

    __slots__ = ("_hash", "terms")

    def __init__(self, terms: Mapping[Product, Number]) -> None:
        self.terms = {product: _simple(n) for product, n in terms.items() if n}
        self._hash: int | None = None

    @staticmethod
    def constant(number: Number) -> Affine:
        """Return a number as a sum."""
        return Affine({(): number})

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Affine) and self.terms == other.terms

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = hash(frozenset(self.terms.items()))
        return self._hash

    def __add__(self, other: Affine | Number) -> Affine:
        terms = dict(self.terms)
        for product, number in _sum(other).terms.items():
            terms[product] = terms.get(product, 0) + number
        return Affine(terms)

    def __sub__(self, other: Affine | Number) -> Affine:
        return self + _sum(other) * -1

    __radd__ = __add__

    def __rsub__(self, other: Number) -> Affine:
        return -self + other

    def __neg__(self) -> Affine:
        return self * -1

    def __mul__(self, other: Affine | Number) -> Affine:
        terms: dict[Product, Number] = {}
        for left, number in self.terms.items():
            for right, factor in _sum(other).terms.items():
                product = tuple(sorted(left + right, key=lambda symbol: symbol.serial))
                terms[product] = terms.get(product, 0) + number * factor
        return Affine(terms)

    __rmul__ = __mul__

    @property
    def number(self) -> Number | None:
        """The number that this sum is; None when it has symbols."""
        if not self.terms:
            return 0
        return self.terms.get(()) if len(self.terms) == 1 else None

    @property
    def constant_term(self) -> Number:
        """The term without symbols."""
        return self.terms.get((), 0)

    def symbols(self) -> list[Symbol]:
        """Return the symbols of this sum, those inside of other symbols excluded."""
        return list(dict.fromkeys(symbol for product in self.terms for symbol in product))

    def all_symbols(self) -> Iterator[Symbol]:
        """Yield the symbols of this sum and those that they are made of."""
        for symbol in self.symbols():
            yield symbol
            for operand in symbol.affine_operands:
                yield from operand.all_symbols()

    def degree(self, symbol: Symbol) -> int:
        """Return the highest power of `symbol`."""
        return max((product.count(symbol) for product in self.terms), default=0)

    def coefficient(self, symbol: Symbol) -> Affine:
        """Return what `symbol` is multiplied by, where its degree is 1."""
        return Affine(
            {_without(product, symbol): n for product, n in self.terms.items() if symbol in product}
        )

    def without(self, symbol: Symbol) -> Affine:
        """Return the terms that `symbol` is no factor of."""
        return self.only(lambda product: symbol not in product)

    def only(self, wanted: Callable[[Product], bool]) -> Affine:
        """Return the terms whose products are `wanted`."""
        return Affine({product: n for product, n in self.terms.items() if wanted(product)})

    def replaced(self, symbol: Symbol, by: Affine) -> Affine:
        """Return this sum with a symbol of degree 1 replaced."""
        return self.without(symbol) + self.coefficient(symbol) * by

    def mapped(self, function: Callable[[Symbol], Affine]) -> Affine:
        """Return this sum with every symbol replaced by what `function` makes of it."""
        result = Affine({})
        for product, number in self.terms.items():
            term = Affine.constant(number)
            for symbol in product:
                term = term * function(symbol)
            result = result + term
        return result

    def divided(self, divisor: Affine) -> Affine | None:
        """Return the exact quotient by a product of symbols and a number, or None.

        Coefficients of the quotient are integers if those of this sum are.
        """
        if len(divisor.terms) != 1:
            return None
        ((factors, number),) = divisor.terms.items()
        terms: dict[Product, Number] = {}
        for product, coefficient in self.terms.items():
            rest: Product | None = product
            for factor in factors:
                rest = _without(rest, factor) if rest is not None and factor in rest else None
            if rest is None or (Fraction(coefficient) / number).denominator != 1:
                return None
            terms[rest] = Fraction(coefficient) / number
        return Affine(terms)

    def common_factor(self) -> int:
        """Return the greatest common divisor of the coefficients, 0 for the sum 0."""
        return math.gcd(*(int(n) if n == int(n) else 1 for n in self.terms.values()))


def _sum(other: Affine | Number) -> Affine:
    return other if isinstance(other, Affine) else Affine.constant(other)


def _simple(number: Number) -> Number:
    return int(number) if isinstance(number, Fraction) and number.denominator == 1 else number


def _without(product: Product, symbol: Symbol) -> Product:
    at = product.index(symbol)
    return product[:at] + product[at + 1 :]
