"""Which product of an accumulator is the last one before it is stored.

Unit flags need to know: M hands fractals of L0C over to FIX with the last product, and has to make
one whenever FIX waits for it. So every product must be one that is computed (its k is not empty),
on just the rows and columns that are stored.
"""

from __future__ import annotations

from dataclasses import dataclass

from flagc.ir.analysis.index_values import IndexValues, NotAffine
from flagc.ir.analysis.integer_facts import Facts
from flagc.ir.analysis.signs import integer_constant
from flagc.ir.analysis.tile_accesses import TileAccess, home_of
from flagc.ir.module import Operation, Value, defining_op
from flagc.ir.staged.operations import StagedOp, staged_op


@dataclass(frozen=True)
class Turns:
    """How M and FIX take turns on one accumulator.

    Attributes:
        product: the `staged.mad` that adds up.
        loops: those around it within the accumulator's home block, the innermost first; it is the
            last product when all are in their last iteration.
        store: the `staged.fixpipe`.
        cleared: the `scf.if` that zeroes the accumulator where the loops did nothing, or None.
    """

    product: StagedOp
    loops: tuple[Operation, ...]
    store: StagedOp
    cleared: Operation | None


@dataclass(frozen=True)
class Unknown:
    """Why the last product is not known."""

    op: Operation
    reason: str


def turns_of(accesses: list[TileAccess], values: IndexValues) -> Turns | Unknown:
    """Return how M and FIX take turns on the accumulator with these accesses."""
    home = home_of(accesses)
    first = accesses[0].op
    if home is None:
        return Unknown(first, "products and stores are in branches that exclude each other")
    statements = [statement for statement, _ in home.statements]
    *products, end = statements
    store, cleared = staged_op(end), None
    if len(products) == 2 and str(products[1].name) == "scf.if":
        cleared = products.pop()
    if len(products) != 1 or store is None or store.name != "fixpipe":
        return Unknown(end, "it is not one statement that adds up, and then one that stores")
    found = [access.op for access in accesses if access.pipe == "M"]
    mads = [op for op in found if products[0] in _around(op)]
    product = staged_op(mads[0])
    loops = _around(mads[0])[1:]
    loops = loops[: loops.index(products[0]) + 1] if mads[0] != products[0] else []
    if len(mads) != 1 or any(str(loop.name) != "scf.for" for loop in loops):
        return Unknown(mads[-1], "several products, or branches, add up")
    assert product is not None
    turns = Turns(product, tuple(loops), store, cleared)
    problem = _problem(turns, values)
    return Unknown(*problem) if problem is not None else turns


def _around(op: Operation) -> list[Operation]:
    found = [op]
    while found[-1].parent is not None and found[-1].parent.operation.parent is not None:
        found.append(found[-1].parent.operation)
    return found


def _problem(turns: Turns, values: IndexValues) -> tuple[Operation, str] | None:
    product, store = turns.product, turns.store
    facts = Facts(values)
    try:
        if any(
            values.index(product.operand(name)) != values.index(store.operand(name))
            for name in ("m", "n")
        ):
            return store.op, "products have other rows or columns than what is stored"
        if not facts.is_non_negative(values.index(product.operand("k")) - 1):
            return product.op, "the last product may be empty"
        runs = all(
            facts.is_non_negative(
                values.index(loop.operands[1]) - values.index(loop.operands[0]) - 1
            )
            for loop in turns.loops
        )
    except NotAffine as problem:
        return problem.op or product.op, problem.reason
    if turns.cleared is None:
        return None if runs else (product.op, "there may be no product at all")
    if turns.loops and _says_whether_it_ran(turns.cleared.operands[0], turns.loops):
        return None
    return turns.cleared, "when the accumulator is cleared is not known"


def _says_whether_it_ran(value: Value, loops: tuple[Operation, ...]) -> bool:
    """Return whether `value`, a result of the outermost loop, is true if no loop ran."""
    outermost, inner = loops[-1], loops[:-1]
    if defining_op(value) != outermost:
        return False
    number = list(outermost.results).index(value)
    if integer_constant(outermost.operands[3 + number]) not in (1, True, -1):
        return False
    return _becomes_false(outermost, number, inner)


def _becomes_false(loop: Operation, number: int, inner: tuple[Operation, ...]) -> bool:
    """Return whether the value that `loop` carries becomes false with its first product."""
    body = loop.regions[0].blocks[0]
    yielded = list(body.operations)[-1].operation.operands[number]
    if not inner:
        return integer_constant(yielded) in (0, False)
    nested = inner[-1]
    if defining_op(yielded) != nested:
        return False
    position = list(nested.results).index(yielded)
    is_handed_on = nested.operands[3 + position] == body.arguments[1 + number]
    return is_handed_on and _becomes_false(nested, position, inner[:-1])
