"""The tensor descriptor through which a block load or store could go.

    load     base + 128*pid*stride + counter + (lane 0)*stride + (lane 1),
             lanes below (M - 128*pid, K - counter)
    plan     tensor at base with sizes (M, K) and strides (stride, 1), block at (128*pid, counter)

A limit is split into size and coordinate: what is added is the size, what is taken off is where
the block starts. In a dimension without a limit the block starts at what the loops around it add.
"""

from __future__ import annotations

from dataclasses import dataclass

from flagc.ir.analysis import affine
from flagc.ir.analysis.accesses import Access, Dimension
from flagc.ir.analysis.affine import Affine, Product, Symbol
from flagc.ir.analysis.integer_facts import Facts, argument_divisor
from flagc.ir.analysis.loop_carried import enclosing_loops, is_defined_inside
from flagc.ir.analysis.signs import is_zero
from flagc.ir.module import Operation, defining_op
from flagc.ir.types import PointerType, element_bits

# CUDA driver API, cuTensorMapEncodeTiled: address and strides are multiples of 16 bytes, the
# block's rows at least 16 bytes long; up to 5 dimensions, of at most 2^32 elements. Triton's
# sizes are i32.
ALIGNMENT = 16
_LARGEST_SIZE = 2**31 - 1
_MOST_DIMENSIONS = 5


@dataclass(frozen=True)
class DescriptorPlan:
    """A descriptor for one access; its dimensions are the block's in the order `order`.

    Attributes:
        order: the block's dimensions, the one with stride 1 last; those of size 1 are left out.
        block: the block's sizes in that order.
        offset: elements from the access's base to the tensor's first.
        sizes, strides: the tensor's.
        starts: where the block lies in the tensor.
        unaligned: numbers of bytes not known to be multiples of 16, each to be checked at launch.
        is_base_aligned: whether 16 is known to divide the base address.
    """

    access: Access
    order: tuple[int, ...]
    block: tuple[int, ...]
    offset: Affine
    sizes: tuple[Affine, ...]
    strides: tuple[Affine, ...]
    starts: tuple[Affine, ...]
    unaligned: tuple[Affine, ...]
    is_base_aligned: bool

    @property
    def element(self) -> str:
        """The element type in memory."""
        return _element(self.access)

    @property
    def is_aligned(self) -> bool:
        """Whether the hardware's rules of alignment are known to hold."""
        return self.is_base_aligned and not self.unaligned


class NoDescriptor(Exception):
    """An access cannot go through a descriptor, and why."""


def plan(facts: Facts, access: Access) -> DescriptorPlan:
    """Return a descriptor for `access`.

    Raises:
        NoDescriptor: the access does what a descriptor cannot.
    """
    _check_kind(access)
    loops = enclosing_loops(access.op)
    order = _order(access)
    dimensions = [access.dimensions[dim] for dim in order]
    limits = [_limit(facts, dimension, loops) for dimension in dimensions]
    starts = [_start(facts, limit) for limit in limits]
    offset = access.offset
    for start, dimension in zip(starts, dimensions, strict=True):
        offset = offset - start * dimension.stride
    for number, (limit, dimension) in enumerate(zip(limits, dimensions, strict=True)):
        if limit is None:
            starts[number] = _moving(offset, dimension.stride, loops)
            offset = offset - starts[number] * dimension.stride
    if any(_varies(symbol, loops) for symbol in offset.all_symbols()):
        raise NoDescriptor("a loop moves it in another way than along its dimensions")
    if not all(facts.is_non_negative(start) for start in starts):
        raise NoDescriptor("it is not known to start at positive indices")
    sizes = [
        _size(limit, start, dimension.size)
        for limit, start, dimension in zip(limits, starts, dimensions, strict=True)
    ]
    strides = [dimension.stride for dimension in dimensions]
    for formula in (*sizes, *strides):
        if any(_varies(symbol, loops) for symbol in formula.all_symbols()):
            raise NoDescriptor("the tensor's sizes change in a loop")
    width = element_bits(_element(access)) // 8
    counts = [*strides[:-1], offset]
    if not access.is_load:
        counts += _store_counts(limits[-1], starts[-1], sizes[-1])
    in_bytes = [formula * width for formula in counts]
    return DescriptorPlan(
        access,
        tuple(order),
        tuple(dimension.size for dimension in dimensions),
        offset,
        tuple(sizes),
        tuple(strides),
        tuple(starts),
        tuple(number for number in in_bytes if not facts.is_multiple(number, ALIGNMENT)),
        argument_divisor(access.base) % ALIGNMENT == 0,
    )


def _element(access: Access) -> str:
    pointer = PointerType.of(access.base)
    assert pointer is not None
    return pointer.pointee


