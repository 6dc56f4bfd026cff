"""Where a load or store of a block goes: base, offset, strides, and what its mask lets through.

    access = describe(values, op)
    access.base, access.offset          # %a_ptr, 128*pid*stride: the element of lane 0
    access.dimensions[0]                # size 128, stride `stride`, lanes below M - 128*pid

Plain pointers, block pointers (`tt.make_tensor_ptr`) and tensor descriptors are described alike.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from flagc.ir.analysis import affine
from flagc.ir.analysis.affine import Affine, Symbol
from flagc.ir.analysis.block_addresses import BlockAddress, block_address
from flagc.ir.analysis.index_values import IndexValues, NotAffine, lanes_of
from flagc.ir.analysis.masks import MaskTerm, mask_terms
from flagc.ir.module import Module, Operation, Value
from flagc.ir.types import TensorType

LOADS = frozenset({"tt.load", "tt.descriptor_load"})
STORES = frozenset({"tt.store", "tt.descriptor_store"})


@dataclass(frozen=True)
class Wrap:
    """The index along a dimension is `(start + lane) % modulus`."""

    start: Affine
    modulus: Affine


@dataclass(frozen=True)
class Bound:
    """A condition on the lanes of one dimension, and the mask's term that it comes from.

    Attributes:
        limit: lanes below this one pass, or lanes from this one on.
        term: the condition in the mask; None where a descriptor or block pointer implies it.
    """

    limit: Affine
    term: MaskTerm | None = None


@dataclass(frozen=True)
class Dimension:
    """One dimension of a block in memory.

    Attributes:
        size: lanes.
        stride: elements from one index to the next.
        wrap: how lanes become indices, where they wrap around.
        upper: only lanes below all of these limits are accessed: the valid extents.
        lower: only lanes from all of these limits on.
    """

    size: int
    stride: Affine
    wrap: Wrap | None = None
    upper: tuple[Bound, ...] = ()
    lower: tuple[Bound, ...] = ()


@dataclass(frozen=True)
class Access:
    """One load or store.

    Attributes:
        base: the pointer that the address is computed from, mostly an argument.
        offset: elements from `base` to the block's first lane; the same for all lanes.
        conditions: terms of the mask that are the same for all lanes.
        irregular: terms of the mask that are no bound on one dimension's lanes.
        other: what lanes hold that are masked off: a value, a number (descriptors), or None where
            the kernel leaves it open.
    """

    op: Operation
    base: Value
    offset: Affine
    dimensions: tuple[Dimension, ...]
    conditions: tuple[MaskTerm, ...] = ()
    irregular: tuple[MaskTerm, ...] = ()
    other: Value | float | None = None
    mask: Value | None = None

    @property
    def is_load(self) -> bool:
        """Whether memory is read."""
        return self.op.name in LOADS


@dataclass(frozen=True)
class Refused:
    """A load or store whose address is no formula: the op because of which, and why."""

    op: Operation
    at: Operation
    reason: str


def accesses(module: Module, values: IndexValues) -> list[Access | Refused]:
    """Return all loads and stores of `module`."""
    return [describe(values, op) for op in module.walk(*LOADS, *STORES)]


def describe(values: IndexValues, op: Operation) -> Access | Refused:
    """Return what is known of the load or store `op`."""
    try:
        block = block_address(values, op)
        return _of_block(values, op, block) if block is not None else _of_pointers(values, op)
    except NotAffine as problem:
        return Refused(op, problem.op or op, problem.reason)


def mask_of(op: Operation) -> Value | None:
    """Return the mask of a `tt.load`, `tt.store` or `tt.atomic_rmw`."""
    if op.name == "tt.load":
        return op.operands[1] if list(op.attributes["operandSegmentSizes"])[1] else None
    if op.name in ("tt.store", "tt.atomic_rmw"):
        return op.operands[2] if len(op.operands) > 2 else None
    return None


def _of_pointers(values: IndexValues, op: Operation) -> Access:
    pointer = values.pointer(op.operands[0])
    tensor = TensorType.of(op.operands[0])
    shape = tensor.shape if tensor is not None else ()
    offset, dimensions = _dimensions(op, pointer.offset, shape)
    mask = mask_of(op)
    access = Access(op, pointer.base, offset, dimensions, other=_other(op), mask=mask)
    return _bounded(access, mask_terms(values, mask)) if mask is not None else access


def _of_block(values: IndexValues, op: Operation, block: BlockAddress) -> Access:
    """A block of a tensor with sizes and strides: lanes outside are masked off."""
    offset = values.pointer(block.base).offset
    dimensions = []
    for dim, (size, stride) in enumerate(zip(block.shape, block.strides, strict=True)):
        start = block.starts[dim]
        offset = offset + start * stride
        dimension = Dimension(size, stride)
        if dim in block.checked:
            upper, lower = Bound(block.sizes[dim] - start), Bound(-start)
            dimension = replace(dimension, upper=(upper,), lower=(lower,))
        dimensions.append(dimension)
    base = values.pointer(block.base).base
    return Access(op, base, offset, tuple(dimensions), other=block.padding)


def _dimensions(
    op: Operation, formula: Affine, shape: tuple[int, ...]
) -> tuple[Affine, tuple[Dimension, ...]]:
    """Split a formula of lanes into what they have in common and one stride a dimension."""
    dimensions = [Dimension(size, Affine({})) for size in shape]
    for symbol in formula.symbols():
        lanes = _lanes_of_symbol(symbol)
        if not lanes:
            continue
        coefficient = formula.coefficient(symbol)
        if formula.degree(symbol) > 1 or lanes_of(coefficient):
            raise NotAffine(op, "the offset is a product of lanes' positions")
        if len(lanes) > 1:
            raise NotAffine(op, f"the offset is a {symbol.kind} of several dimensions' positions")
        (dim,) = lanes
        dimension = dimensions[dim]
        wrap = _wrap(op, symbol) if symbol.kind != affine.LANE else None
        if dimension.stride.number != 0:
            raise NotAffine(op, "the offset has a wrapped and a plain part along one dimension")
        dimensions[dim] = replace(dimension, stride=coefficient, wrap=wrap)
    uniform = formula.only(lambda product: not any(_lanes_of_symbol(s) for s in product))
    return uniform, tuple(dimensions)


def _lanes_of_symbol(symbol: Symbol) -> set[int]:
    if symbol.kind == affine.LANE:
        return {symbol.operands[0]}
    return {dim for operand in symbol.affine_operands for dim in lanes_of(operand)}


def _wrap(op: Operation, symbol: Symbol) -> Wrap:
    if symbol.kind != affine.REMAINDER:
        raise NotAffine(op, f"the offset is a {symbol.kind} of lanes' positions")
    index, modulus = symbol.affine_operands
    lanes = [inner for inner in index.symbols() if inner.kind == affine.LANE]
    is_simple = len(lanes) == 1 and index.coefficient(lanes[0]).number == 1
    if lanes_of(modulus) or not is_simple or lanes_of(index.without(lanes[0])):
        raise NotAffine(op, "the offset wraps around in another way than '(start + lane) % size'")
    return Wrap(index.without(lanes[0]), modulus)


def _bounded(access: Access, terms: Iterable[MaskTerm]) -> Access:
    """Sort the mask's conditions by the dimension that they bound."""
    dimensions = list(access.dimensions)
    conditions, irregular = [], []
    for term in terms:
        dims = term.dimensions
        bound = _bound(term) if dims is not None and len(dims) == 1 else None
        if dims == set():
            conditions.append(term)
        elif bound is None:
            irregular.append(term)
        else:
            dim, is_upper, limit = bound
            entry = (Bound(limit, term),)
            if is_upper:
                dimensions[dim] = replace(dimensions[dim], upper=dimensions[dim].upper + entry)
            else:
                dimensions[dim] = replace(dimensions[dim], lower=dimensions[dim].lower + entry)
    return replace(
        access,
        dimensions=tuple(dimensions),
        conditions=tuple(conditions),
        irregular=tuple(irregular),
    )


def _bound(term: MaskTerm) -> tuple[int, bool, Affine] | None:
    """Return (dimension, whether it is an upper limit, limit) of a term on single lanes."""
    margin = term.margin
    assert margin is not None
    lanes = [symbol for symbol in margin.symbols() if symbol.kind == affine.LANE]
    if len(lanes) != 1 or lanes_of(margin.without(lanes[0])):
        return None
    factor = margin.coefficient(lanes[0]).number
    rest = margin.without(lanes[0])
    if factor == -1:
        return lanes[0].operands[0], True, rest + 1
    if factor == 1:
        return lanes[0].operands[0], False, -rest
    return None


def _other(op: Operation) -> Value | None:
    if op.name != "tt.load" or not list(op.attributes["operandSegmentSizes"])[2]:
        return None
    return op.operands[len(op.operands) - 1]
