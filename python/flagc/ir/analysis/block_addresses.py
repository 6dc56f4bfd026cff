"""The tensors and coordinates behind block pointers and tensor descriptors."""

from __future__ import annotations

import math
from dataclasses import dataclass

from flagc.ir.analysis.affine import Affine
from flagc.ir.analysis.descriptors import pads_with_nan
from flagc.ir.analysis.index_values import IndexValues, NotAffine
from flagc.ir.analysis.loop_carried import carried_by, iteration_number
from flagc.ir.module import Operation, Value, defining_op
from flagc.ir.types import PointerType, TensorDescType, TensorType

_PAD_WITH_NAN = 2  # PaddingOption of tt.load


@dataclass(frozen=True)
class BlockAddress:
    """A block at `starts` of a tensor.

    Attributes:
        base: a scalar pointer to the tensor's first element.
        shape: the block's sizes.
        sizes, strides: the tensor's.
        checked: dimensions in which lanes outside the tensor are masked off.
        padding: what those lanes are loaded as; None where it is left open.
    """

    base: Value
    shape: tuple[int, ...]
    sizes: tuple[Affine, ...]
    strides: tuple[Affine, ...]
    starts: tuple[Affine, ...]
    checked: frozenset[int]
    padding: float | None = None


def block_address(values: IndexValues, op: Operation) -> BlockAddress | None:
    """Return the block that `op` accesses; None when it has plain pointers.

    Raises:
        NotAffine: where the block lies is no formula, or its descriptor is an argument.
    """
    if op.name in ("tt.descriptor_load", "tt.descriptor_store"):
        return _of_descriptor(values, op)
    kind = PointerType.of(op.operands[0])
    if kind is None or kind.pointed_tensor is None:
        return None
    return _of_block_pointer(values, op, kind.pointed_tensor)


def _of_descriptor(values: IndexValues, op: Operation) -> BlockAddress:
    made = defining_op(op.operands[0])
    if made is None or made.name != "tt.make_tensor_descriptor":
        raise NotAffine(op, "the descriptor is not made in the kernel")
    kind = TensorDescType.of(op.operands[0])
    assert kind is not None
    rank = len(kind.block.shape)
    first = 1 if op.name == "tt.descriptor_load" else 2
    parts = [values.index(value) for value in list(made.operands)[1:]]
    starts = tuple(values.index(value) for value in list(op.operands)[first : first + rank])
    return BlockAddress(
        made.operands[0],
        kind.block.shape,
        tuple(parts[:rank]),
        tuple(parts[rank:]),
        starts,
        frozenset(range(rank)),
        math.nan if pads_with_nan(made) else 0.0,
    )


def _of_block_pointer(values: IndexValues, op: Operation, block: TensorType) -> BlockAddress:
    made, starts = _made(values, op.operands[0])
    rank = len(block.shape)
    parts = [values.index(value) for value in list(made.operands)[1 : 1 + 2 * rank]]
    checked = [int(dim) for dim in op.attributes["boundaryCheck"]] if _has_check(op) else []
    padding = None
    if op.name == "tt.load" and "padding" in op.attributes:
        is_nan = op.attributes["padding"].value == _PAD_WITH_NAN
        padding = math.nan if is_nan else 0.0
    return BlockAddress(
        made.operands[0],
        block.shape,
        tuple(parts[:rank]),
        tuple(parts[rank:]),
        starts,
        frozenset(checked),
        padding,
    )


def _has_check(op: Operation) -> bool:
    return "boundaryCheck" in op.attributes


def _made(values: IndexValues, pointer: Value) -> tuple[Operation, tuple[Affine, ...]]:
    """Return the `tt.make_tensor_ptr` behind a block pointer, and the block's coordinates."""
    op = defining_op(pointer)
    if op is None:
        return _carried(values, pointer)
    if op.name == "tt.make_tensor_ptr":
        rank = (len(op.operands) - 1) // 3
        return op, tuple(values.index(value) for value in list(op.operands)[1 + 2 * rank :])
    if op.name == "tt.advance":
        made, starts = _made(values, op.operands[0])
        steps = [values.index(value) for value in list(op.operands)[1:]]
        return made, tuple(start + step for start, step in zip(starts, steps, strict=True))
    raise NotAffine(op, f"the block pointer comes from '{op.name}'")


def _carried(values: IndexValues, pointer: Value) -> tuple[Operation, tuple[Affine, ...]]:
    """A block pointer that a loop advances by the same steps every time."""
    loop = pointer.owner.owner.operation
    if loop.name != "scf.for" or pointer.arg_number == 0:
        raise NotAffine(loop, "the block pointer is no result of 'tt.make_tensor_ptr'")
    initial, yielded = carried_by(loop, pointer)
    made, starts = _made(values, initial)
    advance = defining_op(yielded)
    if yielded == pointer:
        return made, starts
    if advance is None or advance.name != "tt.advance" or advance.operands[0] != pointer:
        raise NotAffine(loop, "the loop does not advance the block pointer in one step")
    steps = [values.index(value) for value in list(advance.operands)[1:]]
    return made, tuple(
        start + iteration_number(values, loop, step)
        for start, step in zip(starts, steps, strict=True)
    )
