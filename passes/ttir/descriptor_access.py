"""One access through a tensor descriptor, written with pointers and a mask.

A tile of rank 2 at (row, column) of a tensor with sizes (m, n) and strides (s, 1):

    rows     = row + arange(0, M), as M x 1          columns = column + arange(0, N), as 1 x N
    pointers = base + (rows * s + columns)           mask    = 0 <= rows < m  and  0 <= columns < n

Offsets are computed in i64, as the strides are. A gather has its row numbers in a tensor.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce

from flagc.ir.analysis.descriptors import atomic_operation
from flagc.ir.analysis.ranges import constant_value, is_non_negative
from flagc.ir.builder import Builder
from flagc.ir.module import Module, Operation, Value
from flagc.ir.types import PointerType, TensorType, is_float, signless

# NaN of formats without infinities, which have no general rule.
_NAN_BITS = {"f8E4M3FN": "0x7F"}
_MASK_ONLY = "array<i32: 1, 1, 0>"
_MASK_AND_OTHER = "array<i32: 1, 1, 1>"
_RELAXED = 1  # MemSemantic of tt.atomic_rmw
_DEVICE_SCOPE = 1  # MemSyncScope


@dataclass(frozen=True)
class Descriptor:
    """A descriptor in parts.

    `pads_with_nan` is known at compile time, or an i1 that the launcher passes.
    """

    block: TensorType
    base: Value
    sizes: tuple[Value, ...]
    strides: tuple[Value, ...]
    pads_with_nan: bool | Value

    @property
    def element(self) -> str:
        """The element type of pointers and tiles."""
        return signless(self.block.element)


@dataclass(frozen=True)
class _Tile:
    """Pointers of a tile, and the mask of those inside the tensor."""

    pointers: Value
    mask: Value


def rewrite_access(module: Module, access: Operation, descriptor: Descriptor) -> None:
    """Replace one op of `analysis.descriptors.ACCESSES` by a plain load, store or atomic."""
    build = Builder(module, before=access)
    if access.name == "tt.descriptor_load":
        _rewrite_load(module, access, _tile(build, descriptor, access, first=1), descriptor)
    elif access.name == "tt.descriptor_store":
        _rewrite_store(module, access, _tile(build, descriptor, access, first=2), descriptor)
    elif access.name == "tt.descriptor_reduce":
        _rewrite_reduce(module, access, _tile(build, descriptor, access, first=2), descriptor)
    elif access.name == "tt.descriptor_gather":
        _rewrite_load(module, access, _gathered(build, descriptor, access), descriptor)
    else:
        _rewrite_store(module, access, _gathered(build, descriptor, access), descriptor, source=3)


def _tile(build: Builder, descriptor: Descriptor, access: Operation, first: int) -> _Tile:
    """The descriptor's block at the coordinates that start at operand `first`."""
    shape = descriptor.block.shape
    indices = []
    in_range = []
    for axis, size in enumerate(shape):
        start = access.operands[first + axis]
        vector = f"tensor<{size}xi32>"
        index = build.op("tt.splat", [start], vector)
        if size > 1:
            ends = {"start": "0 : i32", "end": f"{size} : i32"}
            index = build.addi(index, build.op("tt.make_range", [], vector, ends))
        indices.append(index)
        in_range.append(is_non_negative(start))
    return _addressed(build, descriptor, shape, indices, in_range)


def _gathered(build: Builder, descriptor: Descriptor, access: Operation) -> _Tile:
    """Rows at the numbers in operand 1, from the column in operand 2 on."""
    rows = access.operands[1]
    count = TensorType.of(rows)
    assert count is not None
    width = descriptor.block.shape[-1]
    vector = f"tensor<{width}xi32>"
    ends = {"start": "0 : i32", "end": f"{width} : i32"}
    columns = build.op("tt.splat", [access.operands[2]], vector)
    if width > 1:
        columns = build.addi(columns, build.op("tt.make_range", [], vector, ends))
    shape = (count.shape[0], width)
    return _addressed(build, descriptor, shape, [rows, columns], [False, False])


def _addressed(
    build: Builder,
    descriptor: Descriptor,
    shape: tuple[int, ...],
    indices: list[Value],
    non_negative: list[bool],
) -> _Tile:
    offsets = []
    masks = []
    for axis, index in enumerate(indices):
        spread = _along(build, index, axis, len(shape))
        masks.append(_inside(build, spread, descriptor.sizes[axis], non_negative[axis], shape))
        offsets.append(_scaled(build, spread, descriptor.strides[axis], shape))
    pointer = PointerType(descriptor.element).text()
    base = build.op("tt.splat", [descriptor.base], TensorType(shape, pointer).text())
    pointers = build.op("tt.addptr", [base, reduce(build.addi, offsets)], base.type)
    return _Tile(pointers, reduce(build.andi, masks))


