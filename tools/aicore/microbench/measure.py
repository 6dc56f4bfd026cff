"""Measures the cases on an NPU with torch_npu and triton-ascend; none of us has run it."""

from __future__ import annotations

import statistics
from pathlib import Path
from typing import Any

import torch
from cases import Case, all_cases
from rows import Row, write_rows

WARM_UPS, SAMPLES, LAUNCHES = 5, 21, 10


def measure(path: Path, chip: str, clock_mhz: float, groups: tuple[str, ...]) -> None:
    """Measure every case of `groups` (none: all) and write them to `path`."""
    import torch_npu  # noqa: F401 - makes torch.npu

    rows = []
    for case in all_cases():
        if groups and case.group not in groups:
            continue
        times = _samples(case)
        low, _, high = statistics.quantiles(times, n=4)
        print(f"{case.group} {case.name}: {statistics.median(times):.2f} us")
        rows.append(
            Row(
                case.group,
                case.name,
                statistics.median(times),
                f"quartiles {low:.3f} and {high:.3f} us, {SAMPLES} samples of {LAUNCHES} launches",
                chip,
                clock_mhz,
            )
        )
    write_rows(path, rows)


def _samples(case: Case) -> list[float]:
    """Microseconds a launch: launches one after the other between two events."""
    npu: Any = torch.npu  # type: ignore[attr-defined]

    def make(shape: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor:
        return torch.rand(shape, dtype=dtype, device="npu") + 0.5

    arguments = case.arguments(make)

    def launch() -> None:
        case.kernel[case.grid](*arguments, **case.constants)

    for _ in range(WARM_UPS):
        launch()
    npu.synchronize()
    times = []
    for _ in range(SAMPLES):
        begin, end = (npu.Event(enable_timing=True) for _ in range(2))
        begin.record()
        for _ in range(LAUNCHES):
            launch()
        end.record()
        npu.synchronize()
        times.append(begin.elapsed_time(end) * 1e3 / LAUNCHES)
    return times
