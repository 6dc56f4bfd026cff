"""Triton's own launcher with a launch plan: what reaches the code that Triton generates."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from triton.backends.nvidia import driver as nvidia

from flagc.ir.launch_plan import METADATA, LaunchPlan
from flagc.targets.cuda import planned_launches


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
