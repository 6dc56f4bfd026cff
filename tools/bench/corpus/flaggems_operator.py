"""How a FlagGems operator is called and what it should return."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import torch
from cases import args

Inputs = tuple[tuple[Any, ...], dict[str, Any]]
Maker = Callable[[torch.dtype], Inputs]
FLOATS = (torch.float32, torch.float16)
F32 = (torch.float32,)
ANY = (torch.int64,)  # the element types are the maker's own
SHAPES = ((33, 65), (7, 1000))


@dataclass(frozen=True)
class Operator:
    """One wrapper, how it is called, and what it should return.

    `reference` takes the wrapper's arguments, floating-point tensors in float64. `loose` widens the
    tolerance; of a tuple of results only the first `compared` are looked at (0: all). What is
    random has no reference: `accepts` takes the arguments and the result, and says what is wrong.
    """

    name: str
    make: Maker
    reference: Callable[..., Any]
    dtypes: tuple[torch.dtype, ...] = FLOATS
    loose: float = 1.0
    compared: int = 0
    note: str = ""
    family: str = ""
    accepts: Callable[[tuple[Any, ...], Any], str] | None = None


def normal(*shape: int) -> Maker:
    """One normally distributed tensor."""
    return lambda dtype: args(torch.randn(shape).to(dtype))


def positive(*shape: int) -> Maker:
    """One tensor in (0.1, 3)."""
    return lambda dtype: args((torch.rand(shape) * 2.9 + 0.1).to(dtype))


def unit(*shape: int) -> Maker:
    """One tensor in (-0.95, 0.95)."""
    return lambda dtype: args((torch.rand(shape) * 1.9 - 0.95).to(dtype))


def then(make: Maker, *more: Any, **named: Any) -> Maker:
    """`make`'s tensors followed by plain arguments."""

    def made(dtype: torch.dtype) -> Inputs:
        positional, _ = make(dtype)
        return (*positional, *more), named

    return made


def both(*makers: Maker) -> Maker:
    """The tensors of several makers, one after the other."""
    return lambda dtype: (tuple(value for make in makers for value in make(dtype)[0]), {})


def integers(*shape: int, low: int = -50, high: int = 50, dtype: Any = torch.int32) -> Maker:
    """One integer tensor."""
    return lambda _: args(torch.randint(low, high, shape, dtype=dtype))


def mask(*shape: int) -> Maker:
    """One random mask."""
    return lambda _: args(torch.rand(shape) > 0.5)


def distinct(*shape: int) -> Maker:
    """One tensor without two equal elements in a row, so that indices are unambiguous."""

    def made(dtype: torch.dtype) -> Inputs:
        rows = torch.rand(shape).argsort(-1).argsort(-1)
        return args(((rows - shape[-1] // 2) / 4.0).to(dtype))

    return made


def named(names: str, make: Maker, **more: Any) -> list[Operator]:
    """Operators that torch has under the same name."""
    return [Operator(name, make, getattr(torch, name), **more) for name in names.split()]


def in_family(
    family: str, operators: list[Operator], others: dict[str, str] | None = None
) -> list[Operator]:
    """The operators, told their family; `others` maps names to another one."""
    return [replace(entry, family=(others or {}).get(entry.name, family)) for entry in operators]
