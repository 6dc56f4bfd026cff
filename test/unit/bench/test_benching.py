"""Benchmarks of launches, with executors that compute on the CPU and a device with known times."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest
import torch
import triton
import triton.language as tl

import flagc
from flagc.bench.executor import BenchingExecutor
from flagc.bench.outcome import BenchedLaunch, Peak
from flagc.frontend.execution import Argument, Execution
from flagc.frontend.recorder import LaunchRecorder, recording
from flagc.report.bench_table import bench_table, print_benched
from flagc.targets.cuda.target import CudaTarget


@triton.jit
def twice(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < n, other=0.0)
    tl.store(out_ptr + offsets, x * 2, mask=offsets < n)


@triton.jit
def twice_with_baselines(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < n, other=0.0)
    tl.store(out_ptr + offsets, x * 2, mask=offsets < n)


class Clock:
    """The device: baselines call `spend` for what they take."""

    def __init__(self, cache: int = 0, free: int = 1 << 30) -> None:
        self.now, self.cache, self.free = 0.0, cache, free
        self.seen: set[int] = set()

    def spend(self, seconds: float) -> None:
        self.now += seconds

    def record(self, calls: Sequence[Any]) -> Any:
        return calls

    def time(self, replays: Sequence[Any]) -> list[float]:
        found = []
        for replay in replays:
            before = self.now
            for call in replay:
                call()
            found.append(self.now - before)
        return found

    def wait(self) -> None:
        pass

    def cache_bytes(self) -> int:
        return self.cache

    def free_bytes(self) -> int:
        return self.free

    def peak(self, dtype: Any) -> Peak:
        return Peak(str(dtype), 1e12, 1e9)

    def describe(self) -> dict[str, str]:
        return {"gpu": "a clock", "driver": "1.0"}


class Doubling:
    """Executes `twice` in Python: `seconds` a launch, results off by `error`."""

    def __init__(self, clock: Clock, seconds: float, error: float = 0.0) -> None:
        self.clock, self.seconds, self.error = clock, seconds, error

    def prepare(self, launch: Any) -> None:
        pass

    def execute(self, launch: Any, grid: Any, arguments: Sequence[Argument]) -> Execution:
        self.call(launch, grid, arguments)()
        return Execution(grid, 1, 0, 0.0, device="a clock")

    def call(self, launch: Any, grid: Any, arguments: Sequence[Argument]) -> Any:
        values = {argument.name: argument.value for argument in arguments}

        def run() -> None:
            self.clock.seen.add(values["x_ptr"].data_ptr())
            self.clock.spend(self.seconds)
            values["out_ptr"].copy_(values["x_ptr"] * 2 + self.error)

        return run


def bench(executor: BenchingExecutor, kernel: Any, *values: Any) -> BenchedLaunch:
    with recording(LaunchRecorder(CudaTarget("sm90"), executor=executor)):
        kernel[(4,)](*values, BLOCK=16)
        kernel[(4,)](*values, BLOCK=16)  # of the same kind: not timed again
    (found,) = executor.benched
    return found


def test_passes_against_the_plain_kernel() -> None:
    clock = Clock()
    executor = BenchingExecutor(Doubling(clock, 1e-3), Doubling(clock, 3e-3), clock, seconds=0.01)
    x, out = torch.randn(50), torch.zeros(50)
    found = bench(executor, twice, x, out, 50)
    assert torch.equal(out, x * 2)
    assert list(found.timings) == ["with passes", "without passes"]
    assert found.results == {"with passes": "right", "without passes": "right"}
    assert found.against == "the kernel without passes"
    assert found.speedup("without passes")[0] == pytest.approx(3.0)
    assert found.config == {"n": 50, "BLOCK": 16}
    assert found.flops("with passes") is None


def test_wrong_results_are_found() -> None:
    clock = Clock()
    executor = BenchingExecutor(
        Doubling(clock, 1e-3, error=0.5), Doubling(clock, 1e-3), clock, seconds=0.01
    )
    found = bench(executor, twice, torch.randn(50), torch.zeros(50), 50)
    assert "50 of 50 elements are wrong" in found.results["with passes"]
    assert list(found.wrong) == ["with passes"]
    assert bench_table(found).rows[0][-1] == "WRONG"


def test_baselines_references_and_work(capsys: pytest.CaptureFixture[str]) -> None:
    clock = Clock()

    @flagc.reference(twice_with_baselines)
    def doubled(x_ptr: Any, **_: Any) -> dict[str, Any]:
        return {"out_ptr": x_ptr.double() * 2}

    @flagc.baseline(twice_with_baselines)
    def in_place(x_ptr: Any, out_ptr: Any, n: int, BLOCK: int) -> None:
        clock.spend(2e-3)
        torch.mul(x_ptr, 2, out=out_ptr)

    @flagc.baseline(twice_with_baselines, name="returned, and wrong")
    def returned(x_ptr: Any, **_: Any) -> dict[str, Any]:
        clock.spend(5e-4)
        return {"out_ptr": x_ptr * 3}

    @flagc.work(twice_with_baselines)
    def work(n: int, **_: Any) -> dict[str, float]:
        return {"flops": n * 1e7, "bytes": 8.0 * n}

    executor = BenchingExecutor(Doubling(clock, 1e-3), None, clock, seconds=0.01)
    found = bench(executor, twice_with_baselines, torch.randn(50), torch.zeros(50), 50)
    assert list(found.timings) == ["kernel", "in_place", "returned, and wrong"]
    assert found.results["kernel"] == found.results["in_place"] == "right"
    assert "elements are wrong" in found.results["returned, and wrong"]
    assert found.against == "@flagc.reference doubled"
    assert found.flops("kernel") == pytest.approx(5e11)
    assert found.share_of_peak("kernel") == pytest.approx(0.5)
    assert found.speedup("in_place")[0] == pytest.approx(2.0)
    document = json.loads(json.dumps(found.describe()))
    assert document["candidates"]["kernel"]["median"] == pytest.approx(1e-3)
    assert document["device"]["gpu"] == "a clock"
    print_benched([found])
    shown = capsys.readouterr().out
    assert "measured on a clock: driver 1.0" in shown
    assert "WRONG" in shown


@pytest.mark.parametrize(
    ("cache", "free", "sets"),
    [(0, 1 << 30, 1), (4000, 1 << 30, 1 + 30), (1 << 40, 1 << 30, 256), (4000, 4000, 4), (1, 0, 1)],
)
def test_inputs_are_cycled_through_the_cache(cache: int, free: int, sets: int) -> None:
    clock = Clock(cache, free)
    executor = BenchingExecutor(Doubling(clock, 1e-3), None, clock, seconds=0.01)
    found = bench(executor, twice, torch.randn(50), torch.zeros(50), 50)
    assert found.set_bytes == 400
    assert found.sets == sets
    assert found.results == {"kernel": "not checked"}


def test_views_of_one_tensor_stay_views_of_one_copy() -> None:
    clock = Clock(cache=1000)
    executor = BenchingExecutor(Doubling(clock, 1e-3), None, clock, seconds=0.01)
    both = torch.randn(100)
    found = bench(executor, twice, both[:50], both[50:], 50)
    assert found.set_bytes == 400
    assert torch.equal(both[50:], both[:50] * 2)
