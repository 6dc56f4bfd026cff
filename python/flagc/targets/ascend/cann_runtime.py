"""CANN's runtime library through ctypes: register a kernel object, launch it on a stream.

Only what a launch needs, as triton-ascend's launcher calls it (`third_party/ascend/backend/
npu_utils.cpp` and `driver.py` of triton-lang/triton-ascend). Never run on hardware by us: the tests
run it against a stand-in library that records its calls.
"""

from __future__ import annotations

import ctypes
from functools import lru_cache
from typing import Any

from flagc.errors import EnvironmentProblem

LIBRARY = "libruntime.so"
# RT_DEV_BINARY_MAGIC_ELF and _ELF_AIVEC of CANN's runtime/rt.h: any kernel, a vector kernel.
_MAGIC = {"aic": 0x43554245, "mix": 0x43554245, "aiv": 0x41415246}
_HOST_TO_DEVICE = 1


class _DeviceBinary(ctypes.Structure):
    """rtDevBinary_t."""

    _fields_ = (
        ("magic", ctypes.c_uint32),
        ("version", ctypes.c_uint32),
        ("data", ctypes.c_void_p),
        ("length", ctypes.c_uint64),
    )


class RuntimeFunction:
    """A registered kernel; its stub's address is what launches name."""

    def __init__(self, binary: bytes, stub: ctypes.c_uint64) -> None:
        self._binary = binary  # the runtime may read it as long as it is registered
        self._stub = stub

    @property
    def address(self) -> int:
        """Return the address that stands for the kernel."""
        return ctypes.addressof(self._stub)


class CannRuntime:
    """The calls of libruntime.so that a launch needs.

    Every method raises EnvironmentProblem with the call's name and the runtime's status when that
    is not 0.
    """

    def __init__(self, library: Any) -> None:
        self._library = library

    def register(self, name: str, binary: bytes, core: str) -> RuntimeFunction:
        """Register function `name` of a kernel object; `core` is aic, aiv or mix."""
        data = ctypes.create_string_buffer(binary, len(binary))
        described = _DeviceBinary(_MAGIC[core], 0, ctypes.addressof(data), len(binary))
        handle = ctypes.c_void_p()
        self._call("rtDevBinaryRegister", ctypes.byref(described), ctypes.byref(handle))
        stub = ctypes.c_uint64(0)
        text = name.encode()
        self._call("rtFunctionRegister", handle, ctypes.byref(stub), text, text, ctypes.c_uint32(0))
        return RuntimeFunction(binary, stub)

    def cross_core_flags(self) -> int:
        """Return the address of the flags through which cores wait for each other (FFTS)."""
        address, length = ctypes.c_uint64(0), ctypes.c_uint32(0)
        self._call("rtGetC2cCtrlAddr", ctypes.byref(address), ctypes.byref(length))
        return address.value

    def launch(self, function: RuntimeFunction, blocks: int, arguments: bytes, stream: int) -> None:
        """Put a launch of `blocks` blocks on `stream`; `arguments` is the packed argument block."""
        block = ctypes.create_string_buffer(arguments, len(arguments))
        self._call(
            "rtKernelLaunch",
            ctypes.c_void_p(function.address),
            ctypes.c_uint32(blocks),
            ctypes.byref(block),
            ctypes.c_uint32(len(arguments)),
            None,
            ctypes.c_void_p(stream),
        )

    def _call(self, name: str, *arguments: Any) -> None:
        status = getattr(self._library, name)(*arguments)
        if status != 0:
            raise EnvironmentProblem(f"CANN's {name} failed with status 0x{status & 0xFFFFFFFF:x}")


@lru_cache(maxsize=1)
def cann_runtime() -> CannRuntime:
    """Return CANN's runtime.

    Raises:
        EnvironmentProblem: libruntime.so is not where the loader looks.
    """
    try:
        return CannRuntime(ctypes.CDLL(LIBRARY))
    except OSError as error:
        raise EnvironmentProblem(
            f"launching on an NPU needs CANN's {LIBRARY}: {error}; source CANN's set_env.sh"
        ) from error
