"""Run rows of cuda_gemm.py in a child process, so that a kernel that faults or hangs costs a row's
variant and not the run.

A fault leaves a CUDA context that nothing can run in any more. The child says what it tries before
it tries it; when it dies, or says nothing for too long, the parent starts another one, which leaves
the culprit out. The parent never touches CUDA.
"""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from typing import Any

import torch

from cuda_gemm_plan import UNPASSED, Row, Variant, compiled, recorded
from cuda_gemm_problems import DTYPES, Problem
from flagc.bench.executor import sets_needed, verdict
from flagc.bench.outcome import Peak
from flagc.bench.timing import Call, Timing, measure, ratio
from flagc.check.executor import with_values
from flagc.check.snapshot import snapshot
from flagc.errors import FlagcError
from flagc.pipeline.defaults import build_pipeline
from flagc.targets.cuda.executor import CudaExecutor

# What is wrong with variants, by problem and variant name; '' is nothing.
Wrong = dict[tuple[Problem, str], str]

# A child that is silent for so many seconds hangs: the longest row takes a few.
SILENCE = 60.0
_TIMING = "timing"


@dataclass
class Measured:
    """One row's timings by candidate, and its results ('right', or what is wrong)."""

    row: Row
    timings: dict[str, Timing]
    results: dict[str, str]
    peak: Peak
    machine: dict[str, str]
    skipped: dict[str, str] = field(default_factory=dict)

    @property
    def reference(self) -> str:
        """The candidate that the bar is about."""
        return UNPASSED.name if self.row.against_unpassed else self.row.problem.baseline_name

    def speedup(self, name: str, over: str) -> tuple[float, float, float]:
        """Return how much faster `name` is than `over`: median over rounds, quartiles."""
        return ratio(self.timings, name, over)

    def tflops(self, name: str) -> float:
        """Return TFLOP/s by the median."""
        return self.row.problem.flops / self.timings[name].median * 1e-12

    @property
    def best(self) -> str | None:
        """The fastest variant with right results."""
        names = [variant.name for variant in self.row.variants]
        right = [n for n in names if self.results.get(n) == "right"]
        return min(right, key=lambda n: self.timings[n].median, default=None)

    def describe(self) -> dict[str, Any]:
        """Return the row as plain data."""
        problem = self.row.problem
        return {
            "row": problem.name,
            "group": self.row.group,
            "sizes": list(problem.sizes),
            "dtype": problem.dtype,
            "flops": problem.flops,
            "bytes": problem.bytes,
            "bar": self.row.bar,
            "against": self.reference,
            "best": self.best,
            "skipped": self.skipped,
            "peak": {"flops": self.peak.flops, "bytes": self.peak.bytes},
            "candidates": {
                name: {
                    **timing.describe(),
                    "result": self.results[name],
                    "tflops": self.tflops(name),
                    "faster_than_library": self._faster(name, problem.baseline_name),
                    "faster_than_unpassed": self._faster(name, UNPASSED.name),
                }
                for name, timing in self.timings.items()
            },
        }

    def _faster(self, name: str, over: str) -> list[float] | None:
        return list(self.speedup(name, over)) if over in self.timings else None


@dataclass(frozen=True)
class Failed:
    """A row of which nothing was measured."""

    row: Row
    why: str


def run_rows(
    rows: list[Row],
    wrong: Wrong,
    target: Any,
    make_device: Callable[[], Any],
    seconds: float,
    silence: float = SILENCE,
) -> Iterator[Measured | Failed]:
    """Yield what each row gave, in order; `wrong` grows by variants that fault or hang."""
    context = multiprocessing.get_context("fork")
    at = 0
    while at < len(rows):
        receiver, sender = context.Pipe(duplex=False)
        child = context.Process(
            target=_serve, args=(sender, rows[at:], wrong, target, make_device, seconds)
        )
        child.start()
        sender.close()
        tried, ended = "", ""
        try:
            while at < len(rows):
                if not receiver.poll(silence):
                    ended = f"did not finish within {silence:g} s"
                    break
                kind, said = receiver.recv()
                if kind == "trying":
                    tried = said
                else:
                    tried = ""
                    at += 1
                    yield said
        except EOFError:
            ended = "faulted on the GPU"
        finally:
            receiver.close()
            child.kill()
            child.join()
        if at == len(rows):
            return
        row = rows[at]
        if tried and tried != _TIMING and tried in {v.name for v in row.variants}:
            wrong[row.problem, tried] = ended
        else:
            yield Failed(row, f"{tried or 'starting'} {ended}")
            at += 1


