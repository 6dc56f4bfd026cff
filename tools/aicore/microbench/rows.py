"""The file that measurements come in: rows as in tools/aicore/calibrate/published.toml."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


@dataclass(frozen=True)
class Row:
    """One measured launch: microseconds, with notes on their spread."""

    group: str
    name: str
    microseconds: float
    notes: str
    chip: str
    clock_mhz: float


def write_rows(path: Path, rows: Sequence[Row]) -> None:
    """Write rows as TOML."""
    lines = []
    for row in rows:
        lines += [
            "[[row]]",
            f"table = {json.dumps('microbench ' + row.group)}",
            f"case = {json.dumps(row.name)}",
            'measure = "task"',
            f"value = {row.microseconds}",
            'unit = "us"',
            'source = "tools/aicore/microbench"',
            f"chip = {json.dumps(row.chip)}",
            f"clock_mhz = {row.clock_mhz}",
            f"notes = {json.dumps(row.notes)}",
            "",
        ]
    path.write_text("\n".join(lines), encoding="utf-8")


def read_rows(path: Path) -> list[Row]:
    """Read rows back."""
    document = tomllib.loads(path.read_text("utf-8"))
    return [
        Row(
            row["table"].removeprefix("microbench "),
            row["case"],
            float(row["value"]),
            row["notes"],
            row["chip"],
            float(row["clock_mhz"]),
        )
        for row in document["row"]
    ]
