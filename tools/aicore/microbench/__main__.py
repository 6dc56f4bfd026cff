"""`python tools/aicore/microbench measure|compare`; README.md says how."""

from __future__ import annotations

import statistics
import sys
from pathlib import Path

import click

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parents[2] / "python"), str(HERE)]


@click.group()
def main() -> None:
    """Measure kernels on an NPU, and compare what the timing model says."""


@main.command()
@click.option("-o", "output", type=click.Path(path_type=Path), required=True)
@click.option("--chip", required=True, help="e.g. 910B3")
@click.option("--clock", type=float, required=True, help="MHz (npu-smi info -t common)")
@click.option("--group", "groups", multiple=True, help="vector, rows, copies, gemm; default: all")
def measure(output: Path, chip: str, clock: float, groups: tuple[str, ...]) -> None:
    """Measure on the NPU of this machine."""
    from measure import measure as run

    run(output, chip, clock, groups)


@main.command()
@click.argument("path", type=click.Path(path_type=Path, exists=True))
def compare(path: Path) -> None:
    """Compare the rows in PATH with the timing model."""
    from predict import compare as run
    from rows import read_rows

    errors = []
    for row, timing in run(read_rows(path)):
        error = timing.microseconds / row.microseconds - 1
        errors.append(abs(error))
        click.echo(
            f"{row.group:8} {row.name:48} {row.microseconds:10.2f} us "
            f"{timing.microseconds:10.2f} us {error:+.0%}"
        )
    click.echo(f"median error {statistics.median(errors):.1%} of {len(errors)} rows")


if __name__ == "__main__":
    main()
