"""Masks as conditions on formulas: `rows < M` is `M - rows - 1 >= 0`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from flagc.ir.analysis.affine import Affine
from flagc.ir.analysis.index_values import IndexValues, NotAffine, lanes_of, places
from flagc.ir.analysis.integer_ranges import numeric_range
from flagc.ir.module import Operation, Value, defining_op
from flagc.ir.types import TensorType, element_of

# arith.cmpi's predicates, by what makes `left predicate right` a number that is at least 0.
_EQUAL = 0
_NOT_NEGATIVE: dict[int, Callable[[Affine, Affine], Affine]] = {
    2: lambda left, right: right - left - 1,
    3: lambda left, right: right - left,
    4: lambda left, right: left - right - 1,
    5: lambda left, right: left - right,
}
_UNSIGNED = 4  # ult is slt + 4, and so on
# Ops through which a condition reaches the mask's shape.
PASSED_ON = frozenset({"tt.broadcast", "tt.expand_dims", "tt.splat", "tt.trans"})


@dataclass(frozen=True)
class MaskTerm:
    """One condition of a mask.

    Attributes:
        value: the condition as the kernel computes it, maybe of fewer dimensions than the mask.
        margin: the condition holds where this is not negative; a formula of the mask's lanes.
        problem: why there is no margin, if there is none.
    """

    value: Value
    margin: Affine | None
    problem: NotAffine | None = None

    @property
    def dimensions(self) -> set[int] | None:
        """Along which dimensions the condition varies; None when that is not known."""
        if self.margin is not None:
            return lanes_of(self.margin)
        return set() if TensorType.of(self.value) is None else None


def mask_terms(values: IndexValues, mask: Value) -> list[MaskTerm]:
    """Return the conditions that `mask`, a tensor of i1 or one i1, is the conjunction of."""
    op = defining_op(mask)
    if op is None:
        problem = NotAffine(None, "the mask is no comparison")
        return [MaskTerm(mask, None, problem)]
    if op.name == "arith.andi":
        terms: dict[Value, MaskTerm] = {}
        for operand in op.operands:
            terms.update((term.value, term) for term in mask_terms(values, operand))
        return list(terms.values())
    if op.name in PASSED_ON:
        place = places(op) if op.name in ("tt.expand_dims", "tt.trans") else None
        inner = mask_terms(values, op.operands[0])
        return inner if place is None else [_moved(values, term, place) for term in inner]
    if is_true(op):
        return []
    return [_term(values, mask, op)]


def _moved(values: IndexValues, term: MaskTerm, place: Callable[[int], int]) -> MaskTerm:
    if term.margin is None:
        return term
    return replace(term, margin=values.moved(term.margin, place))


def _term(values: IndexValues, mask: Value, op: Operation) -> MaskTerm:
    try:
        return MaskTerm(mask, _margin(values, op))
    except NotAffine as problem:
        return MaskTerm(mask, None, problem)


def _margin(values: IndexValues, op: Operation) -> Affine:
    if op.name == "arith.xori":
        for inner, other in (op.operands, reversed(list(op.operands))):
            constant, negated = defining_op(other), defining_op(inner)
            if constant is not None and is_true(constant) and negated is not None:
                return -_margin(values, negated) - 1
    if op.name != "arith.cmpi":
        raise NotAffine(op, f"the mask is computed by '{op.name}'")
    if element_of(op.operands[0]) == "i1":
        raise NotAffine(op, "the mask compares conditions")
    predicate = op.attributes["predicate"].value
    left, right = (values.index(operand) for operand in op.operands)
    is_unsigned = predicate >= min(_NOT_NEGATIVE) + _UNSIGNED
    if is_unsigned:
        predicate -= _UNSIGNED
        if any(_may_be_negative(side) for side in (left, right)):
            raise NotAffine(op, "the mask compares numbers as unsigned that may be negative")
    if predicate not in _NOT_NEGATIVE:
        raise NotAffine(op, "the mask asks whether numbers are equal")
    return _NOT_NEGATIVE[predicate](left, right)


def is_true(op: Operation) -> bool:
    """Return whether `op` is the constant true, or a tensor of it."""
    if op.name != "arith.constant":
        return False
    attribute = op.attributes["value"]
    if TensorType.of(op.results[0]) is not None:
        if not attribute.is_splat:
            return False
        attribute = attribute.get_splat_value()
    return bool(attribute.value)


def _may_be_negative(formula: Affine) -> bool:
    low = numeric_range(formula)[0]
    return low is None or low < 0
