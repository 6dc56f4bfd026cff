"""Create the ops that compute a formula of `flagc.ir.analysis.affine`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from flagc.ir.analysis import affine
from flagc.ir.analysis.affine import Affine, Symbol
from flagc.ir.builder import Builder
from flagc.ir.module import Value
from flagc.ir.types import element_bits

_OPS = {
    affine.QUOTIENT: "arith.divsi",
    affine.REMAINDER: "arith.remsi",
    affine.MINIMUM: "arith.minsi",
    affine.MAXIMUM: "arith.maxsi",
}


_NOTHING: Mapping[Symbol, Value] = {}


def compute(
    build: Builder, formula: Affine, kind: str, computed: Mapping[Symbol, Value] = _NOTHING
) -> Value:
    """Return `formula`, which has no lanes, as a scalar of the integer type `kind`.

    `computed` gives integers that symbols are known to be.
    """
    total: Value | None = None
    # Terms to be added come first, so that nothing is subtracted from 0.
    terms = sorted(formula.terms.items(), key=lambda term: term[1] < 0)
    for product, number in terms:
        size = abs(int(number)) if total is not None else int(number)
        term: Value | None = None
        for symbol in product:
            factor = _symbol(build, symbol, kind, computed)
            term = factor if term is None else build.muli(term, factor)
        if term is None:
            term = build.constant(size, kind)
        elif size != 1:
            term = build.muli(term, build.constant(size, kind))
        if total is None:
            total = term
        else:
            total = build.subi(total, term) if number < 0 else build.addi(total, term)
    return total if total is not None else build.constant(0, kind)


def values_of(formula: Affine) -> Iterator[Value]:
    """Yield the values that the ops which compute `formula` read."""
    for symbol in formula.all_symbols():
        if symbol.kind == affine.SCALAR:
            yield symbol.operands[0]
        elif symbol.kind == affine.ITERATION:
            yield from _loop_values(symbol)


def widest(formula: Affine, kind: str) -> str:
    """Return the widest of the integer types of a formula's values and `kind`."""
    kinds = [kind, *(_integer_type(value) for value in values_of(formula))]
    return max(kinds, key=element_bits)


def convert(build: Builder, value: Value, kind: str) -> Value:
    """Return an integer as one of the type `kind`, sign extended or cut off."""
    have = str(value.type)
    if have == kind:
        return value
    if "index" in (have, kind):
        return build.op("arith.index_cast", [value], kind)
    is_wider = element_bits(kind) > element_bits(have)
    return build.op("arith.extsi" if is_wider else "arith.trunci", [value], kind)


def _symbol(build: Builder, symbol: Symbol, kind: str, computed: Mapping[Symbol, Value]) -> Value:
    if symbol in computed:
        return convert(build, computed[symbol], kind)
    if symbol.kind == affine.SCALAR:
        return convert(build, symbol.operands[0], kind)
    if symbol.kind == affine.ITERATION:
        counter, first, step = (convert(build, value, kind) for value in _loop_values(symbol))
        return build.divsi(build.subi(counter, first), step)
    left, right = (compute(build, part, kind, computed) for part in symbol.affine_operands)
    return build.binary(_OPS[symbol.kind], left, right)


def _loop_values(symbol: Symbol) -> list[Value]:
    """Return counter, start and step of the loop whose iterations `symbol` counts."""
    loop = symbol.operands[0]
    return [loop.regions[0].blocks[0].arguments[0], loop.operands[0], loop.operands[2]]


def _integer_type(value: Value) -> str:
    kind = str(value.type)
    return "i64" if kind == "index" else kind
