"""One `tt.dot` as moves to L0A and L0B and multiply-accumulates of the Cube."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from flagc.ir.analysis.affine import Affine
from flagc.ir.analysis.extents import covers, unclamped
from flagc.ir.analysis.formula_text import text
from flagc.ir.analysis.integer_facts import Facts
from flagc.ir.analysis.masks import is_true
from flagc.ir.analysis.tile_operands import TileOperand
from flagc.ir.builder import Builder
from flagc.ir.module import Module, Operation, Value, defining_op
from flagc.ir.regions import append, create_if
from flagc.ir.staged.operations import create
from flagc.ir.staged.tiles import FRACTAL_ROWS, TileType, c0_of
from flagc.ir.types import element_bits

_L0C_BYTES_PER_SUM = 4


@dataclass(frozen=True)
class Product:
    """How a dot is computed.

    Attributes:
        m, n, k: sizes of the tiles, whole fractals.
        step: how much of K is loaded into L0A and L0B at once.
        deep: the operand whose limit of K holds.
        fills: the operands whose tiles need zeros where nothing is loaded.
    """

    left: TileOperand
    right: TileOperand
    m: int
    n: int
    k: int
    step: int
    deep: TileOperand
    fills: tuple[TileOperand, ...]

    @property
    def depth(self) -> Value:
        """How much of K there is, an i32."""
        return self.deep.limits[1 if self.deep is self.left else 0]

    def depth_extent(self) -> Affine:
        """The same as a formula."""
        return self.deep.extents[1 if self.deep is self.left else 0]

    def adds_something(self, facts: Facts) -> bool:
        """Return whether some of K is known to be there."""
        return facts.is_non_negative(unclamped(self.depth_extent(), self.k) - 1)


def product_of(
    facts: Facts,
    left: TileOperand,
    right: TileOperand,
    stored: list[tuple[Affine, ...]] | None,
    chip: Any,
) -> Product | str:
    """Return how the product of two tiles is computed, or why it cannot be.

    `stored` are the extents of the stores of the sum; `chip` gives the sizes of L0A, L0B and L0C.
    """
    m, k = left.padded
    n = right.padded[1]
    step = _step(m, n, k, left.element, chip)
    if isinstance(step, str):
        return step
    deep = _deeper_limited(facts, left, right)
    if isinstance(deep, str):
        return deep
    fills = tuple(
        operand
        for operand, dim in ((left, 0), (right, 1))
        if not _is_enough(facts, operand, dim, stored)
    )
    return Product(left, right, m, n, k, step, deep, fills)


def _is_enough(
    facts: Facts, operand: TileOperand, dim: int, stored: list[tuple[Affine, ...]] | None
) -> bool:
    """Return whether every row or column that is stored is among the operand's."""
    extent, size = operand.extents[dim], operand.shape[dim]
    if extent.number is not None and extent.number >= size:
        return True
    return stored is not None and all(covers(facts, extent, one[dim], size) for one in stored)


def _deeper_limited(facts: Facts, left: TileOperand, right: TileOperand) -> TileOperand | str:
    """Return the operand whose limit of K is that of the product."""
    size = left.shape[1]
    extents = (left.extents[1], right.extents[0])
    if covers(facts, extents[0], extents[1], size):
        return right
    if covers(facts, extents[1], extents[0], size):
        return left
    return (
        f"the operands end at different places along K: the left one at {text(extents[0])}, the "
        f"right one at {text(extents[1])}"
    )


def _step(m: int, n: int, k: int, element: str, chip: Any) -> int | str:
    """Return how much of K is loaded at once: a part that divides K and fits half of L0A and L0B.

    The whole memories are used where the halves are too small.
    """
    if m * n * _L0C_BYTES_PER_SUM > chip.l0c_bytes:
        return (
            f"L0C overflow: an accumulator of {m}x{n} needs {m * n * _L0C_BYTES_PER_SUM} bytes, "
            f"{chip.short_name} has {chip.l0c_bytes}; make the tiles smaller (resize-tiles)"
        )
    granule = _depth_granule(element)
    for parts in (2, 1):
        most = min(
            chip.l0a_bytes // parts * 8 // (m * element_bits(element)),
            chip.l0b_bytes // parts * 8 // (n * element_bits(element)),
        )
        fitting = [size for size in range(granule, min(k, most) + 1, granule) if k % size == 0]
        if fitting:
            return fitting[-1]
    return (
        f"{granule} of K of a tile with {m} rows and {n} columns do not fit L0A and L0B, of "
        f"{chip.l0a_bytes} and {chip.l0b_bytes} bytes; make the tiles smaller (resize-tiles)"
    )


def _depth_granule(element: str) -> int:
    return max(FRACTAL_ROWS, c0_of(element))


