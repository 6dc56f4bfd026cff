"""Does some test catch each wrong reading of an operand? Runs the mutations of catalogue.toml.

    python tools/aicore/mutations/run.py [--quick] [--only TEXT] [--file FILE ...] [--build FOLDER]

Each mutation changes one place of the emulator's C++ in a copy, rebuilds what depends on it, and
runs the emulator's tests until the first fails: the tests of single instructions, and if they pass
all of test/unit/aicore. Exit status 1 when a mutation survives or does not build, 2 when there is
no build to start from or the tests fail without a mutation.
"""

from __future__ import annotations

import argparse
import importlib.util
import multiprocessing
import os
import re
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path[:0] = [str(Path(__file__).resolve().parent), str(ROOT / "python")]

import pytest  # noqa: E402
from building import BuildProblem, Scratch  # noqa: E402
from catalogue import Mutation, load  # noqa: E402
from rich.console import Console  # noqa: E402
from rich.progress import Progress  # noqa: E402
from rich.table import Table  # noqa: E402

import flagc.aicore.runner  # noqa: E402
import flagc.targets.ascend.llvm_stage  # noqa: E402, F401

_NATIVE = "flagc.aicore._aicore"
TESTS = ROOT / "test" / "unit" / "aicore"
# Tests without a kernel to compile: a few seconds together.
FAST = [
    "test_instructions.py",
    "test_vector_modes.py",
    "test_vector_moves.py",
    "test_reductions.py",
    "test_rearranging.py",
    "test_mad.py",
    "test_fixpipe.py",
    "test_cube_moves.py",
    "test_sort.py",
    "test_cross_core.py",
    "test_faults.py",
]
# Those that look most closely at a file come first.
FIRST = {
    "control.cpp": "test_faults.py",
    "cube_move.cpp": "test_cube_moves.py",
    "fixpipe.cpp": "test_fixpipe.py",
    "mad.cpp": "test_mad.py",
    "vector_arithmetic.cpp": "test_vector_modes.py",
    "vector_move.cpp": "test_vector_moves.py",
    "vector_rearrange.cpp": "test_rearranging.py",
    "group.cpp": "test_cross_core.py",
    "atomic_store.cpp": "test_vector_moves.py",
    "vector_access.h": "test_vector_moves.py",
    "vector_compare.cpp": "test_reductions.py",
    "vector_reduce.cpp": "test_reductions.py",
    "vector_sort.cpp": "test_sort.py",
}
SEED = "1"  # the same random inputs for every mutation
LIMIT_S = 600
_FAILED = re.compile(r"^(?:FAILED|ERROR) \S*?(test_\w+\.py\S*)", re.MULTILINE)


@dataclass(frozen=True)
class Verdict:
    """`result`: caught, survived or does not build; `by`: the test that failed, or the reason."""

    mutation: Mutation
    result: str
    by: str
    seconds: float


def _run_tests(module: str, arguments: list[str], log: str) -> None:
    """In a process of its own: pytest with the emulator at `module`, its output in `log`."""
    spec = importlib.util.spec_from_file_location(_NATIVE, module)
    assert spec is not None
    assert spec.loader is not None
    sys.modules[_NATIVE] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(sys.modules[_NATIVE])
    with open(log, "w") as stream:
        os.dup2(stream.fileno(), 1)
        os.dup2(stream.fileno(), 2)
        os._exit(int(pytest.main(arguments)))


def first_failure(module: Path, file: str = "", *, thorough: bool) -> str | None:
    """The first test that fails with the emulator at `module`, in which `file` differs, or None.

    Tests run in forks of this process, which has imported what they need but not the emulator.
    """
    fast = sorted(FAST, key=lambda name: name != FIRST.get(file))
    stages = [[str(TESTS / name) for name in fast]]
    if thorough:
        mine = [f"--ignore={TESTS / name}" for name in (*FAST, "test_mutations.py")]
        stages.append([str(TESTS), *mine])
    log = module.with_suffix(".log")
    for stage in stages:
        options = ["-x", "-q", "--tb=no", "-p", "no:cacheprovider", "--seed", SEED, *stage]
        child = multiprocessing.get_context("fork").Process(
            target=_run_tests, args=(str(module), options, str(log))
        )
        child.start()
        child.join(LIMIT_S)
        if child.exitcode is None:
            child.kill()
            child.join()
            return f"no end within {LIMIT_S} s"
        if child.exitcode != 0:
            found = _FAILED.search(log.read_text())
            return found[1] if found else f"exit status {child.exitcode}"
    return None


