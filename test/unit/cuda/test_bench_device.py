"""The GPU's stopwatch, with torch's streams, events and graphs replaced by ones that count."""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from flagc.errors import KernelError
from flagc.targets.cuda import bench_device
from flagc.targets.cuda.bench_device import CudaBenchDevice

GRAPH_SIGNATURE = inspect.signature(torch.cuda.graph.__init__)


class Gpu:
    """A stream as a list of work; every launch takes a millisecond, also in a graph's replay."""

    def __init__(self) -> None:
        self.now = 0.0
        self.capturing: list[int] | None = None
        self.captured_on: list[Any] = []

    def launch(self) -> None:
        if self.capturing is not None:
            self.capturing.append(1)
        else:
            self.now += 1.0


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch, gpu: None) -> Gpu:
    device = Gpu()

    class Event:
        def __init__(self, enable_timing: bool) -> None:
            assert enable_timing

        def record(self) -> None:
            self.at = device.now

        def elapsed_time(self, other: Any) -> float:
            return other.at - self.at

    class Graph:
        def __init__(self) -> None:
            self.launches: list[int] = []

        def replay(self) -> None:
            device.now += len(self.launches)

    @contextlib.contextmanager
    def graph(*arguments: Any, **named: Any) -> Iterator[None]:
        bound = GRAPH_SIGNATURE.bind(None, *arguments, **named).arguments
        device.capturing = bound["cuda_graph"].launches
        device.captured_on.append(bound["stream"])
        yield
        device.capturing = None

    @contextlib.contextmanager
    def stream(chosen: Any) -> Iterator[None]:
        yield

    waiting = SimpleNamespace(wait_stream=lambda other: None)
    monkeypatch.setattr(torch.cuda, "Event", Event)
    monkeypatch.setattr(torch.cuda, "CUDAGraph", Graph)
    monkeypatch.setattr(torch.cuda, "graph", graph)
    monkeypatch.setattr(torch.cuda, "stream", stream)
    monkeypatch.setattr(torch.cuda, "Stream", lambda: waiting)
    monkeypatch.setattr(torch.cuda, "_sleep", lambda cycles: None)
    return device


def test_a_replay_takes_the_time_of_its_launches(fake: Gpu) -> None:
    device = CudaBenchDevice()
    two, five = device.record([fake.launch] * 2), device.record([fake.launch] * 5)
    assert fake.now == 2.0  # one launch outside of each capture
    assert device.time([two, five, two]) == pytest.approx([2e-3, 5e-3, 2e-3])
    assert all(stream is not None for stream in fake.captured_on)


def test_a_fault_on_the_device_is_an_error(fake: Gpu, monkeypatch: pytest.MonkeyPatch) -> None:
    def fault() -> None:
        raise RuntimeError("CUDA error: an illegal memory access was encountered")

    monkeypatch.setattr(torch.cuda, "synchronize", fault)
    with pytest.raises(KernelError, match="illegal memory access"):
        CudaBenchDevice().wait()


def test_the_peak_is_the_fastest_product(fake: Gpu, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench_device, "_product", lambda dtype: [fake.launch] * 2)
    monkeypatch.setattr(bench_device, "_copy", lambda: [fake.launch])
    device = CudaBenchDevice()
    found = device.peak(torch.float16)
    assert found.flops == pytest.approx(2 * 8192**3 / 1e-3)
    assert found.bytes == pytest.approx(2 * 2**30 / 1e-3)
    now = fake.now
    assert device.peak(torch.float16) is found
    assert fake.now == now


@pytest.mark.parametrize("dtype", [torch.float16, torch.float8_e4m3fn])
def test_products_are_what_torch_multiplies(dtype: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The calls themselves, on the CPU and small."""
    monkeypatch.setattr(bench_device, "_PEAK_SIZE", 64)
    for name in ("randn", "ones", "empty"):
        real = getattr(torch, name)
        monkeypatch.setattr(
            torch, name, lambda *a, real=real, **k: real(*a, **{**k, "device": "cpu"})
        )
    calls = bench_device._product(dtype)
    assert calls is not None
    for call in calls:
        call()
    assert bench_device._product(torch.int8) is None


def test_the_device_names_itself(gpu: None, monkeypatch: pytest.MonkeyPatch) -> None:
    properties = SimpleNamespace(multi_processor_count=132, L2_cache_size=60 << 20)
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda *_: properties)
    device = CudaBenchDevice()
    described = device.describe()
    assert described["gpu"] == "NVIDIA H200"
    assert (described["capability"], described["multiprocessors"]) == ("sm90", "132")
    assert device.cache_bytes() == 60 << 20
