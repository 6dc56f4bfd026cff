"""Ascend chips that the vendor compiler knows, with their core counts and on-chip memories.

Sources: AscendNPU-IR `Dialect/HACC/Targets/NPUTargetSpec.td` for core counts and memory sizes (as
collected in the project's ascend-hardware reference); names as `bishengir-compile --target` lists
them. Sizes are bytes per core; clocks are MHz, None where no source gives one.
"""

from __future__ import annotations

from dataclasses import dataclass

from flagc.errors import UsageError, nearest

KIB = 1024


@dataclass(frozen=True)
class AscendChip:
    """One chip: `name` is the vendor's, core counts are of one die."""

    name: str
    cube_cores: int
    vector_cores: int
    clock_mhz: int | None
    l1_bytes: int = 512 * KIB
    l0a_bytes: int = 64 * KIB
    l0b_bytes: int = 64 * KIB
    l0c_bytes: int = 128 * KIB
    ub_bytes: int = 192 * KIB

    @property
    def short_name(self) -> str:
        """The name without the prefix `Ascend`, as command lines take it."""
        return self.name.removeprefix("Ascend")


CHIPS: tuple[AscendChip, ...] = (
    AscendChip("Ascend910B1", 24, 48, 1850),
    AscendChip("Ascend910B2", 24, 48, 1800),
    AscendChip("Ascend910B2C", 24, 48, None),
    AscendChip("Ascend910B3", 20, 40, 1800),
    AscendChip("Ascend910B4", 20, 40, 1500),
    AscendChip("Ascend910B4-1", 20, 40, None),
    AscendChip("Ascend910_9362", 20, 40, None),
    AscendChip("Ascend910_9372", 20, 40, None),
    AscendChip("Ascend910_9381", 24, 48, None),
    AscendChip("Ascend910_9382", 24, 48, None),
    AscendChip("Ascend910_9391", 24, 48, None),
    AscendChip("Ascend910_9392", 24, 48, 1800),
)

DEFAULT_CHIP = "Ascend910B3"


def chip(name: str) -> AscendChip:
    """The chip called `name` (`Ascend910B3`, `910B3`, any case); UsageError names the nearest."""
    wanted = name.lower().removeprefix("ascend")
    by_name = {entry.short_name.lower(): entry for entry in CHIPS}
    if wanted in by_name:
        return by_name[wanted]
    valid = [entry.short_name for entry in CHIPS]
    raise UsageError(f"unknown Ascend chip '{name}'; {nearest(wanted.upper(), valid)}")
