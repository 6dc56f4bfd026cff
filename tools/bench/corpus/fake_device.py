"""Make library code believe that CPU tensors are on a GPU or an NPU.

Wrappers ask `tensor.is_cuda`, allocate with `device="cuda"`, and read device properties.  A
`TorchFunctionMode` answers the first two, stand-ins in `torch.cuda` and `torch.npu` the third.
"""

from __future__ import annotations

import contextlib
import importlib.machinery
import sys
import types
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

ACCELERATORS = ("cuda", "npu")
DEVICE_OF = torch.Tensor.device.__get__  # type: ignore[attr-defined]
IS_CUDA = torch.Tensor.is_cuda.__get__  # type: ignore[attr-defined]
ALLOCATORS = {
    torch.empty: torch.zeros,
    torch.empty_like: torch.zeros_like,
    torch.Tensor.new_empty: torch.Tensor.new_zeros,
}


def on_cpu(value: Any) -> Any:
    """Replace an accelerator device, as text or object, by the CPU; keep anything else."""
    if isinstance(value, torch.device) and value.type in ACCELERATORS:
        return torch.device("cpu")
    if isinstance(value, str) and value.split(":")[0] in ACCELERATORS:
        return "cpu"
    return value


class CpuPosesAs(TorchFunctionMode):
    """CPU tensors report an accelerator as their device; allocations on it land on the CPU.

    Uninitialised memory reads as zero, so that sizes computed from a kernel's (never written)
    result are the same in every run.
    """

    def __init__(self, device: str) -> None:
        super().__init__()
        self.posed = torch.device(device, 0)

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Sequence[type],
        args: Sequence[Any] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        """Answer device questions, redirect allocations, pass everything else on."""
        if func == DEVICE_OF:
            return self.posed
        if func == IS_CUDA:
            return True
        if func in (torch.Tensor.cuda, torch.Tensor.pin_memory):
            return args[0]
        if func is torch.Tensor.get_device:
            return 0
        kwargs = {key: on_cpu(value) for key, value in (kwargs or {}).items()}
        kwargs.pop("pin_memory", None)
        if func in ALLOCATORS:
            kwargs.pop("memory_format", None)
        return ALLOCATORS.get(func, func)(*(on_cpu(value) for value in args), **kwargs)


class FakeGenerator:
    """A Philox generator's state: seed and offset."""

    def get_state(self) -> torch.Tensor:
        """Seed and offset as the bytes that CUDA's generator gives."""
        return torch.tensor([1234, 0], dtype=torch.int64).view(torch.uint8)

    def set_state(self, state: torch.Tensor) -> None:
        """Every run starts from the same state."""


def device_api(capability: tuple[int, int]) -> dict[str, Any]:
    """The functions of `torch.cuda` that wrappers call."""
    major, minor = capability
    properties = types.SimpleNamespace(
        name="fake",
        major=major,
        minor=minor,
        multi_processor_count=132,
        total_memory=80 << 30,
        L2_cache_size=50 << 20,
        l2_cache_size=50 << 20,
        warp_size=32,
        max_threads_per_multi_processor=2048,
        shared_memory_per_block=49152,
        shared_memory_per_block_optin=232448,
        shared_memory_per_multiprocessor=233472,
        regs_per_multiprocessor=65536,
        cube_core_num=20,
        vector_core_num=40,
    )
    stream = types.SimpleNamespace(cuda_stream=0, wait_stream=lambda other: None)

    def context(*args: Any, **kwargs: Any) -> Any:
        return contextlib.nullcontext()

    return {
        "is_available": lambda: True,
        "device_count": lambda: 1,
        "current_device": lambda: 0,
        "set_device": lambda device: None,
        "synchronize": lambda *args: None,
        "get_device_properties": lambda *args: properties,
        "get_device_capability": lambda *args: capability,
        "get_device_name": lambda *args: "fake",
        "current_stream": lambda *args: stream,
        "is_current_stream_capturing": lambda: False,
        "empty_cache": lambda: None,
        "_lazy_init": lambda: None,
        "device": context,
        "_DeviceGuard": context,
        "stream": context,
        "default_generators": (FakeGenerator(),),
    }


def pose(device: str, capability: tuple[int, int]) -> CpuPosesAs:
    """Install the stand-ins for `device` ("cuda" or "npu"); the result is the mode to enter."""
    api = device_api(capability)
    for name, value in api.items():
        setattr(torch.cuda, name, value)
    if device == "npu":
        torch.utils.rename_privateuse1_backend("npu")
        for name in ("torch.npu", "torch_npu", "torch_npu.npu"):
            module = types.ModuleType(name)
            module.__spec__ = importlib.machinery.ModuleSpec(name, None)
            for key, value in api.items():
                setattr(module, key, value)
            sys.modules[name] = module
        torch.npu = sys.modules["torch.npu"]  # type: ignore[attr-defined]
        torch.Tensor.npu = lambda tensor, *args, **kwargs: tensor  # type: ignore[attr-defined]
        sys.modules["torch_npu"].npu = sys.modules["torch_npu.npu"]  # type: ignore[attr-defined]
    return CpuPosesAs(device)
