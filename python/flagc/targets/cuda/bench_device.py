"""Timing on an NVIDIA GPU: CUDA graphs, events, and what the device reaches at most."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import pairwise
from typing import Any

import torch
import triton

import flagc
from flagc.bench.outcome import Peak
from flagc.bench.timing import Call, measure
from flagc.errors import KernelError

# The stream sleeps while the host queues replays, so that none waits for the host: about 2 ms at
# the clocks of current GPUs.
_HEAD_START_CYCLES = 4_000_000
_PEAK_SIZE = 8192
_PEAK_SECONDS = 0.2
_COPY_BYTES = 1 << 30
_FLOAT8 = (torch.float8_e4m3fn, torch.float8_e5m2)


@dataclass
class CudaBenchDevice:
    """The current GPU; see `flagc.bench.device.BenchDevice`."""

    _peaks: dict[Any, Peak] = field(default_factory=dict)
    _copied: float | None = None

    def record(self, calls: Sequence[Call]) -> Any:
        """Capture `calls` as a CUDA graph.

        The first one runs before that on the capture's stream, where libraries then find their
        handles and workspaces.
        """
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            calls[0]()
        self.wait()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, stream=stream):
            for call in calls:
                call()
        return graph

    def time(self, replays: Sequence[Any]) -> list[float]:
        """Replay graphs back to back between events."""
        marks = [torch.cuda.Event(enable_timing=True) for _ in range(len(replays) + 1)]
        torch.cuda._sleep(_HEAD_START_CYCLES)
        marks[0].record()
        for graph, mark in zip(replays, marks[1:], strict=True):
            graph.replay()
            mark.record()
        self.wait()
        return [before.elapsed_time(after) * 1e-3 for before, after in pairwise(marks)]

    def wait(self) -> None:
        """Wait for the device; see `BenchDevice`."""
        try:
            torch.cuda.synchronize()
        except RuntimeError as error:
            raise KernelError(f"error: a launch failed on the GPU: {error}") from error

    def cache_bytes(self) -> int:
        """Return the size of L2."""
        return int(torch.cuda.get_device_properties().L2_cache_size)

    def free_bytes(self) -> int:
        """Return the memory that is free, what torch keeps for itself included."""
        free, _ = torch.cuda.mem_get_info()
        kept = torch.cuda.memory_reserved() - torch.cuda.memory_allocated()
        return int(free + kept)

    def peak(self, dtype: Any) -> Peak:
        """Time an 8192 x 8192 x 8192 product on random numbers, and a copy of 1 GiB."""
        if dtype not in self._peaks:
            product = _product(dtype)
            flops = 2 * _PEAK_SIZE**3 / self._seconds(product) if product is not None else None
            if self._copied is None:
                self._copied = 2 * _COPY_BYTES / self._seconds(_copy())
            name = str(dtype).removeprefix("torch.") if dtype is not None else ""
            self._peaks[dtype] = Peak(name, flops, self._copied)
            torch.cuda.empty_cache()
        return self._peaks[dtype]

    def peaks(self) -> list[Peak]:
        """Return the peaks that were measured so far."""
        return list(self._peaks.values())

    def describe(self) -> dict[str, str]:
        """Return GPU, driver and versions."""
        major, minor = torch.cuda.get_device_capability()
        return {
            "gpu": torch.cuda.get_device_name(),
            "capability": f"sm{10 * major + minor}",
            "multiprocessors": str(torch.cuda.get_device_properties().multi_processor_count),
            "driver": _driver_version(),
            "cuda": str(torch.version.cuda),
            "torch": torch.__version__,
            "triton": triton.__version__,
            "flagc": flagc.__version__,
        }

    def _seconds(self, calls: list[Call]) -> float:
        for call in calls:
            call()
        timing = measure(self, {"peak": calls}, _PEAK_SECONDS)["peak"]
        return min(timing.samples)


def _product(dtype: Any) -> list[Call] | None:
    """Return products of two sets of operands; None where torch multiplies no such matrices."""
    if dtype in _FLOAT8:
        return [_float8_product(torch.float8_e4m3fn) for _ in range(2)]
    if dtype not in (torch.float16, torch.bfloat16, torch.float32):
        return None
    return [_plain_product(dtype) for _ in range(2)]


def _plain_product(dtype: Any) -> Call:
    a, b = (torch.randn(_PEAK_SIZE, _PEAK_SIZE, dtype=dtype, device="cuda") for _ in range(2))
    c = torch.empty_like(a)

    def multiply() -> None:
        torch.matmul(a, b, out=c)

    return multiply


def _float8_product(dtype: Any) -> Call:
    a, b = (torch.randn(_PEAK_SIZE, _PEAK_SIZE, device="cuda").to(dtype) for _ in range(2))
    one = torch.ones((), device="cuda")

    def multiply() -> None:
        torch._scaled_mm(
            a, b.t(), scale_a=one, scale_b=one, out_dtype=torch.bfloat16, use_fast_accum=True
        )

    return multiply


def _copy() -> list[Call]:
    source = torch.randint(0, 256, (_COPY_BYTES,), dtype=torch.uint8, device="cuda")
    copy = torch.empty_like(source)
    call: Callable[[], Any] = lambda: copy.copy_(source)  # noqa: E731
    return [call]


@cache
def _driver_version() -> str:
    """Return the driver's version by nvidia-smi, or 'unknown'."""
    program = shutil.which("nvidia-smi")
    if program is None:
        return "unknown"
    command = [program, "--query-gpu=driver_version", "--format=csv,noheader"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=10, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return "unknown"
    lines = done.stdout.strip().splitlines()
    return lines[0].strip() if done.returncode == 0 and lines else "unknown"
