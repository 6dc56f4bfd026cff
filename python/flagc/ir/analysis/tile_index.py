"""The index of a tile's elements along one axis of the grid: `program id * block + lane`.

A kernel whose program id of an axis is used for nothing else computes each index on its own, as far
as nothing looks across the block's axis: its block can have another length.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from flagc.ir.analysis.program_ids import users
from flagc.ir.analysis.signs import integer_constant
from flagc.ir.analysis.tensor_axes import Flaw, Key, TensorAxes, shape_of
from flagc.ir.module import Operation, Value, defining_op


@dataclass
class TileIndex:
    """The ops that make up the index.

    Attributes:
        axis: the axis of `TensorAxes` that the index runs along.
        block: its length.
        products: `program id * block`.
        sums: `products + lane`, as tensors of one dimension.
    """

    axis: Key
    block: int
    products: list[Operation] = field(default_factory=list)
    sums: list[Operation] = field(default_factory=list)


def tile_index(axes: TensorAxes, ids: list[Operation]) -> TileIndex | Flaw:
    """Return the index that the program ids `ids`, all of one axis, make up, or what else they do.

    The axis may still have flaws or reductions (`TensorAxes`).
    """
    products: list[Operation] = []
    blocks: set[int] = set()
    for op in ids:
        for user in users(op.results[0]):
            block = _factor(user, op.results[0])
            if block is None:
                return Flaw(user, "the program id is used otherwise than multiplied by a block")
            products.append(user)
            blocks.add(block)
    if len(blocks) != 1:
        return Flaw(ids[0], "the program id is multiplied by different numbers")
    (block,) = blocks
    sums: list[Operation] = []
    for product in products:
        for splat in users(product.results[0]):
            found = indices_from(splat, block)
            if isinstance(found, Flaw):
                return found
            sums += found
    keys = {axes.of_value(op.results[0])[0] for op in sums}
    if len(keys) != 1:
        return Flaw(ids[0], "its tiles' indices are of several axes, or of none")
    (axis,) = keys
    return stray_lanes(axes, axis, sums) or TileIndex(axis, block, products, sums)


def _factor(op: Operation, value: Value) -> int | None:
    if op.name != "arith.muli":
        return None
    left, right = op.operands
    return integer_constant(right if left == value else left)


def indices_from(splat: Operation, block: int) -> list[Operation] | Flaw:
    """Return the sums of `splat` with `0, 1, ..., block - 1`, if it is used for those alone."""
    if splat.name != "tt.splat" or shape_of(splat.results[0]) != (block,):
        return Flaw(splat, "the tile's first index is used otherwise than for the indices after it")
    sums = users(splat.results[0])
    for op in sums:
        others = [value for value in op.operands if value != splat.results[0]]
        if op.name != "arith.addi" or len(others) != 1 or not is_lanes(others[0], block):
            return Flaw(op, "the tile's first index is added to something else than the lanes")
    return sums


def is_lanes(value: Value, count: int) -> bool:
    """Return whether `value` is `0, 1, ..., count - 1`."""
    op = defining_op(value)
    if op is None or op.name != "tt.make_range":
        return False
    return (op.attributes["start"].value, op.attributes["end"].value) == (0, count)


def stray_lanes(axes: TensorAxes, axis: Key, sums: list[Operation]) -> Flaw | None:
    """Return an op that has the axis's lanes on their own, or a constant that differs in lanes."""
    for op in axes.ops:
        for number, value in enumerate(op.operands):
            source = defining_op(value)
            if source is None or axes.dimension(op, number, axis) is None:
                continue
            if source.name == "tt.make_range" and op not in sums:
                return Flaw(op, "lanes are numbered within the tile here")
            constant = source.name == "arith.constant"
            if constant and not getattr(source.attributes["value"], "is_splat", False):
                return Flaw(op, "it has a constant for each lane")
    return None
