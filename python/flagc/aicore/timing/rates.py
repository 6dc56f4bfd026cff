"""Rates of vector instructions: vector_rates.toml, by instruction of the emulator's table."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

from flagc.aicore.native import native


@dataclass(frozen=True)
class VectorRate:
    """Cycles: `slope` a repeat of 256 bytes, `floor` at least, `latency` behind the last repeat."""

    slope: float
    floor: float
    latency: float


@lru_cache(maxsize=1)
def _entries() -> Any:
    return tomllib.loads((Path(__file__).parent / "vector_rates.toml").read_text("utf-8"))


def vector_rate(instruction: str) -> VectorRate:
    """The rate of an instruction as the device libraries name it, `VADD.f32`."""
    entries = _entries()
    for rate in entries["rate"]:
        wanted = rate.get("type")
        if any(instruction.startswith(name) for name in rate["names"]) and (
            wanted is None or wanted in instruction.split(".")
        ):
            return VectorRate(rate["slope"], rate["floor"], rate["latency"])
    default = entries["default"]
    return VectorRate(default["slope"], default["floor"], default["latency"])


@lru_cache(maxsize=1)
def instruction_names() -> tuple[str, ...]:
    """The emulator's instructions; a stream names each by its place in this order."""
    return tuple(row[0] for row in native().instructions())


@lru_cache(maxsize=1)
def rate_columns() -> tuple[list[float], list[float], list[float]]:
    """Slopes, floors and latencies in the order of `instruction_names`."""
    rates = [vector_rate(name) for name in instruction_names()]
    return ([r.slope for r in rates], [r.floor for r in rates], [r.latency for r in rates])
