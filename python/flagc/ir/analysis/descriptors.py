"""Tensor descriptors of a kernel: where they come from and what is done with them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from flagc.ir.module import Module, Operation, Value
from flagc.ir.types import TensorDescType, is_float

ACCESSES = frozenset(
    {
        "tt.descriptor_load",
        "tt.descriptor_store",
        "tt.descriptor_gather",
        "tt.descriptor_scatter",
        "tt.descriptor_reduce",
    }
)
# DescriptorReduceKind of tt.descriptor_reduce.
_ADD, _MIN, _MAX, _AND, _OR, _XOR = 1, 2, 3, 6, 7, 8
# To RMWOp of tt.atomic_rmw, by the kind of element.
_ATOMICS = {
    "f": {_ADD: 5},
    "i": {_ADD: 4, _AND: 1, _OR: 2, _XOR: 3, _MAX: 6, _MIN: 7},
    "ui": {_ADD: 4, _AND: 1, _OR: 2, _XOR: 3, _MAX: 8, _MIN: 9},
}
_PAD_WITH_NAN = 2


@dataclass(frozen=True)
class DescriptorArgument:
    """A descriptor that the host makes, an argument of the kernel.

    Triton's frontend has the kernel take the descriptor, its sizes (i32) and its strides (i64).
    """

    value: Value
    position: int
    type: TensorDescType
    sizes: tuple[Value, ...]
    strides: tuple[Value, ...]


def uses_of(descriptor: Value) -> list[Operation]:
    """Return the ops that use `descriptor`."""
    return [use.owner.operation for use in descriptor.uses]


def obstacle(descriptor: Value, kind: TensorDescType) -> tuple[Operation, str] | None:
    """Return an op, and why, that keeps `descriptor` from being replaced by pointers."""
    for user in uses_of(descriptor):
        if user.name not in ACCESSES:
            return user, f"the descriptor is used by {user.name}"
        is_reduction = user.name == "tt.descriptor_reduce"
        if is_reduction and atomic_operation(user, kind.block.element) is None:
            return user, "there is no atomic operation like this reduction"
    return None


def atomic_operation(reduction: Operation, element: str) -> int | None:
    """Return the RMWOp of `tt.atomic_rmw` that does what a `tt.descriptor_reduce` does.

    `element` is the descriptor's element type, which says whether integers are signed.
    """
    kind = "f" if is_float(element) else ("ui" if element.startswith("ui") else "i")
    return _ATOMICS[kind].get(reduction.attributes["kind"].value)


def made_in_kernel(module: Module) -> Iterator[tuple[Operation, TensorDescType]]:
    """Yield the ops that make descriptors, with the descriptor's type."""
    for op in module.walk("tt.make_tensor_descriptor"):
        kind = TensorDescType.of(op.results[0])
        if kind is not None:
            yield op, kind


def pads_with_nan(op: Operation) -> bool:
    """Return whether a `tt.make_tensor_descriptor` fills with NaN what lies outside."""
    return "padding" in op.attributes and op.attributes["padding"].value == _PAD_WITH_NAN


def arguments(function: Operation) -> list[DescriptorArgument | tuple[Value, str]]:
    """Return a kernel's descriptor arguments; one of an unknown form with the reason."""
    found: list[DescriptorArgument | tuple[Value, str]] = []
    values: Sequence[Any] = list(function.regions[0].blocks[0].arguments)
    for position, value in enumerate(values):
        kind = TensorDescType.of(value)
        if kind is None:
            continue
        rank = len(kind.block.shape)
        following = values[position + 1 : position + 1 + 2 * rank]
        if [str(other.type) for other in following] != ["i32"] * rank + ["i64"] * rank:
            found.append((value, "its sizes and strides do not follow it"))
            continue
        found.append(
            DescriptorArgument(
                value, position, kind, tuple(following[:rank]), tuple(following[rank:])
            )
        )
    return found
