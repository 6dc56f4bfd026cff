"""Multiply matrices in L1 on the Cube: through L0A and L0B, summed up in L0C."""

from __future__ import annotations

from dataclasses import dataclass

from flagc.ir.analysis.accesses import Refused
from flagc.ir.analysis.accumulators import Sum, sums
from flagc.ir.analysis.index_values import IndexValues
from flagc.ir.analysis.integer_facts import Facts
from flagc.ir.analysis.stored_extents import stored_extents
from flagc.ir.analysis.tile_operands import tile_operand
from flagc.ir.builder import Builder
from flagc.ir.dead_code import is_unused
from flagc.ir.equal_ops import merge_equal_scalars
from flagc.ir.module import Module, Operation, Value
from flagc.ir.regions import block_operations
from flagc.ir.staged.operations import create
from flagc.ir.staged.tiles import CUBE_ELEMENTS, TileType, accumulator_of
from flagc.ir.types import TensorType, is_float
from flagc.ir.unused_values import erase_unused_values
from flagc.passes.ascend.cube_product import Product, emit_product, emit_zeros, product_of
from flagc.pipeline.context import PassContext
from flagc.pipeline.passes import Pass, register


@register
@dataclass(frozen=True)
class StageDotOnCube(Pass):
    """Turn sums of `tt.dot` into products on the Cube that add to one accumulator each.

    acc = zeros                      tile = staged.alloc                    L0C, 128x128xf32
    for k ...:                  =>   for k ..., fresh = true:
      a, b = read_tile ...             l0a, l0b = staged.alloc              a part of K at a time
      acc = tt.dot(a, b, acc)          staged.load_l0a; staged.load_l0b
                                       staged.mad(l0a, l0b, tile, m, k, n, init = fresh)
                                       fresh = false
                                     if fresh: zeros in tile
                                     acc = staged.read_accumulator(tile)

    The loop carries `fresh`, whether nothing has been added yet, instead of the sum: the first
    product overwrites what the accumulator holds. A part of K is what half of L0A and half of L0B
    hold, so that the next part can be loaded meanwhile. What masks leave over of M, N and K limits
    the products; where the store is not limited alike, tiles are filled with zeros before they are
    loaded, and all of a tile is multiplied.
    """

    name = "stage-dot-on-cube"
    level = "staged"

    def run(self, module: Module, context: PassContext) -> None:
        """Replace every dot."""
        values = IndexValues()
        facts = Facts(values)
        found = sums(module)
        if isinstance(found, Refused):
            context.decline(found.at, found.reason)
        work = []
        for one in found:
            products = _products(values, facts, one, context)
            work.append((one, products))
        for one, products in work:
            _replace_sum(module, values, facts, one, products)
            context.statistic("sums")
            context.statistic("products", len(products))
        for op in module.walk("staged.read_tile"):
            if is_unused(op):
                op.erase()
        erase_unused_values(module)
        merge_equal_scalars(module)


def _products(values: IndexValues, facts: Facts, one: Sum, context: PassContext) -> list[Product]:
    """Return how each dot of a sum is computed, in the sum's order."""
    stored = stored_extents(values, facts, one.readers)
    products = []
    for dot in one.dots:
        if (problem := _problem(dot)) is not None:
            context.decline(dot, problem)
        left, right = (tile_operand(values, dot, number) for number in (0, 1))
        if isinstance(left, Refused):
            context.decline(left.at, left.reason)
        if isinstance(right, Refused):
            context.decline(right.at, right.reason)
        product = product_of(facts, left, right, stored, context.target)
        if isinstance(product, str):
            context.decline(dot, product)
        products.append(product)
    return products


def _problem(dot: Operation) -> str | None:
    """Say why a dot is none for the Cube; None where it may be one."""
    parent = dot.parent.operation.name
    if parent not in ("scf.for", "tt.func"):
        return f"the product is in an '{parent}'"
    left, right, total = (TensorType.of(dot.operands[number]) for number in range(3))
    assert left is not None and right is not None and total is not None
    if any(size != 1 for size in total.shape[:-2]):
        return "a product of more than one pair of matrices (stage-loads makes loops over batches)"
    if left.element != right.element or left.element not in CUBE_ELEMENTS:
        return f"the Cube does not multiply {left.element} by {right.element}"
    if total.element != accumulator_of(left.element):
        made = accumulator_of(left.element)
        return f"the Cube sums products of {left.element} as {made}, not as {total.element}"
    return None


