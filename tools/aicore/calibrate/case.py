"""A published launch: how it is built for the model, and what is compared."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Case:
    """One published launch.

    `targets` are (measure of published.toml, what the model gives for it); `why` states what the
    source leaves open and what was assumed. With `less`, `extrapolate` times what `build` exceeds
    `less` by is added to what `build` takes.
    """

    table: str
    name: str
    clock: float  # MHz
    build: Callable[[], object]
    targets: dict[str, str]
    why: str = ""
    less: Callable[[], object] | None = None
    extrapolate: float = 0.0
    chip: str = "910B1"
    count: int = 1
    flags: dict[str, Any] = field(default_factory=dict)