def emit_product(
    module: Module, facts: Facts, dot: Operation, product: Product, accumulator: Value
) -> Value:
    """Create what `dot` does to `accumulator` before it; return whether nothing was added yet."""
    for operand in product.fills:
        _fill(module, operand)
    fresh = dot.operands[2]
    build = Builder(module, before=dot)
    is_there = product.adds_something(facts)
    if product.step == product.k:
        zero = build.constant(0, "i32")
        _emit_step(module, dot, product, accumulator, (zero, product.depth), fresh)
        return _still_fresh(build, fresh, product.depth, is_there=is_there)
    bounds = [build.constant(number, "i32") for number in (0, product.k, product.step)]
    loop = module.create("scf.for", [*bounds, fresh], ["i1"], before=dot, regions=1)
    kinds = [module.type("i32"), module.type("i1")]
    body = loop.regions[0].blocks.append(*kinds, arg_locs=[dot.location] * 2)
    end = append(module, body, "scf.yield", [body.arguments[1]], location=dot.location)
    place = Builder(module, before=end)
    rest = place.subi(product.depth, body.arguments[0])
    _emit_step(module, end, product, accumulator, (body.arguments[0], rest), body.arguments[1])
    end.operands[0] = _still_fresh(place, body.arguments[1], rest, is_there=is_there)
    return loop.results[0]


def _still_fresh(build: Builder, fresh: Value, depth: Value, *, is_there: bool) -> Value:
    """Return whether nothing has been added after a product of `depth`.

    With `is_there` the first part of K is known not to be empty; what follows it, if it is empty,
    finds `fresh` false.
    """
    if is_there:
        return build.constant(False, "i1")
    nothing = build.cmpi("sle", depth, build.constant(0, "i32"))
    made = defining_op(fresh)
    return nothing if made is not None and is_true(made) else build.andi(fresh, nothing)


def _fill(module: Module, operand: TileOperand) -> None:
    """Fill a tile with zeros before something is loaded into it."""
    users = [use.owner.operation.name for use in operand.tile.uses]
    if "staged.fill" not in users:
        create(module, "fill", {"tile": operand.tile}, before=operand.move)


def _emit_step(
    module: Module,
    place: Operation,
    product: Product,
    accumulator: Value,
    part: tuple[Value, Value],
    fresh: Value,
) -> None:
    """Create one part of a product before `place`: it starts at `part[0]` of K, of which
    `part[1]` is left."""
    build = Builder(module, before=place)
    start, depth = part
    zero = build.constant(0, "i32")
    left, right = product.left, product.right
    m = _limit(build, product, left, 0)
    n = _limit(build, product, right, 1)
    element = left.element
    l0a = _alloc(module, place, TileType("l0a", product.m, product.step, element))
    l0b = _alloc(module, place, TileType("l0b", product.step, product.n, element))
    row, column = (start, zero) if left.transposed else (zero, start)
    create(
        module, "load_l0a",
        {"source": left.tile, "row": row, "column": column, "m": m, "k": depth, "tile": l0a},
        _transpose(left), before=place,
    )  # fmt: skip
    row, column = (zero, start) if right.transposed else (start, zero)
    create(
        module, "load_l0b",
        {"source": right.tile, "row": row, "column": column, "k": depth, "n": n, "tile": l0b},
        _transpose(right), before=place,
    )  # fmt: skip
    create(
        module, "mad",
        {"a": l0a, "b": l0b, "c": accumulator, "m": m, "k": depth, "n": n, "init": fresh},
        before=place,
    )  # fmt: skip


def _limit(build: Builder, product: Product, operand: TileOperand, dim: int) -> Value:
    """Return how many rows or columns are multiplied: what there is, or all of a filled tile."""
    if operand in product.fills:
        return build.constant(operand.shape[dim], "i32")
    return operand.limits[dim]


def _transpose(operand: TileOperand) -> dict[str, str]:
    return {"transpose": "true"} if operand.transposed else {}


def _alloc(module: Module, place: Operation, kind: TileType) -> Value:
    attributes = {"buffers": "1 : i64"}
    made = create(module, "alloc", {}, attributes, results=[kind.text()], before=place)
    return made.results[0]


def emit_zeros(
    module: Module,
    fresh: Value,
    product: Product,
    accumulator: Value,
    place: Operation,
    location: Any,
) -> None:
    """Create, before `place`, zeros in `accumulator` where nothing was added to it.

    The Cube makes them of a tile of zeros. Work around it is finished before and after, so that
    its tiles may lie where others do.
    """
    _, then, otherwise = create_if(module, fresh, [], before=place)
    end = append(module, then, "scf.yield", location=location)
    append(module, otherwise, "scf.yield", location=location)
    element = product.left.element
    depth = _depth_granule(element)
    build = Builder(module, before=end)
    create(module, "barrier", attributes={"pipe": '"ALL"'}, before=end)
    size = max(product.m, product.n)
    zeros = _alloc(module, end, TileType("l1", size, depth, element))
    create(module, "fill", {"tile": zeros}, before=end)
    l0a = _alloc(module, end, TileType("l0a", product.m, depth, element))
    l0b = _alloc(module, end, TileType("l0b", depth, product.n, element))
    zero, k = build.constant(0, "i32"), build.constant(depth, "i32")
    m, n = build.constant(product.m, "i32"), build.constant(product.n, "i32")
    at = {"source": zeros, "row": zero, "column": zero, "k": k}
    create(module, "load_l0a", {**at, "m": m, "tile": l0a}, before=end)
    create(module, "load_l0b", {**at, "n": n, "tile": l0b}, {"transpose": "true"}, before=end)
    true = build.constant(True, "i1")
    operands = {"a": l0a, "b": l0b, "c": accumulator, "m": m, "k": k, "n": n, "init": true}
    create(module, "mad", operands, before=end)
    create(module, "barrier", attributes={"pipe": '"ALL"'}, before=end)
