"""How much of a corpus of TTIR kernels flagc takes to the end of the Ascend chain.

    python tools/bench/corpus/capture.py --out OUT  # once: record FlagGems' kernels
    python tools/bench/coverage.py OUT [--bare] [--stage final] [--json FILE]

Prints the rate, and the refusals by class with an example of each. `--bare` leaves out flagc's own
passes, which is the vendor's chain alone. A refusal counts as explained when its message names a
place in the kernel's source (or its op) and what is wrong.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import time
from collections import Counter
from dataclasses import asdict, dataclass
from pathlib import Path

from rich.console import Console
from rich.progress import track
from rich.table import Table

from flagc.cli.common import compile_isolated
from flagc.errors import FlagcError
from flagc.frontend.ir_files import read_ir_file
from flagc.pipeline.compiler import CompileRequest
from flagc.pipeline.defaults import build_pipeline
from flagc.targets.registry import target_by_name

# A source place in a message: `kernel.py:14` or an op's name in quotes.
_PLACE = re.compile(r"\.(py|ttir|mlir):\d+|'[\w.]+'")


@dataclass
class Outcome:
    """What became of one kernel; `message` is empty when it was taken."""

    kernel: str
    seconds: float
    message: str = ""

    @property
    def taken(self) -> bool:
        """Whether the chain took the kernel to the wanted stage."""
        return not self.message

    @property
    def explained(self) -> bool:
        """Whether the refusal names a place or an op."""
        return bool(_PLACE.search(self.message))

    @property
    def failure_class(self) -> str:
        """The message without places, names and numbers, cut to its first words."""
        first = self.message.splitlines()[0].split("error:", 1)[-1]
        first = re.sub(r"'[^']*'|\S*\.(py|ttir|mlir)\S*|\d+", "_", first)
        return " ".join(first.split()[:7])


def compile_one(path: Path, *, bare: bool, passes: str, stage: str, time_limit: float) -> Outcome:
    """Compile one TTIR file up to `stage`, with `passes` before the default ones."""
    target = target_by_name("ascend:910B3", "vendor")
    placed = [] if bare else build_pipeline(target, passes, [], [])
    started = time.perf_counter()
    message = ""
    try:
        source = read_ir_file(path, target)
        request = CompileRequest(source, target, {}, placed, stop_after=stage)
        compile_isolated(request, time_limit=time_limit, use_cache=False)
    except FlagcError as error:
        message = str(error)
    return Outcome(path.name, time.perf_counter() - started, message)


def corpus_files(folder: Path) -> list[Path]:
    """Return the corpus's kernels, without the variants of the smallest autotune config."""
    return sorted(p for p in folder.rglob("*.ttir") if not p.name.endswith(".small.ttir"))


def report(outcomes: list[Outcome], what: str) -> None:
    """Print the rate, the classes of refusals, and how many of them are explained."""
    console = Console(width=160)
    refused = [outcome for outcome in outcomes if not outcome.taken]
    table = Table(title=f"refusals by class, {what}")
    for column in ("kernels", "class", "example"):
        table.add_column(column, overflow="fold")
    examples = {outcome.failure_class: outcome for outcome in reversed(refused)}
    for name, count in Counter(outcome.failure_class for outcome in refused).most_common():
        example = examples[name]
        table.add_row(str(count), name, f"{example.kernel}: {example.message.splitlines()[0]}")
    console.print(table)
    explained = sum(outcome.explained for outcome in refused)
    taken = len(outcomes) - len(refused)
    console.print(
        f"{what}: {taken} of {len(outcomes)} kernels taken, {taken / len(outcomes):.1%}; "
        f"{explained} of {len(refused)} refusals name a place or an op"
    )


def main() -> int:
    """Run the corpus; exit status 1 when nothing was found to run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--bare", action="store_true", help="the vendor's chain alone")
    parser.add_argument("--passes", default="", help="passes before the default ones")
    parser.add_argument("--stage", default="final")
    parser.add_argument("--every", type=int, default=1, help="take every n-th kernel only")
    parser.add_argument("--time-limit", type=float, default=90.0)
    parser.add_argument("--json", type=Path, help="write every outcome to this file")
    given = parser.parse_args()
    files = corpus_files(given.folder)[:: given.every]
    if not files:
        print(f"no .ttir files below {given.folder}", file=sys.stderr)
        return 1
    outcomes = [
        compile_one(
            path,
            bare=given.bare,
            passes=given.passes,
            stage=given.stage,
            time_limit=given.time_limit,
        )
        for path in track(files, "compiling", console=Console(stderr=True))
    ]
    report(outcomes, "bare vendor chain" if given.bare else "flagc")
    if given.json is not None:
        given.json.write_text(json.dumps([asdict(outcome) for outcome in outcomes], indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
