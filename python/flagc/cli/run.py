"""`flagc-run`: run an unmodified Triton or PyTorch program with passes in its compilations."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

import click

import flagc
from flagc.cli.common import run_command
from flagc.errors import EXIT_GOOD, UsageError
from flagc.pipeline.diagnostics import Findings
from flagc.report import terminal


class _Counter:
    """Prints what passes say, and counts the kernels they ran on."""

    def __init__(self) -> None:
        self.kernels: set[str] = set()
        self.statistics: dict[str, int] = {}

    def __call__(self, findings: Findings, kernel: str) -> None:
        from flagc.jit import print_findings

        self.kernels.add(kernel)
        for key, count in findings.statistics.items():
            self.statistics[key] = self.statistics.get(key, 0) + count
        print_findings(findings, kernel)


@click.command(
    context_settings={
        "help_option_names": ["-h", "--help"],
        "allow_interspersed_args": False,
    }
)
@click.option("--passes", required=True, metavar="PIPELINE", help="Passes to run.")
@click.option("--load", multiple=True, metavar="FILE.py", help="Python file that defines passes.")
@click.option("-m", "as_module", is_flag=True, help="PROGRAM is a module's name, as in python -m.")
@click.argument("program")
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
@click.version_option(flagc.__version__, prog_name="flagc-run")
def command(
    passes: str, load: tuple[str, ...], as_module: bool, program: str, arguments: tuple[str, ...]
) -> int:
    """Run PROGRAM with ARGUMENTS; PASSES run in every Triton compilation it makes.

    The program runs in this process and on the real device. Kernels that PyTorch's Inductor
    generates are included. Processes that the program starts are not.
    """
    from flagc.jit import install

    if not as_module and not Path(program).is_file():
        raise UsageError(f"no such file: {program}")
    counter = _Counter()
    install(passes, load, counter)
    saved_arguments = sys.argv
    sys.argv = [program, *arguments]
    try:
        if as_module:
            sys.path.insert(0, "")
            runpy.run_module(program, run_name="__main__", alter_sys=True)
        else:
            sys.path.insert(0, str(Path(program).resolve().parent))
            runpy.run_path(program, run_name="__main__")
    finally:
        sys.argv = saved_arguments
        _summary(counter)
    return EXIT_GOOD


def _summary(counter: _Counter) -> None:
    console = terminal.err()
    if not counter.kernels:
        console.print(
            "flagc-run: the passes ran on no kernel: nothing was compiled, or every kernel came "
            "from Triton's cache of an earlier run with the same passes",
            style="yellow",
        )
        return
    names = ", ".join(sorted(counter.kernels))
    console.print(
        f"flagc-run: the passes ran on {len(counter.kernels)} kernels: {names}", markup=False
    )
    if counter.statistics:
        terminal.print_statistics(counter.statistics, console)


def main() -> None:
    """Entry point of the console script `flagc-run`."""
    run_command(command)
