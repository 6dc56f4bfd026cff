"""Triton's own launcher with a launch plan: what reaches the code that Triton generates."""

from __future__ import annotations

import itertools
import json
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from triton.backends.nvidia import driver as nvidia
from triton.runtime import _allocation

from flagc.ir.launch_plan import METADATA, LaunchPlan, PlannedDescriptor
from flagc.targets.cuda import counters, planned_launches


class Launched:
    """What Triton's launcher was given: the source when it was made, then each call."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.sources: list[Any] = []
        self.calls: list[tuple[Any, ...]] = []
        monkeypatch.setattr(
            planned_launches, "_original_initialise", lambda _, src, meta: self.sources.append(src)
        )
        monkeypatch.setattr(
            planned_launches, "_original_launch", lambda _, *rest: self.calls.append(rest)
        )
        monkeypatch.setattr(nvidia.CudaLauncher, "__init__", nvidia.CudaLauncher.__init__)
        monkeypatch.setattr(nvidia.CudaLauncher, "__call__", nvidia.CudaLauncher.__call__)
        planned_launches.provide()


SOURCE = SimpleNamespace(fn=None, constants={(1,): 16}, signature={"x": "*fp32", "B": "constexpr"})
HANDLES = ("metadata", "launch metadata", None, None)


def test_a_plan_shrinks_the_grid_and_adds_the_scripts(monkeypatch: pytest.MonkeyPatch) -> None:
    launched = Launched(monkeypatch)
    plan = LaunchPlan(programs=6).with_block(1, 128, 256)
    launcher = nvidia.CudaLauncher(SOURCE, SimpleNamespace(**{METADATA: plan.describe()}))
    (source,) = launched.sources
    assert list(source.signature.values()) == ["*fp32", "constexpr", "i32", "i32", "i32"]
    assert list(source.signature)[:2] == ["x", "B"]
    assert source.constants == SOURCE.constants
    launcher(2, 3, 1, 77, 88, *HANDLES, "x", 16)
    launcher(9, 9, 1, 77, 88, *HANDLES, "x", 16)
    assert launched.calls == [
        (4, 1, 1, 77, 88, *HANDLES, "x", 16, 2, 3, 1),
        (6, 1, 1, 77, 88, *HANDLES, "x", 16, 9, 9, 1),
    ]


def test_a_shared_tile_gets_workspace_and_counters(monkeypatch: pytest.MonkeyPatch) -> None:
    launched = Launched(monkeypatch)
    given: list[Any] = []

    def take(count: int, stream: int) -> str:
        given.append((count, stream))
        return "counters"

    def allocate(size: int, alignment: int, stream: int) -> str:
        given.append((size, stream))
        return "workspace"

    monkeypatch.setattr(planned_launches, "take_counters", take)
    plan = LaunchPlan(ways=4, workspace=1024)
    launcher = nvidia.CudaLauncher(SOURCE, SimpleNamespace(**{METADATA: plan.describe()}))
    assert list(launched.sources[0].signature.values())[-5:] == [*["i32"] * 3, "*fp32", "*i32"]
    token = _allocation._allocator.set(allocate)
    try:
        launcher(2, 3, 1, 77, 88, *HANDLES, "x", 16)
        launcher(0, 3, 1, 77, 88, *HANDLES, "x", 16)
    finally:
        _allocation._allocator.reset(token)
    assert given == [(8 * 3 * 1024, 77), (6, 77)]
    assert launched.calls == [
        (8, 3, 1, 77, 88, *HANDLES, "x", 16, 2, 3, 1, "workspace", "counters"),
        (0, 3, 1, 77, 88, *HANDLES, "x", 16, 0, 3, 1, None, None),
    ]


def test_the_launcher_makes_descriptors(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of tensors and of bare addresses; positions leave out constexprs."""
    launched = Launched(monkeypatch)
    rows = PlannedDescriptor(0, "f16", (64, 32), ((1,), 96), ((2,), 1), "nan")
    plan = LaunchPlan(descriptors=(rows, PlannedDescriptor(0, "f16", (8,), (7,), (1,))))
    assert LaunchPlan.of(json.loads(json.dumps(plan.describe()))) == plan
    signature = {"x": "*fp16", "B": "constexpr", "m": "i32", "row": "i32"}
    source = SimpleNamespace(fn=None, constants={(1,): 16}, signature=signature)
    launcher = nvidia.CudaLauncher(source, SimpleNamespace(**{METADATA: plan.describe()}))
    kinds = ["*fp16", "constexpr", "i32", "i32", "i32", "i32", "i32"]
    made = ["tensordesc<f16[64,32]>", "tensordesc<f16[8]>"]
    assert list(launched.sources[0].signature.values()) == [*kinds, *made]
    x = torch.zeros(9)
    launcher(2, 3, 1, 77, 88, *HANDLES, x, 16, 100, 128)
    launcher(2, 3, 1, 77, 88, *HANDLES, 4096, 16, 100, 128)
    for call, address in zip(launched.calls, (x.data_ptr(), 4096), strict=True):
        assert call[:5] == (2, 3, 1, 77, 88)
        assert call[-8:-2] == (16, 100, 128, 2, 3, 1)
        two_dimensions, vector = call[-2:]
        assert two_dimensions.base.data_ptr() == vector.base.data_ptr() == address
        assert (two_dimensions.shape, two_dimensions.strides) == ([100, 96], [128, 1])
        assert (two_dimensions.padding, two_dimensions.round_f32_to_tf32) == ("nan", False)
        assert (vector.shape, vector.strides, vector.padding) == ([7], [1], "zero")


