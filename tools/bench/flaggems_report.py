"""What `flaggems.py` found, as tables and as a file."""

from __future__ import annotations

import json
import sys
from collections import Counter
from dataclasses import asdict, dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

COLOURS = {"right": "green", "wrong": "bold red", "refused": "yellow", "fault": "magenta"}
STATUSES = ("right", "wrong", "refused", "fault", "crashed", "missing")


@dataclass
class Outcome:
    """What one call came to; `status` is right, wrong, refused, fault, crashed or missing."""

    name: str
    dtype: str
    status: str
    detail: str = ""
    seconds: float = 0.0
    launches: int = 0
    family: str = ""
    wrapper: str = ""

    @property
    def operator(self) -> str:
        """The operator's name, without the note that tells its calls apart."""
        return self.name.split(" ")[0]


def reason(detail: str) -> str:
    """What a refusal or fault says, without the place: calls that fail alike count together."""
    _, found, rest = detail.partition("error: ")
    text = rest if found else detail
    *_, last = text.split(": ", 2) if " block " in text else (text,)
    return " ".join(word for word in last.split() if not word.startswith("0x"))[:150]


def show(outcomes: list[Outcome]) -> None:
    """Print the table, the totals, and what refusals and crashes say most often."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console(width=None if sys.stdout.isatty() else 200)
    table = Table("operator", "type", "wrapper", "outcome", "launches", "s", "detail")
    for outcome in outcomes:
        table.add_row(
            outcome.name,
            outcome.dtype,
            outcome.wrapper,
            Text(outcome.status, style=COLOURS.get(outcome.status, "red")),
            str(outcome.launches),
            f"{outcome.seconds:.1f}",
            Text(outcome.detail),
        )
    console.print(table)
    for status in ("refused", "fault", "crashed"):
        reasons = Counter(
            reason(outcome.detail) for outcome in outcomes if outcome.status == status
        )
        for text, count in reasons.most_common(8):
            console.print(Text(f"{count:4} {status}: {text}", style=COLOURS.get(status, "red")))
    totals = Counter(outcome.status for outcome in outcomes)
    console.print(by_family(outcomes))
    operators = {outcome.operator for outcome in outcomes}
    right = right_operators(outcomes)
    own = right_operators([outcome for outcome in outcomes if outcome.wrapper != "common"])
    console.print(f"{len(outcomes)} calls:", ", ".join(f"{n} {s}" for s, n in totals.most_common()))
    console.print(
        f"{len(operators)} operators, {len(right)} of them right in every call; "
        f"{len(right - own)} of these only by the common wrapper"
    )


def right_operators(outcomes: list[Outcome]) -> set[str]:
    """Operators with no call that is not right, by the Ascend or else the common wrapper."""
    right: dict[tuple[str, str], bool] = {}
    for outcome in outcomes:
        call = (outcome.name, outcome.dtype)
        right[call] = right.get(call, False) or outcome.status == "right"
    failed = {name.split(" ")[0] for (name, _), good in right.items() if not good}
    wrong = {outcome.operator for outcome in outcomes if outcome.status == "wrong"}
    return {outcome.operator for outcome in outcomes} - failed - wrong


def by_family(outcomes: list[Outcome]) -> Any:
    """A table: operators and calls of each family, and how many of each are right."""
    from rich.table import Table

    table = Table("family", "operators", "right", "calls", *STATUSES)
    for family in dict.fromkeys(outcome.family for outcome in outcomes):
        inside = [outcome for outcome in outcomes if outcome.family == family]
        counts = Counter(outcome.status for outcome in inside)
        operators, right = {outcome.operator for outcome in inside}, right_operators(inside)
        numbers = [len(operators), len(right), len(inside), *(counts[name] for name in STATUSES)]
        table.add_row(family, *map(str, numbers))
    return table


def versions() -> dict[str, str]:
    """What the outcomes depend on."""
    import flag_gems
    import torch
    import triton

    from flagc.targets.ascend import toolchain

    own = {"flag_gems": flag_gems.__version__, "triton": triton.__version__}
    return {**own, "torch": torch.__version__, **toolchain.versions()}


def write(path: Path, outcomes: list[Outcome]) -> None:
    """Write versions and outcomes, one line a call."""
    short = ({**asdict(entry), "seconds": round(entry.seconds, 1)} for entry in outcomes)
    lines = ",\n  ".join(json.dumps(entry) for entry in short)
    today = datetime.now(timezone.utc).date().isoformat()
    head = f'"date": "{today}",\n "versions": {json.dumps(versions())}'
    path.write_text(f'{{{head},\n "outcomes": [\n  {lines}\n ]}}\n')
