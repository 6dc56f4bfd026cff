"""Baselines and amounts of work that users give for their kernels."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from flagc.check.reference import kernel_key

# Does what the kernel does, given a launch's arguments by name.
Baseline = Callable[..., Mapping[str, Any] | None]
Work = Callable[..., Mapping[str, float]]

_baselines: dict[str, dict[str, Baseline]] = {}
_work: dict[str, Work] = {}


@dataclass(frozen=True)
class Amount:
    """What a launch has to do at least: floating-point operations, bytes to and from memory."""

    flops: float | None = None
    bytes: float | None = None


def baseline(kernel: Any, name: str | None = None) -> Callable[[Baseline], Baseline]:
    """Give a kernel something to be compared with: `@flagc.baseline(kernel)` above a function.

    The function is called with all of a launch's arguments by name, constexprs included. It writes
    the outputs into the launch's tensors, or returns them by name, with work on torch's current
    stream alone and without waiting for it. `name` (default: the function's) stands in reports.
    A kernel may have several.
    """

    def remember(function: Baseline) -> Baseline:
        label = name or str(getattr(function, "__name__", "baseline"))
        _baselines.setdefault(kernel_key(kernel), {})[label] = function
        return function

    return remember


def work(kernel: Any) -> Callable[[Work], Work]:
    """Say how much a launch has to do: `@flagc.work(kernel)` above a function.

    The function is called with all of a launch's arguments by name and returns `flops`, `bytes` or
    both; reports then have TFLOP/s and GB/s.
    """

    def remember(function: Work) -> Work:
        _work[kernel_key(kernel)] = function
        return function

    return remember


def baselines_for(kernel: Any) -> dict[str, Baseline]:
    """Return the baselines of a JIT function by name."""
    return dict(_baselines.get(kernel_key(kernel), {}))


def amount_of(kernel: Any, arguments: Mapping[str, Any]) -> Amount:
    """Return the work of a launch, as far as the user said it.

    Raises:
        TypeError: the user's function returns something else than `flops` and `bytes`.
    """
    function = _work.get(kernel_key(kernel))
    return Amount(**function(**arguments)) if function is not None else Amount()