def judge(scratch: Scratch, mutation: Mutation, jobs: int, *, thorough: bool = True) -> Verdict:
    """Build `mutation` and run the tests on it."""
    start = time.monotonic()
    try:
        text = mutation.apply(scratch.sources[mutation.file])
        module = scratch.module(mutation.file, text, jobs)
    except (BuildProblem, ValueError) as problem:
        return Verdict(mutation, "does not build", str(problem), time.monotonic() - start)
    failure = first_failure(module, mutation.file, thorough=thorough)
    result = "survived" if failure is None else "caught"
    return Verdict(mutation, result, failure or "", time.monotonic() - start)


def default_build() -> Path:
    """The folder in which this interpreter's module was built."""
    tag = f"cp{sys.version_info.major}{sys.version_info.minor}"
    found = sorted((ROOT / "build").glob(f"{tag}-*"))
    if not found:
        raise BuildProblem(f"{ROOT / 'build'} has no build for {tag}: tools/aicore/README.md")
    return found[0]


def report(console: Console, verdicts: list[Verdict]) -> None:
    """A row for each mutation, survivors last."""
    table = Table("mutation", "file", "field", "result", "by", "s")
    for verdict in sorted(verdicts, key=lambda verdict: verdict.result != "caught"):
        style = "" if verdict.result == "caught" else "bold red"
        mutation = verdict.mutation
        table.add_row(
            mutation.name, mutation.file, mutation.field, verdict.result, verdict.by,
            f"{verdict.seconds:.0f}", style=style,
        )  # fmt: skip
    console.print(table)
    caught = sum(verdict.result == "caught" for verdict in verdicts)
    console.print(f"{caught} of {len(verdicts)} mutations caught")


def main() -> int:
    """Exit status; see the module."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--only", default="", help="mutations whose name contains this")
    parser.add_argument("--file", nargs="+", help="mutations of these files")
    parser.add_argument(
        "--quick", action="store_true", help="only the tests of single instructions"
    )
    parser.add_argument("--build", type=Path, help="build folder (default: that of this Python)")
    parser.add_argument("--jobs", type=int, default=2, help="compilers at a time")
    options = parser.parse_args()
    chosen = [
        mutation
        for mutation in load()
        if options.only in mutation.name and (not options.file or mutation.file in options.file)
    ]
    console = Console()
    with tempfile.TemporaryDirectory(prefix="flagc-mutations-") as folder:
        try:
            scratch = Scratch(options.build or default_build(), Path(folder))
            same = scratch.module(
                "half_arrays.cpp", scratch.sources["half_arrays.cpp"], options.jobs
            )
        except BuildProblem as problem:
            console.print(f"error: {problem}")
            return 2
        if failure := first_failure(same, thorough=False):
            console.print(f"error: {failure} fails without a mutation")
            return 2
        verdicts = []
        with Progress(console=console, auto_refresh=False) as progress:
            task = progress.add_task("mutations", total=len(chosen))
            for mutation in chosen:
                progress.update(task, description=mutation.name, refresh=True)
                verdicts.append(judge(scratch, mutation, options.jobs, thorough=not options.quick))
                last = verdicts[-1]
                if last.result != "caught" or not console.is_terminal:
                    progress.console.print(f"{last.result}: {mutation.name} {last.by}")
                progress.advance(task)
    report(console, verdicts)
    return int(any(verdict.result != "caught" for verdict in verdicts))


if __name__ == "__main__":
    sys.exit(main())
