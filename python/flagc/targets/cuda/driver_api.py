"""NVIDIA's driver library through ctypes: load a cubin, launch its kernel, encode tensor maps.

Only what a launch needs, called as Triton's own launcher calls it (`driver.c` and `driver.py` of
`triton.backends.nvidia`). Numbers and layouts are those of cuda.h, CUDA 12.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from flagc.errors import EnvironmentProblem

LIBRARY = "libcuda.so.1"

_MAX_DYNAMIC_SHARED = 8  # CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
_STATIC_SHARED = 1  # CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES
_NON_PORTABLE_CLUSTER = 14  # CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED
_SHARED_OPT_IN = 97  # CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN
_PREFER_SHARED = 1  # CU_FUNC_CACHE_PREFER_SHARED
# More dynamic shared memory than this has to be asked for.
_SHARED_WITHOUT_ASKING = 48 * 1024
_LARGEST_PORTABLE_CLUSTER = 8

_COOPERATIVE = 2  # CU_LAUNCH_ATTRIBUTE_COOPERATIVE
_CLUSTER_DIMENSION = 4  # CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION
_CLUSTER_POLICY = 5  # CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE
_PROGRAMMATIC_STREAM = 6  # CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION
_SPREAD = 1  # CU_CLUSTER_SCHEDULING_POLICY_SPREAD

_TENSOR_MAP_BYTES = 128
_TENSOR_MAP_ALIGNMENT = 64
_L2_PROMOTION_128B = 2  # CU_TENSOR_MAP_L2_PROMOTION_L2_128B


class _AttributeValue(ctypes.Union):
    """CUlaunchAttributeValue."""

    _fields_ = (("number", ctypes.c_int), ("size", ctypes.c_uint * 3), ("pad", ctypes.c_char * 64))


class _Attribute(ctypes.Structure):
    """CUlaunchAttribute; the value stands at offset 8."""

    _fields_ = (("id", ctypes.c_uint), ("pad", ctypes.c_char * 4), ("value", _AttributeValue))


class _LaunchConfig(ctypes.Structure):
    """CUlaunchConfig."""

    _fields_ = (
        ("grid", ctypes.c_uint * 3),
        ("block", ctypes.c_uint * 3),
        ("shared", ctypes.c_uint),
        ("stream", ctypes.c_void_p),
        ("attributes", ctypes.POINTER(_Attribute)),
        ("attribute_count", ctypes.c_uint),
    )


@dataclass(frozen=True)
class LaunchShape:
    """How a kernel is launched: its grid in programs, and what its metadata says."""

    grid: tuple[int, int, int]
    num_warps: int
    num_ctas: int
    shared: int
    cooperative: bool = False
    programmatic: bool = False


class CudaDriver:
    """The driver's calls that a launch needs.

    Every method raises EnvironmentProblem with the call's name and the driver's words when it
    fails.
    """

    def __init__(self, library: Any) -> None:
        self._library = library
        self._call("cuInit", ctypes.c_uint(0))

    def load(self, image: bytes, name: str, shared: int, num_ctas: int = 1) -> int:
        """Load a cubin into the current context, and return the handle of its kernel `name`.

        `shared` is the dynamic shared memory of a block in bytes. The module stays loaded.
        """
        self._ensure_context()
        module, function = ctypes.c_void_p(), ctypes.c_void_p()
        data = ctypes.create_string_buffer(image, len(image))
        self._call("cuModuleLoadData", ctypes.byref(module), data)
        self._call("cuModuleGetFunction", ctypes.byref(function), module, name.encode())
        if shared > _SHARED_WITHOUT_ASKING:
            self._allow_shared(function)
        if num_ctas > _LARGEST_PORTABLE_CLUSTER:
            self._call("cuFuncSetAttribute", function, _NON_PORTABLE_CLUSTER, 1)
        assert function.value is not None
        return function.value

    def launch(
        self, function: int, shape: LaunchShape, stream: int, parameters: Sequence[Any]
    ) -> None:
        """Put a launch on `stream`; `parameters` are ctypes objects, one for each parameter."""
        attributes = _attributes(shape)
        config = _LaunchConfig()
        config.grid[:] = (shape.grid[0] * shape.num_ctas, *shape.grid[1:])
        config.block[:] = (32 * shape.num_warps, 1, 1)
        config.shared = shape.shared
        config.stream = stream
        config.attributes = ctypes.cast(attributes, ctypes.POINTER(_Attribute))
        config.attribute_count = len(attributes)
        addresses = (ctypes.c_void_p * max(1, len(parameters)))(
            *(ctypes.addressof(parameter) for parameter in parameters)
        )
        handle = ctypes.c_void_p(function)
        self._call("cuLaunchKernelEx", ctypes.byref(config), handle, addresses, None)

    def tensor_map(
        self,
        address: int,
        *,
        element_type: int,
        element_bytes: int,
        swizzle: int,
        block: Sequence[int],
        shape: Sequence[int],
        strides: Sequence[int],
        nan_padding: bool,
    ) -> Any:
        """Return a CUtensorMap, as a ctypes object, of a tensor in global memory.

        `block`, `shape` and `strides` (in elements) are outermost first; `element_type` and
        `swizzle` are the driver's numbers.
        """
        rank = len(shape)
        encoded = _aligned(_TENSOR_MAP_BYTES, _TENSOR_MAP_ALIGNMENT)
        sizes = (ctypes.c_uint64 * rank)(*reversed(shape))
        steps = [element_bytes * stride for stride in reversed(strides[:-1])]
        # The driver reads rank - 1 strides; a vector has none, but wants a place.
        pitches = (ctypes.c_uint64 * max(1, rank))(*(steps or [shape[0] * element_bytes]))
        self._call(
            "cuTensorMapEncodeTiled",
            ctypes.byref(encoded),
            ctypes.c_int(element_type),
            ctypes.c_uint32(rank),
            ctypes.c_void_p(address),
            sizes,
            pitches,
            (ctypes.c_uint32 * rank)(*reversed(block)),
            (ctypes.c_uint32 * rank)(*[1] * rank),
            ctypes.c_int(0),
            ctypes.c_int(swizzle),
            ctypes.c_int(_L2_PROMOTION_128B),
            ctypes.c_int(int(nan_padding)),
        )
        return encoded

    def _allow_shared(self, function: ctypes.c_void_p) -> None:
        """Let a kernel have as much dynamic shared memory as the device allows."""
        device, most, static = ctypes.c_int(), ctypes.c_int(), ctypes.c_int()
        self._call("cuCtxGetDevice", ctypes.byref(device))
        self._call("cuDeviceGetAttribute", ctypes.byref(most), _SHARED_OPT_IN, device)
        self._call("cuFuncSetCacheConfig", function, _PREFER_SHARED)
        self._call("cuFuncGetAttribute", ctypes.byref(static), _STATIC_SHARED, function)
        allowed = most.value - static.value
        self._call("cuFuncSetAttribute", function, _MAX_DYNAMIC_SHARED, allowed)

    def _ensure_context(self) -> None:
        """Make the first device's primary context current where the thread has none."""
        context, device = ctypes.c_void_p(), ctypes.c_int()
        self._call("cuCtxGetCurrent", ctypes.byref(context))
        if context.value is None:
            self._call("cuDeviceGet", ctypes.byref(device), 0)
            self._call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
            self._call("cuCtxSetCurrent", context)

    def _call(self, name: str, *arguments: Any) -> None:
        status = getattr(self._library, name)(*arguments)
        if status != 0:
            said = ctypes.c_char_p()
            self._library.cuGetErrorString(status, ctypes.byref(said))
            text = said.value.decode() if said.value else "unknown error"
            raise EnvironmentProblem(f"CUDA's {name} failed with status {status}: {text}")