def _serve(
    sender: Connection,
    rows: list[Row],
    wrong: Wrong,
    target: Any,
    make_device: Callable[[], Any],
    seconds: float,
) -> None:
    """Be the child: measure rows until one faults."""

    def trying(name: str) -> None:
        sender.send(("trying", name))

    # A forked process has lost the threads of OpenMP's pool, and would wait for them on the CPU.
    torch.set_num_threads(1)
    device = make_device()
    for row in rows:
        names = [UNPASSED.name, *(variant.name for variant in row.variants)]
        skipped = {name: text for name in names if (text := wrong[row.problem, name])}
        try:
            measured = measure_row(row, target, device, skipped, seconds, trying)
        except FlagcError as error:
            if _is_lost(device):
                return  # the parent knows what was tried
            sender.send(("row", Failed(row, str(error))))
        except torch.OutOfMemoryError as error:
            sender.send(("row", Failed(row, str(error).splitlines()[0])))
        else:
            sender.send(("row", measured))
        torch.cuda.empty_cache()


def _is_lost(device: Any) -> bool:
    """Tell whether an earlier fault has left a device on which nothing runs any more."""
    try:
        device.wait()
    except FlagcError:
        return True
    return False


def measure_row(
    row: Row,
    target: Any,
    device: Any,
    skipped: dict[str, str],
    seconds: float,
    trying: Callable[[str], None],
) -> Measured:
    """Check and time one row; variants in `skipped` (by name) are left out, and others added.

    Raises:
        KernelError: the device is lost.
    """
    problem = row.problem
    values = problem.values("cuda")
    before = snapshot(values)
    expected = problem.expected(values)
    results: dict[str, str] = {}
    makers: dict[str, Any] = {}
    for variant in (UNPASSED, *row.variants):
        if variant.name in skipped:
            continue
        trying(variant.name)
        try:
            maker = launching(target, row, variant, values)
            copy = before.values()
            maker(copy)()
        except FlagcError as error:
            skipped[variant.name] = str(error).splitlines()[0]
            continue
        finally:
            device.wait()
        makers[variant.name] = maker
        results[variant.name] = verdict(copy, expected, problem.tolerance)
    trying(problem.baseline_name)
    library = before.values()
    returned = problem.baseline(library) or {}
    device.wait()
    results[problem.baseline_name] = verdict({**library, **returned}, expected, problem.tolerance)
    makers[problem.baseline_name] = lambda copy: lambda: problem.baseline(copy)
    del library, returned, expected
    trying(_TIMING)
    copies = [before.values() for _ in range(sets_needed(device, before.bytes))]
    calls = {name: [maker(copy) for copy in copies] for name, maker in makers.items()}
    timings = measure(device, calls, seconds)
    peak = device.peak(DTYPES[problem.dtype])
    return Measured(row, timings, results, peak, device.describe(), skipped)


def launching(target: Any, row: Row, variant: Variant, values: Mapping[str, Any]) -> Any:
    """Return what makes a call of the compiled variant from a copy of `values`."""
    passes = build_pipeline(target, variant.passes, (), ())
    executor = CudaExecutor(target, passes, compiled, variant.options)
    launch, grid, arguments = recorded(target, row.problem, variant, values, passes)

    def make(copy: Mapping[str, Any]) -> Call:
        return executor.call(launch, grid, with_values(arguments, copy))

    return make