def _check_kind(access: Access) -> None:
    op = access.op
    if defining_op(access.base) is not None or access.base.owner.owner.name != "tt.func":
        raise NoDescriptor("its pointer is no argument of the kernel")
    if element_bits(_element(access)) not in (8, 16, 32):
        raise NoDescriptor(f"its elements are {_element(access)}; 8, 16 and 32 bits are possible")
    if "isVolatile" in op.attributes and op.attributes["isVolatile"].value:
        raise NoDescriptor("it is volatile")
    if access.irregular or access.conditions:
        raise NoDescriptor("its mask is more than bounds on rows and columns")
    if any(dimension.wrap is not None for dimension in access.dimensions):
        raise NoDescriptor("its offsets wrap around; unwrap-modulo-offsets makes them plain")
    if isinstance(access.other, float) or access.other is None:
        return
    if not is_zero(access.other):
        raise NoDescriptor("lanes outside are loaded as something else than 0")


def _order(access: Access) -> list[int]:
    """Return the dimensions larger than 1 with the contiguous one last."""
    wide = [dim for dim, dimension in enumerate(access.dimensions) if dimension.size > 1]
    unit = [dim for dim in wide if access.dimensions[dim].stride.number == 1]
    if not unit:
        raise NoDescriptor("no dimension is known to have stride 1")
    if any(access.dimensions[dim].stride.number == 0 for dim in wide):
        raise NoDescriptor("it repeats elements")
    order = [dim for dim in wide if dim != unit[-1]] + unit[-1:]
    row = access.dimensions[order[-1]].size * element_bits(_element(access)) // 8
    if row < ALIGNMENT:
        raise NoDescriptor(f"its rows are {row} bytes long, less than {ALIGNMENT}")
    if len(order) > _MOST_DIMENSIONS:
        raise NoDescriptor(f"it has more than {_MOST_DIMENSIONS} dimensions")
    return order


def _limit(facts: Facts, dimension: Dimension, loops: list[Operation]) -> Affine | None:
    """Return below which lane the dimension is valid; None where all lanes are.

    A bound that always holds still tells the tensor's size, so that one descriptor does for all
    tiles.
    """
    if any(not facts.is_non_negative(-bound.limit) for bound in dimension.lower):
        raise NoDescriptor("its mask has a lower bound")
    limits = [
        bound.limit
        for bound in dimension.upper
        if not facts.is_non_negative(bound.limit - dimension.size)
    ]
    limits = list(dict.fromkeys(limits))
    if limits:
        return _least(facts, limits)
    for limit in (bound.limit for bound in dimension.upper):
        size = limit + _start(facts, limit)
        if not any(_varies(symbol, loops) for symbol in size.all_symbols()):
            return limit
    return None


def _least(facts: Facts, limits: list[Affine]) -> Affine:
    """Return the smallest of the limits of a block that starts at one place."""
    start = _start(facts, limits[0])
    if any(_start(facts, limit) != start for limit in limits):
        raise NoDescriptor("its mask has several bounds for one dimension")
    size = limits[0] + start
    for limit in limits[1:]:
        size = facts.symbols.get(affine.MINIMUM, size, limit + start)
    return size - start


def _start(facts: Facts, limit: Affine | None) -> Affine:
    """Return where a block starts: what is taken off its limit and is not negative itself."""
    if limit is None:
        return Affine({})

    def is_start(product: Product) -> bool:
        taken_off = product != () and limit.terms[product] < 0
        return taken_off and facts.is_non_negative(Affine({product: 1}))

    return -limit.only(is_start)


def _size(limit: Affine | None, start: Affine, block: int) -> Affine:
    if limit is not None:
        return limit + start
    return Affine.constant(block if start.number == 0 else _LARGEST_SIZE)


def _store_counts(limit: Affine | None, start: Affine, size: Affine) -> list[Affine]:
    """Return what else must be multiples of 16 bytes for a store, which writes as much at once.

    Past the end of a row it writes up to the next multiple (triton-lang/triton issue 11583).
    """
    return [start, *(_parts_of_minimum(size) if limit is not None else ())]


def _parts_of_minimum(formula: Affine) -> list[Affine]:
    """Return the formulas of which one is the value of `formula`."""
    symbols = list(formula.symbols())
    if (
        len(symbols) == 1
        and symbols[0].kind == affine.MINIMUM
        and formula == Affine({(symbols[0],): 1})
    ):
        return [part for side in symbols[0].affine_operands for part in _parts_of_minimum(side)]
    return [formula]


def _moving(offset: Affine, stride: Affine, loops: list[Operation]) -> Affine:
    """Return the part of an offset along a dimension that changes in the loops around it."""

    def is_moving(product: Product) -> bool:
        symbols = Affine({product: 1}).all_symbols()
        term = Affine({product: offset.terms[product]})
        return term.divided(stride) is not None and any(_varies(s, loops) for s in symbols)

    return offset.only(is_moving).divided(stride) or Affine({})


def _varies(symbol: Symbol, loops: list[Operation]) -> bool:
    if symbol.kind == affine.ITERATION:
        return symbol.operands[0] in loops
    if symbol.kind != affine.SCALAR:
        return False
    return any(is_defined_inside(symbol.operands[0], loop) for loop in loops)
