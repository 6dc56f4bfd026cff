"""Kernel signatures without tensor descriptors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from flagc.ir import descriptor_abi
from flagc.ir.analysis.descriptors import DescriptorArgument
from flagc.ir.builder import Builder
from flagc.ir.module import Module, Operation, Value
from flagc.ir.types import PointerType, element_bits, signless
from flagc.passes.ttir.descriptor_access import Descriptor

# The host's TensorDescriptor insists on a base and strides of multiples of 16 bytes.
_ALIGNMENT_BYTES = 16


@dataclass
class _Signature:
    """The arguments of a kernel as they are rebuilt: values and their attribute dictionaries."""

    values: list[Value] = field(default_factory=list)
    attributes: list[str] = field(default_factory=list)


def replace_arguments(
    module: Module,
    function: Operation,
    descriptors: Sequence[DescriptorArgument],
    rewrite: Callable[[Value, Descriptor], None],
) -> None:
    """Replace descriptor arguments by what Triton's launcher passes to a kernel without TMA.

    Each becomes: pointer, sizes (i64), strides (i64), flags (i1); the sizes (i32) and strides (i64)
    that follow a descriptor argument stay, and are those that are used. `rewrite(old, parts)` is
    called for each; afterwards `old` has no uses left.
    """
    block = function.regions[0].blocks[0]
    old_values = list(block.arguments)
    old_attributes = _argument_attributes(function, len(old_values))
    by_position = {descriptor.position: descriptor for descriptor in descriptors}
    signature = _Signature()
    pointers: dict[int, tuple[Value, Value]] = {}
    moved: dict[int, Value] = {}
    for position, value in enumerate(old_values):
        descriptor = by_position.get(position)
        if descriptor is not None:
            pointers[position] = _expand(module, block, signature, descriptor)
            continue
        moved[position] = block.add_argument(value.type, value.location)
        signature.values.append(moved[position])
        signature.attributes.append(old_attributes[position])
        value.replace_all_uses_with(moved[position])
    for descriptor in descriptors:
        parts = _parts(module, function, descriptor, pointers[descriptor.position], moved)
        rewrite(descriptor.value, parts)
    _align_strides(signature, descriptors, moved)
    for _ in old_values:
        block.erase_argument(0)
    _set_type(module, function, signature)


def _expand(
    module: Module, block: Any, signature: _Signature, descriptor: DescriptorArgument
) -> tuple[Value, Value]:
    """Add the arguments that take a descriptor's place; return the pointer and the NaN flag."""
    rank = len(descriptor.type.block.shape)
    pointer = PointerType(signless(descriptor.type.block.element)).text()
    types = [pointer, *["i64"] * (2 * rank), *["i1"] * descriptor_abi.flag_count()]
    added = [block.add_argument(module.type(text), descriptor.value.location) for text in types]
    signature.values += added
    aligned = f"{{tt.divisibility = {_ALIGNMENT_BYTES} : i32}}"
    signature.attributes += [aligned, *["{}"] * (len(added) - 1)]
    return added[0], added[1 + 2 * rank]


def _parts(
    module: Module,
    function: Operation,
    descriptor: DescriptorArgument,
    pointer_and_flag: tuple[Value, Value],
    moved: dict[int, Value],
) -> Descriptor:
    first = descriptor.position + 1
    rank = len(descriptor.type.block.shape)
    sizes = tuple(moved[first + axis] for axis in range(rank))
    strides = tuple(moved[first + rank + axis] for axis in range(rank - 1))
    entry = next(iter(function.regions[0].blocks[0].operations)).operation
    # The host's TensorDescriptor insists on rows without gaps between elements.
    one = Builder(module, before=entry).constant(1, "i64")
    pointer, flag = pointer_and_flag
    return Descriptor(descriptor.type.block, pointer, sizes, (*strides, one), flag)


def _align_strides(
    signature: _Signature, descriptors: Sequence[DescriptorArgument], moved: dict[int, Value]
) -> None:
    """Say by how much the strides that are used are divisible."""
    for descriptor in descriptors:
        rank = len(descriptor.type.block.shape)
        elements = _ALIGNMENT_BYTES * 8 // element_bits(descriptor.type.block.element)
        for axis in range(rank - 1):
            stride = moved[descriptor.position + 1 + rank + axis]
            signature.attributes[signature.values.index(stride)] = (
                f"{{tt.divisibility = {elements} : i32}}"
            )


def _argument_attributes(function: Operation, count: int) -> list[str]:
    if "arg_attrs" not in function.attributes:
        return ["{}"] * count
    return [str(attributes) for attributes in function.attributes["arg_attrs"]]


def _set_type(module: Module, function: Operation, signature: _Signature) -> None:
    types = ", ".join(str(value.type) for value in signature.values)
    # A kernel returns nothing.
    function.attributes["function_type"] = module.attribute(f"({types}) -> ()")
    function.attributes["arg_attrs"] = module.attribute(f"[{', '.join(signature.attributes)}]")
