"""How a wrapper's call is described: its name, its arguments, and where the wrapper lives."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

Arguments = tuple[tuple[Any, ...], dict[str, Any]]


@dataclass(frozen=True)
class Case:
    """One call of one wrapper; `make` builds fresh arguments when the call is made."""

    op: str
    make: Callable[[], Arguments]


def args(*positional: Any, **named: Any) -> Arguments:
    """The arguments of one call."""
    return positional, named


def cases(ops: str, make: Callable[[], Arguments]) -> list[Case]:
    """One case for every name in `ops`, all with the same arguments."""
    return [Case(op, make) for op in ops.split()]


def f32(*shape: int) -> torch.Tensor:
    """Random fp32 values in (0, 1)."""
    return torch.rand(shape)


def f16(*shape: int) -> torch.Tensor:
    """Random fp16 values in (0, 1)."""
    return torch.rand(shape, dtype=torch.float16)


def bf16(*shape: int) -> torch.Tensor:
    """Random bf16 values in (0, 1)."""
    return torch.rand(shape, dtype=torch.bfloat16)


def f8(*shape: int) -> torch.Tensor:
    """Random fp8 (e4m3) values in (0, 1)."""
    return torch.rand(shape).to(torch.float8_e4m3fn)


def i32(*shape: int, high: int = 100) -> torch.Tensor:
    """Random int32 values in [0, high)."""
    return torch.randint(0, high, shape, dtype=torch.int32)


def i64(*shape: int, high: int = 100) -> torch.Tensor:
    """Random int64 values in [0, high), for indices."""
    return torch.randint(0, high, shape)


def i8(*shape: int) -> torch.Tensor:
    """Random int8 values."""
    return torch.randint(-128, 128, shape, dtype=torch.int8)


def boolean(*shape: int) -> torch.Tensor:
    """A random mask, about half true."""
    return torch.rand(shape) > 0.5


def c64(*shape: int) -> torch.Tensor:
    """Random complex64 values."""
    return torch.rand(shape, dtype=torch.complex64)
