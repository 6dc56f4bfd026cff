"""Facts about Ascend chips, read from chip_facts/*.toml, where each names its sources.

Sizes are bytes per core; clocks are MHz, None where no source gives one. Chips that the open
toolchain does not compile for are facts only: `chip` refuses them, `facts_of` gives them.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from flagc.errors import UsageError, nearest

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

KIB, MIB, GIB = 1024, 1024**2, 1024**3


@dataclass(frozen=True)
class AscendChip:
    """One chip: `name` is the vendor's, core counts are of one die.

    Attributes:
        compiles: whether the open toolchain compiles for it.
        hbm_bytes_per_second: peak, as documented.
        sources: where the facts come from.
    """

    name: str
    cube_cores: int
    vector_cores: int
    clock_mhz: int | None
    compiles: bool
    l1_bytes: int
    l0a_bytes: int
    l0b_bytes: int
    l0c_bytes: int
    ub_bytes: int
    bt_bytes: int
    fb_bytes: int
    l2_bytes: int
    hbm_bytes: int
    hbm_bytes_per_second: float
    sources: tuple[str, ...]

    @property
    def short_name(self) -> str:
        """The name without the prefix `Ascend`, as command lines take it."""
        return self.name.removeprefix("Ascend")


def _read(path: Path) -> list[AscendChip]:
    family: dict[str, Any] = tomllib.loads(path.read_text("utf-8"))
    on_chip = {f"{memory}_bytes": size * KIB for memory, size in family["on_chip_kib"].items()}
    result = []
    for entry in family["chip"]:
        facts = {**family, **entry}
        result.append(
            AscendChip(
                name=facts["name"],
                cube_cores=facts["cube_cores"],
                vector_cores=facts["vector_cores"],
                clock_mhz=facts.get("clock_mhz"),
                compiles=facts["compiles"],
                l2_bytes=facts["l2_mib"] * MIB,
                hbm_bytes=facts["hbm_gib"] * GIB,
                hbm_bytes_per_second=facts["hbm_tb_per_second"] * 1e12,
                sources=tuple(family["sources"]),
                **on_chip,
            )
        )
    return result


ALL_CHIPS: tuple[AscendChip, ...] = tuple(
    entry
    for path in sorted((Path(__file__).parent / "chip_facts").glob("*.toml"))
    for entry in _read(path)
)
CHIPS: tuple[AscendChip, ...] = tuple(entry for entry in ALL_CHIPS if entry.compiles)

DEFAULT_CHIP = "Ascend910B3"


def facts_of(name: str) -> AscendChip:
    """The facts of `name` (`Ascend910B3`, `910B3`, any case); UsageError names the nearest."""
    wanted = name.lower().removeprefix("ascend")
    by_name = {entry.short_name.lower(): entry for entry in ALL_CHIPS}
    if wanted in by_name:
        return by_name[wanted]
    valid = [entry.short_name for entry in CHIPS]
    raise UsageError(f"unknown Ascend chip '{name}'; {nearest(wanted.upper(), valid)}")


def chip(name: str) -> AscendChip:
    """The chip called `name`, one that can be compiled for; UsageError says why it cannot."""
    found = facts_of(name)
    if found.compiles:
        return found
    valid = ", ".join(entry.short_name for entry in CHIPS)
    raise UsageError(
        f"{found.short_name}: flagc knows its facts, but the open toolchain compiles nothing for "
        f"it; chips that it compiles for: {valid}"
    )
