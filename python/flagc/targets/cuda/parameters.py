"""From a launch's arguments to the parameters of the compiled CUDA kernel."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from flagc.errors import UsageError
from flagc.frontend.execution import Argument
from flagc.ir.descriptor_abi import flag_count
from flagc.targets.cuda.driver_api import CudaDriver

_INTEGERS: dict[str, Callable[[int], Any]] = {
    **dict.fromkeys(("i1", "i8"), ctypes.c_int8),
    **dict.fromkeys(("u1", "u8"), ctypes.c_uint8),
    **{"i16": ctypes.c_int16, "u16": ctypes.c_uint16},
    **{"i32": ctypes.c_int32, "u32": ctypes.c_uint32},
    **{"i64": ctypes.c_int64, "u64": ctypes.c_uint64},
}
# Triton numbers the element types of tensor maps as PTX does; cuda.h orders floats otherwise
# (TMA_DTYPE_DEVICE_TO_HOST in triton.backends.nvidia.driver).
_HOST_TYPE = {8: 10, 9: 8, 10: 9}
_TF32 = 11  # CU_TENSOR_MAP_DATA_TYPE_TFLOAT32


def parameters(
    arguments: Sequence[Argument],
    descriptors: Sequence[Mapping[str, Any] | None],
    driver: CudaDriver,
) -> list[Any]:
    """Return one ctypes object for each parameter that `arguments` become.

    Args:
        descriptors: what the compiler noted for each tensor descriptor among the arguments
            (`tensordesc_meta`); empty when descriptors were lowered to pointers.

    Raises:
        UsageError: a tensor that is not on the GPU, or an argument of a type that flagc's
            launcher does not know.
    """
    packed: list[Any] = []
    notes = iter(descriptors)
    for argument in arguments:
        if argument.type.startswith("tensordesc"):
            packed += _descriptor(argument, next(notes, None), driver)
        elif argument.type.startswith("*"):
            packed.append(ctypes.c_uint64(_address(argument.name, argument.value)))
        else:
            packed.append(_scalar(argument))
    return packed


def _scalar(argument: Argument) -> Any:
    kind, value = argument.type, argument.value
    if kind in _INTEGERS:
        return _INTEGERS[kind](int(value))
    if kind == "fp16":
        return ctypes.c_uint16(*struct.unpack("<H", struct.pack("<e", value)))
    if kind == "bf16":  # truncated, as Triton's launcher does
        return ctypes.c_uint16(struct.unpack("<I", struct.pack("<f", value))[0] >> 16)
    if kind in ("fp32", "f32"):
        return ctypes.c_float(value)
    if kind == "fp64":
        return ctypes.c_double(value)
    raise UsageError(f"argument '{argument.name}': flagc launches no kernels with type {kind}")


def _address(name: str, value: Any) -> int:
    """Return the address of a tensor on the GPU; None and addresses pass as they are."""
    if value is None or isinstance(value, int):
        return int(value or 0)
    device = getattr(getattr(value, "base", None), "device", None) or value.device
    if device.type != "cuda":
        raise UsageError(
            f"argument '{name}' is on {device}, not on the GPU; create the script's tensors on "
            "triton.runtime.driver.active.get_active_torch_device()"
        )
    return int(value.data_ptr())


def _descriptor(
    argument: Argument, note: Mapping[str, Any] | None, driver: CudaDriver
) -> list[Any]:
    """Return a tensor map, or pointer and sizes where the target has none, then the sizes."""
    value = argument.value
    shape, strides = [int(n) for n in value.shape], [int(n) for n in value.strides]
    sizes = [ctypes.c_int32(n) for n in shape] + [ctypes.c_int64(n) for n in strides]
    address = _address(argument.name, value.base)
    flags = [value.padding == "nan", getattr(value, "round_f32_to_tf32", False)]
    if note is None:
        wide = [ctypes.c_int64(n) for n in (*shape, *strides)]
        bits = [ctypes.c_int8(flag) for flag in flags[: flag_count()]]
        return [ctypes.c_uint64(address), *wide, *bits, *sizes]
    kind = _HOST_TYPE.get(note["elem_type"], note["elem_type"])
    if flags[1]:
        kind = _TF32
    if note.get("is_im2col"):
        raise UsageError(f"argument '{argument.name}': flagc launches no im2col descriptors")
    if note["fp4_padded"]:
        shape = [*shape[:-1], 2 * shape[-1]]
    encoded = driver.tensor_map(
        address,
        element_type=kind,
        element_bytes=note["elem_size"],
        swizzle=note["swizzle"],
        block=note["block_size"],
        shape=shape,
        strides=strides,
        nan_padding=flags[0],
    )
    return [encoded, *sizes]