def _along(build: Builder, vector: Value, axis: int, rank: int) -> Value:
    """Give a vector further dimensions of size 1, so that it lies along `axis` of `rank`."""
    for other in range(rank):
        if other != axis:
            tensor = TensorType.of(vector)
            assert tensor is not None
            shape = (*tensor.shape[:other], 1, *tensor.shape[other:])
            vector = build.op(
                "tt.expand_dims",
                [vector],
                TensorType(shape, tensor.element).text(),
                {"axis": f"{other} : i32"},
            )
    return vector


def _inside(
    build: Builder, index: Value, size: Value, non_negative: bool, shape: tuple[int, ...]
) -> Value:
    """0 <= index < size, for the whole tile."""
    mask = build.cmpi("slt", index, build.op("tt.splat", [size], index.type))
    if not non_negative:
        mask = build.andi(build.cmpi("sge", index, build.constant(0, index.type)), mask)
    return _broadcast(build, mask, shape)


def _scaled(build: Builder, index: Value, stride: Value, shape: tuple[int, ...]) -> Value:
    """index * stride in i64, for the whole tile."""
    tensor = TensorType.of(index)
    assert tensor is not None
    wide = build.op("arith.extsi", [index], tensor.with_element("i64").text())
    if constant_value(stride) != 1:
        wide = build.muli(wide, build.op("tt.splat", [stride], wide.type))
    return _broadcast(build, wide, shape)


def _broadcast(build: Builder, value: Value, shape: tuple[int, ...]) -> Value:
    tensor = TensorType.of(value)
    assert tensor is not None
    if tensor.shape == shape:
        return value
    return build.op("tt.broadcast", [value], TensorType(shape, tensor.element).text())


def _rewrite_load(module: Module, access: Operation, tile: _Tile, descriptor: Descriptor) -> None:
    build = Builder(module, before=access)
    pointers = TensorType.of(tile.pointers)
    assert pointers is not None
    block = pointers.with_element(descriptor.element)
    other = _padding(build, descriptor, block)
    attributes = {
        "operandSegmentSizes": module.attribute(_MASK_AND_OTHER),
        "isVolatile": module.attribute("false"),
        **_cache_policy(access),
    }
    loaded = build.op("tt.load", [tile.pointers, tile.mask, other], block.text(), attributes)
    module.replace(access, [_reshaped(build, loaded, access.results[0].type)])


def _rewrite_store(
    module: Module, access: Operation, tile: _Tile, descriptor: Descriptor, source: int = 1
) -> None:
    value = _source(module, access, source, tile, descriptor)
    operands = [tile.pointers, value, tile.mask]
    module.create("tt.store", operands, attributes=_cache_policy(access), before=access)
    access.erase()


def _rewrite_reduce(module: Module, access: Operation, tile: _Tile, descriptor: Descriptor) -> None:
    value = _source(module, access, 1, tile, descriptor)
    atomic = atomic_operation(access, descriptor.block.element)
    assert atomic is not None  # else `obstacle` had said so
    numbers = {"atomic_rmw_op": atomic, "sem": _RELAXED, "scope": _DEVICE_SCOPE}
    module.create(
        "tt.atomic_rmw",
        [tile.pointers, value, tile.mask],
        [value.type],
        {name: f"{number} : i32" for name, number in numbers.items()},
        before=access,
    )
    access.erase()


def _source(
    module: Module, access: Operation, position: int, tile: _Tile, descriptor: Descriptor
) -> Value:
    pointers = TensorType.of(tile.pointers)
    assert pointers is not None
    block = pointers.with_element(descriptor.element).text()
    return _reshaped(Builder(module, before=access), access.operands[position], block)


def _reshaped(build: Builder, value: Value, type_or_text: object) -> Value:
    """Add or take away dimensions of size 1, as descriptors allow."""
    if str(value.type) == str(type_or_text):
        return value
    return build.op("tt.reshape", [value], type_or_text)


def _padding(build: Builder, descriptor: Descriptor, block: TensorType) -> Value:
    """What a load gives outside the tensor."""
    element = descriptor.element
    if descriptor.pads_with_nan is False or not is_float(element):
        return build.constant(0, block.text())
    nan = _NAN_BITS.get(element, float("nan"))
    if descriptor.pads_with_nan is True:
        return build.constant(nan, block.text())
    chosen = build.select(
        descriptor.pads_with_nan, build.constant(nan, element), build.constant(0, element)
    )
    return build.op("tt.splat", [chosen], block.text())


def _cache_policy(access: Operation) -> dict[str, object]:
    names = ("cache", "evict", "cachePolicy")  # 3.6 has the first two, 3.9 the last
    return {name: access.attributes[name] for name in names if name in access.attributes}