def _attributes(shape: LaunchShape) -> Any:
    chosen: list[_Attribute] = []
    if shape.programmatic:
        chosen.append(_Attribute(_PROGRAMMATIC_STREAM, value=_AttributeValue(number=1)))
    if shape.cooperative:
        chosen.append(_Attribute(_COOPERATIVE, value=_AttributeValue(number=1)))
    if shape.num_ctas != 1:
        cluster = _AttributeValue()
        cluster.size[:] = (shape.num_ctas, 1, 1)
        chosen.append(_Attribute(_CLUSTER_DIMENSION, value=cluster))
        chosen.append(_Attribute(_CLUSTER_POLICY, value=_AttributeValue(number=_SPREAD)))
    return (_Attribute * len(chosen))(*chosen)


def _aligned(size: int, alignment: int) -> Any:
    """Return a ctypes buffer whose address is a multiple of `alignment`."""
    room = (ctypes.c_char * (size + alignment))()
    offset = -ctypes.addressof(room) % alignment
    return (ctypes.c_char * size).from_buffer(room, offset)


@lru_cache(maxsize=1)
def cuda_driver() -> CudaDriver:
    """Return NVIDIA's driver.

    Raises:
        EnvironmentProblem: libcuda.so.1 is not where the loader looks, or sees no GPU.
    """
    try:
        return CudaDriver(ctypes.CDLL(LIBRARY))
    except OSError as error:
        raise EnvironmentProblem(
            f"launching on a GPU needs NVIDIA's driver library {LIBRARY}: {error}"
        ) from error
