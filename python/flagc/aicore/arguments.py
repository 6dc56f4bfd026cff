"""Kernel arguments as 64-bit words, and the tensors among them as regions of global memory."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

from flagc.aicore.native import native
from flagc.errors import UsageError

_FLOAT_CODES = {"half": "<e", "float": "<f", "double": "<d"}

# Where tensors without elements lie, one a multiple: addresses that nothing else has and that are
# far apart, so that the fault of an access says which tensor it is.
_EMPTY = 1 << 40


def word(value: int | float | bool, kind: str) -> int:
    """The bits of a scalar of LLVM type `kind`, zero-extended to 64."""
    if kind.startswith("i"):
        bits = int(kind[1:])
        integer = int(value)
        if integer != value or not -(1 << (bits - 1)) <= integer < 1 << bits:
            raise UsageError(f"{value!r} is no value of a parameter of {bits} bits")
        return integer & ((1 << bits) - 1)
    if kind == "bfloat":
        (word32,) = struct.unpack("<I", struct.pack("<f", value))
        return int(word32 + 0x7FFF + (word32 >> 16 & 1)) >> 16
    return int.from_bytes(struct.pack(_FLOAT_CODES[kind], value), "little")


def pointer_and_extent(tensor: Any) -> tuple[int, int, int]:
    """Address of the first element of a CPU tensor or array, and of its bytes: begin and length.

    The extent is from the lowest to the highest element by the strides, so a view is no wider than
    what the view holds. A negative stride puts elements below the first one.
    """
    if hasattr(tensor, "data_ptr"):
        if tensor.device.type != "cpu":
            raise UsageError(
                f"the emulated AI Core takes CPU tensors, not one on {tensor.device}; pass "
                "tensor.cpu()"
            )
        sizes, size = tuple(tensor.shape), tensor.element_size()
        strides = [stride * size for stride in tensor.stride()]
        pointer = tensor.data_ptr()
    elif hasattr(tensor, "__array_interface__"):
        interface = tensor.__array_interface__
        pointer = interface["data"][0]
        sizes, strides, size = tensor.shape, list(tensor.strides), tensor.itemsize
    else:
        raise UsageError(f"a pointer parameter takes a tensor or an array, not {type(tensor)}")
    if 0 in sizes:
        return pointer, pointer, 0
    spans = [(n - 1) * stride for n, stride in zip(sizes, strides, strict=True)]
    begin = pointer + sum(span for span in spans if span < 0)
    return pointer, begin, sum(map(abs, spans)) + size


def marshal(
    values: Sequence[Any], parameters: Sequence[str], names: Sequence[str]
) -> tuple[list[int], list[Any]]:
    """Words and regions of the user's arguments, one value for each parameter type."""
    if len(values) != len(parameters):
        raise UsageError(f"the kernel takes {len(parameters)} arguments, {len(values)} were given")
    words, regions = [], []
    for index, (value, kind, name) in enumerate(zip(values, parameters, names, strict=True)):
        if kind.startswith("ptr"):
            pointer, begin, extent = pointer_and_extent(value)
            if extent == 0:
                pointer = begin = (index + 1) * _EMPTY
            words.append(pointer)
            regions.append(native().Region(begin, extent, True, False, name))
        elif isinstance(value, int | float) or hasattr(value, "item"):
            words.append(word(value.item() if hasattr(value, "item") else value, kind))
        else:
            raise UsageError(f"{name}: a parameter of type {kind} takes a number, not {value!r}")
    return words, regions
