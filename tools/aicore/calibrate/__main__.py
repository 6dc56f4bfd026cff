"""Calibrates the timing model: `python tools/aicore/calibrate [--write]`.

Fits the constants of python/flagc/aicore/timing/costs.toml that it calls fitted to published.toml,
validates by leaving out one table at a time, and with `--write` writes costs.toml and
docs/ascend-timing.md. Needs scipy.
"""

from __future__ import annotations

import sys
from pathlib import Path

import click

ROOT = Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT / "python"), str(Path(__file__).parent)]

from costs_file import write_costs  # noqa: E402
from fit import Bounds  # noqa: E402
from page import PAGE, page, summary, with_effects  # noqa: E402
from validate import KERNELS, errors, pair_errors, quantile, times, validate  # noqa: E402

from flagc.aicore.timing.costs import COSTS_FILE, cost_table  # noqa: E402

# A band covers nine of ten rows of kernels that had no part in the fit.
COVERED = 0.9


@click.command()
@click.option("--write", is_flag=True, help="Write the constants and the page.")
@click.option("--effects", is_flag=True, help="Only make the page's section on effects anew.")
def main(write: bool, effects: bool) -> None:
    """Fit, validate, and print or write what comes of it."""
    table = cost_table()
    if effects:
        text = (ROOT / PAGE).read_text(encoding="utf-8")
        (ROOT / PAGE).write_text(with_effects(text, table.values()), encoding="utf-8")
        return
    bounds = {
        name: Bounds(constant.low, constant.high)
        for name, constant in table.constants.items()
        if constant.status == "fitted"
    }
    start = {name: constant.start or constant.value for name, constant in table.constants.items()}
    found = validate(start, bounds)
    kernels = [point for point in times(found.by_table) if point.table in KERNELS]
    band = quantile(errors(kernels), COVERED)
    pair_band = quantile(pair_errors(kernels), COVERED)
    for line in summary(found, band, pair_band):
        print(line)
    if write:
        write_costs(COSTS_FILE, table, found.fitted, band, pair_band)
        (ROOT / PAGE).write_text(page(found, band, pair_band), encoding="utf-8")
        print(f"wrote {COSTS_FILE.relative_to(ROOT)} and {PAGE}")


if __name__ == "__main__":
    main()
