"""The timing model's constants for a chip: costs.toml, in the cycles of the chip's clock."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

from flagc.aicore.native import native
from flagc.aicore.timing.rates import rate_columns
from flagc.targets.ascend.chips import AscendChip

COSTS_FILE = Path(__file__).parent / "costs.toml"

TERA = 1e12


@dataclass(frozen=True)
class Constant:
    """One constant: its value, how it was found (`fitted`, `documented`, ...), and from where.

    A fitted one lies between `low` and `high`; its fit began at `start`.
    """

    value: float
    unit: str
    status: str
    source: str
    low: float = 0.0
    high: float = 0.0
    start: float = 0.0


@dataclass(frozen=True)
class CostTable:
    """All constants, their version, and the errors that validation found.

    `band` covers nine of ten held-out kernels, relative; `pair_band` nine of ten ratios of two rows
    of one table, as a log ratio.
    """

    version: str
    constants: Mapping[str, Constant]
    band: float
    pair_band: float

    def values(self) -> dict[str, float]:
        """The bare numbers."""
        return {name: constant.value for name, constant in self.constants.items()}


@lru_cache(maxsize=1)
def cost_table() -> CostTable:
    """The table that ships with flagc."""
    document: dict[str, Any] = tomllib.loads(COSTS_FILE.read_text("utf-8"))
    constants = {name: Constant(**entry) for name, entry in document["constant"].items()}
    return CostTable(document["version"], constants, document["band"], document["pair_band"])


def native_costs(chip: AscendChip, clock_mhz: float, values: Mapping[str, float]) -> Any:
    """The constants as the simulation takes them, bandwidths and times in cycles of the clock."""
    hertz = clock_mhz * 1e6
    given = dict(values)
    cycles = {
        "l2_rate": given.pop("l2_tb_per_second") * TERA / hertz,
        "hbm_rate": given.pop("hbm_share") * chip.hbm_bytes_per_second / hertz,
        "l2_bytes": float(chip.l2_bytes),
        "launch": given.pop("launch_us") * clock_mhz,
        "launch_core": given.pop("launch_core_us") * clock_mhz,
    }
    return native().TimingCosts({**given, **cycles}, *rate_columns())
