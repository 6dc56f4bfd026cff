"""How many lanes of a block's dimension are accessed: what its mask leaves over, as a formula."""

from __future__ import annotations

from flagc.ir.analysis import affine
from flagc.ir.analysis.accesses import Access, Dimension
from flagc.ir.analysis.affine import Affine
from flagc.ir.analysis.formula_text import text
from flagc.ir.analysis.integer_facts import Facts


def mask_problem(access: Access) -> str | None:
    """Say what of an access's mask is no bound on one dimension's lanes; None: it is all bounds."""
    for terms, why in (
        (access.conditions, "a condition that is the same for all lanes"),
        (access.irregular, "a condition that is no bound on the rows or on the columns"),
    ):
        for term in terms:
            reason = f": {term.problem.reason}" if term.problem is not None else ""
            return f"its mask has {why}{reason}"
    return None


def extent(facts: Facts, dimension: Dimension) -> Affine | str:
    """Return a formula: lanes below it, and below the dimension's size, are accessed, from 0 on.

    It may be negative, and is the size itself where nothing is masked off. Where lanes are not
    accessed from 0 on, the result is why.
    """
    if dimension.wrap is not None:
        return f"its index wraps around at {text(dimension.wrap.modulus)}"
    for bound in dimension.lower:
        if not facts.is_non_negative(-bound.limit):
            return f"lanes below {text(bound.limit)} are masked off, and that may be above 0"
    size = Affine.constant(dimension.size)
    limits = [b.limit for b in dimension.upper if not facts.is_non_negative(b.limit - size)]
    least = size
    for limit in dict.fromkeys(limits):
        least = limit if least == size else _smaller(facts, least, limit)
    return least


def matrix_extents(facts: Facts, access: Access) -> list[Affine] | str:
    """Return the extents of the last two dimensions of a block, a matrix, or why there are none.

    Dimensions before them have one lane, which must be there.
    """
    extents = []
    for dimension in access.dimensions:
        limit = extent(facts, dimension)
        if isinstance(limit, str):
            return limit
        extents.append(limit)
    if len(extents) < 2:
        return "it is no matrix"
    if any(dimension.size != 1 for dimension in access.dimensions[:-2]):
        return "it is more than one matrix"
    if any(limit.number != 1 for limit in extents[:-2]):
        return "whether its matrix is there depends on the number of the batch"
    return extents[-2:]


def _smaller(facts: Facts, left: Affine, right: Affine) -> Affine:
    if facts.is_non_negative(right - left):
        return left
    if facts.is_non_negative(left - right):
        return right
    return facts.symbols.get(affine.MINIMUM, left, right)


def covers(facts: Facts, extent: Affine, needed: Affine, size: int) -> bool:
    """Return whether all lanes below `needed`, of `size`, are known to be below `extent`."""
    extent, needed = (unclamped(formula, size) for formula in (extent, needed))
    if extent == needed:
        return True
    if extent.number is not None and extent.number >= size:
        return True
    return facts.is_non_negative(extent - needed)


def unclamped(formula: Affine, size: int) -> Affine:
    """Return x of min(x, size) and of max(x, 0): they say the same about lanes below `size`."""
    symbols = formula.symbols()
    if len(symbols) != 1 or formula.terms != {(symbols[0],): 1}:
        return formula
    bounds = {affine.MINIMUM: size, affine.MAXIMUM: 0}
    if symbols[0].kind not in bounds:
        return formula
    left, right = symbols[0].affine_operands
    for one, other in ((left, right), (right, left)):
        if other.number == bounds[symbols[0].kind]:
            return unclamped(one, size)
    return formula