def test_an_empty_tensor_has_a_zero_in_its_place(monkeypatch: pytest.MonkeyPatch) -> None:
    """The driver refuses to describe it."""
    zeros = torch.zeros
    monkeypatch.setattr(torch, "zeros", lambda *sizes, device, dtype: zeros(*sizes, dtype=dtype))
    launched = Launched(monkeypatch)
    plan = LaunchPlan(descriptors=(PlannedDescriptor(0, "f32", (8, 8), (4, (1,)), ((1,), 1)),))
    signature = {"x": "*fp32", "k": "i32"}
    source = SimpleNamespace(fn=None, constants={}, signature=signature)
    launcher = nvidia.CudaLauncher(source, SimpleNamespace(**{METADATA: plan.describe()}))
    launcher(1, 1, 1, 77, 88, *HANDLES, None, 0)
    (call,) = launched.calls
    tensor = call[-1]
    assert tensor.shape == [1, 1]
    assert 4 * tensor.strides[0] % 16 == 0
    assert not tensor.base.any()


class FakeCuda:
    """Whether a graph is captured, for `Counters`; memory is the host's."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.capturing = False
        monkeypatch.setattr(torch.cuda, "current_device", lambda: 0)
        monkeypatch.setattr(torch.cuda, "is_current_stream_capturing", lambda: self.capturing)
        monkeypatch.setattr(counters, "_cleared", lambda n: torch.zeros(n, dtype=torch.int32))


def test_launches_of_a_stream_share_counters_and_captured_ones_have_their_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cuda = FakeCuda(monkeypatch)
    held = counters.Counters()
    first = held.take(10, stream=1)
    assert held.take(20, stream=1).data_ptr() == first.data_ptr()
    assert held.take(10, stream=2).data_ptr() != first.data_ptr()
    assert held.take(5000, stream=1).numel() >= 5000
    cuda.capturing = True
    captured = [held.take(10, stream=1) for _ in range(3)]
    places = sorted(tensor.data_ptr() for tensor in captured)
    assert [b - a >= 40 for a, b in itertools.pairwise(places)] == [True, True]
    assert all(place % 16 == places[0] % 16 for place in places)
    assert held.take(1 << 20, stream=1).numel() >= 1 << 20


def test_other_kernels_are_launched_as_before(monkeypatch: pytest.MonkeyPatch) -> None:
    launched = Launched(monkeypatch)
    launcher = nvidia.CudaLauncher(SOURCE, SimpleNamespace(name="kernel"))
    launcher(2, 3, 1, 77, 88, *HANDLES, "x", 16)
    assert launched.sources == [SOURCE]
    assert launched.calls == [(2, 3, 1, 77, 88, *HANDLES, "x", 16)]


def test_it_takes_the_arguments_of_tritons_launcher() -> None:
    """`provide` replaces these two; a Triton with others must not go unnoticed."""
    import inspect

    made = list(inspect.signature(planned_launches._original_initialise).parameters)
    called = list(inspect.signature(planned_launches._original_launch).parameters)
    assert len(made) == 3
    assert called[1:6] == ["gridX", "gridY", "gridZ", "stream", "function"]