def _replace_sum(
    module: Module, values: IndexValues, facts: Facts, one: Sum, products: list[Product]
) -> None:
    """Put a sum into an accumulator; loops carry whether it is fresh."""
    assert one.result is not None
    tensor_type = one.result.type
    shape = products[0]
    kind = TileType("l0c", shape.m, shape.n, accumulator_of(shape.left.element))
    attributes = {"buffers": "1 : i64"}
    alloc = create(module, "alloc", {}, attributes, results=[kind.text()], before=one.first)
    accumulator = alloc.results[0]
    start = one.start
    fresh = Builder(module, before=one.first).constant(True, "i1")
    one.first.operands[one.first_operand] = fresh
    for loop, number in one.loops:
        _carry_fresh(module, loop, number)
    known = {fresh: False}  # whether something is known to have been added
    remaining = iter(products)
    for op, number in one.steps:
        if op.name == "tt.dot":
            product = next(remaining)
            value = emit_product(module, facts, op, product, accumulator)
            known[value] = product.adds_something(facts) or _is_added(op.operands[2], known)
            op.results[0].set_type(module.type("i1"))
            op.results[0].replace_all_uses_with(value)
        else:
            known[op.results[number]] = _is_loop_added(values, facts, op, number, known)
    total = _emit_reader(module, one, shape, accumulator, tensor_type, known)
    if start is not None and total is not None:
        _add_start(module, one, start, total)
    for dot in one.dots:
        dot.erase()


def _is_added(fresh: Value, known: dict[Value, bool]) -> bool:
    """Return whether something is known to have been added where `fresh` is the flag."""
    return known.get(fresh, False)


def _carry_fresh(module: Module, loop: Operation, number: int) -> None:
    kind = module.type("i1")
    loop.regions[0].blocks[0].arguments[number + 1].set_type(kind)
    loop.results[number].set_type(kind)


def _is_loop_added(
    values: IndexValues, facts: Facts, loop: Operation, number: int, known: dict[Value, bool]
) -> bool:
    first, last = (values.index(loop.operands[index]) for index in (0, 1))
    end = list(loop.regions[0].blocks[0].operations)[-1].operation
    runs = facts.is_non_negative(last - first - 1)
    return _is_added(loop.operands[3 + number], known) or (
        runs and _is_added(end.operands[number], known)
    )


def _emit_reader(
    module: Module,
    one: Sum,
    product: Product,
    accumulator: Value,
    tensor_type: object,
    known: dict[Value, bool],
) -> Operation | None:
    """Give the readers of a sum the accumulator's tensor, with zeros where nothing was added.

    Returns the op that reads, if there are readers.
    """
    if not one.readers:
        return None
    last, number = one.steps[-1]
    # The users of a dot have the flag by now.
    reader, operand = one.readers[0]
    fresh = reader.operands[operand] if last.name == "tt.dot" else last.results[number]
    ops = block_operations(last)
    place = ops[ops.index(last) + 1]
    if not _is_added(fresh, known):
        emit_zeros(module, fresh, product, accumulator, place, one.dots[0].location)
    read = create(
        module,
        "read_accumulator",
        {"source": accumulator, "fresh": Builder(module, before=place).constant(False, "i1")},
        results=[tensor_type],
        before=place,
        location=last.location,
    )
    for op, operand in one.readers:
        op.operands[operand] = read.results[0]
    return read


def _add_start(module: Module, one: Sum, start: Value, total: Operation) -> None:
    """Add what the sum starts from in the end: `stage-store` makes it a bias."""
    readers = [(use.owner.operation, use.operand_number) for use in total.results[0].uses]
    element = TensorType.of(start)
    name = "arith.addf" if element is not None and is_float(element.element) else "arith.addi"
    added = module.create(
        name, [total.results[0], start], [start.type], after=total, location=one.dots[0].location
    )
    for op, operand in readers:
        op.operands[operand] = added.results[0]
