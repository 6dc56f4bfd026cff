"""A bias that the Cube adds: a row of global memory, through L1 and BT."""

from __future__ import annotations

import math
from dataclasses import dataclass

from flagc.ir.analysis.accesses import Refused, describe
from flagc.ir.analysis.affine import Affine
from flagc.ir.analysis.extents import covers, extent, mask_problem
from flagc.ir.analysis.index_values import IndexValues
from flagc.ir.analysis.integer_facts import Facts
from flagc.ir.analysis.signs import is_zero
from flagc.ir.formula_ops import values_of
from flagc.ir.module import Module, Operation, Value, defining_op
from flagc.ir.scalar_values import ScalarValues, dominates
from flagc.ir.staged.operations import create, staged_op
from flagc.ir.staged.tiles import TileType
from flagc.ir.types import PointerType, TensorType, element_bits

# Bytes of L1 that are moved to BT at least (AscendC DataCopy to C2).
_PACKET = 64


@dataclass(frozen=True)
class Bias:
    """Elements of a row: `size` of them from `offset` on, of which `limit` are there."""

    load: Operation
    base: Value
    offset: Affine
    limit: Affine
    size: int
    element: str
    fill: bool


def bias_of(
    values: IndexValues, facts: Facts, load: Operation, stored: list[Affine]
) -> Bias | Refused:
    """Return the bias that a load gives; `stored` are extents of the columns that are stored."""

    def refused(reason: str) -> Refused:
        return Refused(load, load, f"no bias for the Cube: {reason}")

    access = describe(values, load)
    if isinstance(access, Refused):
        return refused(access.reason)
    tensor, pointer = TensorType.of(load.results[0]), PointerType.of(access.base)
    assert tensor is not None
    if tensor.element not in ("f16", "f32", "i32"):
        return refused(f"it is of {tensor.element}; BT takes f16, f32 and i32")
    if pointer is None or pointer.pointee != tensor.element:
        return refused(f"the pointer is no pointer to {tensor.element}")
    if (flaw := mask_problem(access)) is not None:
        return refused(flaw)
    *leading, row = access.dimensions
    limit = extent(facts, row)
    if isinstance(limit, str):
        return refused(limit)
    if any(dimension.upper or dimension.lower for dimension in leading):
        return refused("whether it is there depends on the row")
    if row.stride.number != 1 and row.size > 1:
        return refused("its elements are no neighbours in memory")
    is_enough = all(covers(facts, limit, one, row.size) for one in stored)
    if not is_enough and access.other is not None and not _is_zero(access.other):
        return refused("elements that are masked off are loaded as something else than 0")
    return Bias(
        load, access.base, access.offset, limit, row.size, tensor.element, fill=not is_enough
    )


def _is_zero(other: Value | float) -> bool:
    return other == 0.0 if isinstance(other, float) else is_zero(other)


def late_bias(accumulator: Value, bias: Bias) -> Refused | None:
    """Say that a bias is not known yet when the accumulator's first product begins."""
    place = defining_op(accumulator)
    assert place is not None
    needed = [bias.base, *values_of(bias.offset), *values_of(bias.limit)]
    if all(dominates(value, place) for value in needed):
        return None
    return Refused(bias.load, bias.load, "the bias is known only after the product has begun")


def add_bias(
    module: Module, scalars: ScalarValues, accumulator: Value, bias: Bias
) -> Refused | None:
    """Let the products that start `accumulator` add the bias; return why that cannot be."""
    problem = late_bias(accumulator, bias)
    if problem is not None:
        return problem
    place = defining_op(accumulator)
    assert place is not None
    kind = TileType.of(accumulator)
    assert kind is not None
    granule = _PACKET * 8 // element_bits(bias.element)
    columns = math.ceil(kind.columns / granule) * granule
    row = _alloc(module, place, bias, TileType("l1", 1, columns, bias.element))
    if bias.fill or bias.size < kind.columns:
        create(module, "fill", {"tile": row}, before=place, location=bias.load.location)
    one = scalars.at(Affine.constant(1), "i32", place)
    operands = {
        "base": bias.base,
        "offset": scalars.at(bias.offset, "i64", place),
        "row_stride": scalars.at(Affine.constant(bias.size), "i64", place),
        "rows": one,
        "columns": scalars.limit(bias.limit, bias.size, place, clamped=columns > bias.size),
        "tile": row,
    }
    create(module, "nd2nz", operands, before=place, location=bias.load.location)
    table = _alloc(module, place, bias, TileType("bt", 1, columns, kind.element))
    whole = scalars.at(Affine.constant(columns), "i32", place)
    create(
        module, "load_bt", {"source": row, "n": whole, "tile": table},
        before=place, location=bias.load.location,
    )  # fmt: skip
    for use in list(accumulator.uses):
        product = staged_op(use.owner.operation)
        if product is not None and product.name == "mad":
            _with_bias(module, product.op, table)
    return None


def _alloc(module: Module, place: Operation, bias: Bias, kind: TileType) -> Value:
    attributes = {"buffers": "1 : i64"}
    made = create(
        module, "alloc", {}, attributes, results=[kind.text()],
        before=place, location=bias.load.location,
    )  # fmt: skip
    return made.results[0]


def _with_bias(module: Module, product: Operation, table: Value) -> None:
    names = ("a", "b", "c", "m", "k", "n", "init")
    operands = dict(zip(names, product.operands, strict=True))
    attributes = {name: product.attributes[name] for name in product.attributes}
    create(module, "mad", {**operands, "bias": table}, attributes, before=product)
    product.erase()
