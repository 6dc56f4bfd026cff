"""Writes costs.toml."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from flagc.aicore.timing.costs import CostTable

HEADER = """\
# Constants of the timing model; tools/aicore/calibrate writes this file.
#
# status: documented and measured: from the source; derived: arithmetic on published figures;
# fitted: from published rows, between low and high, from start; assumed: no source.
# band: error that nine of ten held-out rows of kernels do not exceed. pair_band: the same for the
# ratio of two variants of one kernel, as a log ratio.
"""


def write_costs(
    path: Path, table: CostTable, fitted: Mapping[str, float], band: float, pair_band: float
) -> None:
    """Replace the values of fitted constants and the bands."""
    lines = [HEADER, f'version = "{table.version}"', f"band = {band:.3f}"]
    lines += [f"pair_band = {pair_band:.3f}", ""]
    for name, constant in table.constants.items():
        is_fitted = constant.status == "fitted"
        value = float(f"{fitted[name]:.5g}") if is_fitted else constant.value
        lines += [
            f"[constant.{name}]",
            f"value = {value}",
            f'unit = "{constant.unit}"',
            f'status = "{constant.status}"',
            f"source = {json.dumps(constant.source)}",
        ]
        if is_fitted:
            start = constant.start or constant.value
            lines += [f"start = {start}", f"low = {constant.low}", f"high = {constant.high}"]
        lines.append("")
    path.write_text("\n".join(lines), encoding="utf-8")
