"""A stand-in for NVIDIA's driver library and its GPU; no GPU is here."""

from __future__ import annotations

import ctypes
import subprocess
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
import triton.backends.nvidia

from flagc.targets.cuda.driver_api import CudaDriver

SOURCE = Path(__file__).with_name("cuda_stand_in.c")


class Record(ctypes.Structure):
    """What the stand-in keeps of the last launch."""

    _fields_ = (
        ("grid", ctypes.c_uint * 3),
        ("block", ctypes.c_uint * 3),
        ("shared", ctypes.c_uint),
        ("attributes", ctypes.c_uint),
        ("attribute_ids", ctypes.c_uint * 8),
        ("attribute_values", ctypes.c_uint * 3 * 8),
        ("stream", ctypes.c_uint64),
        ("function", ctypes.c_uint64),
        ("parameters", ctypes.c_ubyte * 4096),
    )


class StandIn:
    """The stand-in library, and what it recorded."""

    def __init__(self, library: Any) -> None:
        self.library = library
        self.driver = CudaDriver(library)

    def expect(self, sizes: Sequence[int]) -> None:
        """Say how many bytes each parameter of the next launches has."""
        (ctypes.c_uint * 64).in_dll(self.library, "parameter_bytes")[: len(sizes)] = list(sizes)
        ctypes.c_uint.in_dll(self.library, "parameter_count").value = len(sizes)

    def number(self, name: str, value: int | None = None) -> int:
        found = ctypes.c_int.in_dll(self.library, name)
        if value is not None:
            found.value = value
        return found.value

    def text(self, name: str) -> bytes:
        return (ctypes.c_char * 64).in_dll(self.library, name).value

    @property
    def last(self) -> Record:
        return Record.in_dll(self.library, "last")


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> Any:
    built = tmp_path_factory.mktemp("cuda") / "libcuda.so"
    include = Path(triton.backends.nvidia.__file__).parent / "include"
    command = ["cc", "-shared", "-fPIC", "-Wall", "-Werror", "-I", include, "-o", built, SOURCE]
    subprocess.run(command, check=True)
    return ctypes.CDLL(str(built))


@pytest.fixture
def stand_in(library: Any) -> StandIn:
    found = StandIn(library)
    for name in ("contexts", "launches", "allowed_shared", "failure"):
        found.number(name, 0)
    return found


class GpuTensor(torch.Tensor):
    """A tensor in host memory that says that it is on a GPU."""

    @property
    def device(self) -> torch.device:
        return torch.device("cuda")


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """Torch with an H200: streams and names, but nothing that computes."""
    stream = SimpleNamespace(cuda_stream=0x5EA)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda *_: (9, 0))
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda *_: "NVIDIA H200")
    monkeypatch.setattr(torch.cuda, "current_stream", lambda *_: stream)
    monkeypatch.setattr(torch.cuda, "synchronize", lambda *_: None)
    monkeypatch.setattr(torch.cuda, "is_current_stream_capturing", lambda: False)


def gpu_tensor(tensor: torch.Tensor) -> Any:
    return tensor.as_subclass(GpuTensor)
