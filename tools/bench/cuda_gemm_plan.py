"""The rows and variants of cuda_gemm.toml, compiled ahead in parallel without a GPU."""

from __future__ import annotations

import multiprocessing
import sys
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cuda_gemm_problems import Problem, Tile
from flagc.errors import FlagcError
from flagc.frontend.execution import Argument, runtime_arguments, units_of
from flagc.frontend.launch import Launch
from flagc.frontend.recorder import LaunchRecorder, recording
from flagc.ir.follow_up import Merged
from flagc.pipeline.compiler import CompileRequest, CompileResult, cached_result, compile_kernel
from flagc.pipeline.defaults import build_pipeline
from flagc.pipeline.pipeline_text import PlacedPass
from flagc.targets.registry import target_by_name

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

TABLE = Path(__file__).with_suffix("").with_name("cuda_gemm.toml")


_MATRIX = 2  # gemm_kernel's c_ptr


@dataclass(frozen=True)
class Variant:
    """A pass pipeline with launch options; None leaves an option as the script has it."""

    name: str
    passes: str = ""
    num_warps: int | None = None
    num_stages: int | None = None
    tile: Tile | None = None

    @property
    def options(self) -> dict[str, int]:
        """Compile options that replace the launch's own."""
        given = {"num_warps": self.num_warps, "num_stages": self.num_stages}
        return {name: value for name, value in given.items() if value is not None}


UNPASSED = Variant("unpassed")


@dataclass(frozen=True)
class Row:
    """One problem with what is tried on it, and its bar."""

    group: str
    problem: Problem
    variants: tuple[Variant, ...]
    bar: float
    against_unpassed: bool
    neighbour: tuple[int, ...] | None


def read_rows(table: Path) -> list[Row]:
    """Return the rows of a table such as cuda_gemm.toml, in its order."""
    document = tomllib.loads(table.read_text())
    variants = {
        name: Variant(
            name,
            entry["passes"],
            entry.get("num_warps"),
            entry.get("num_stages"),
            tuple(entry["tile"]) if "tile" in entry else None,  # type: ignore[arg-type]
        )
        for name, entry in document["variants"].items()
    }
    rows = []
    for group in document["groups"]:
        neighbours = group.get("neighbours", [None] * len(group["sizes"]))
        for sizes, neighbour in zip(group["sizes"], neighbours, strict=True):
            rows += [
                Row(
                    group["name"],
                    Problem(group["family"], tuple(sizes), dtype),
                    tuple(variants[name] for name in group["variants"]),
                    group["bar"],
                    group.get("against") == "unpassed",
                    tuple(neighbour) if neighbour else None,
                )
                for dtype in group["dtypes"]
            ]
    return rows


def recorded(
    target: Any,
    problem: Problem,
    variant: Variant,
    values: Mapping[str, Any],
    passes: Sequence[PlacedPass],
) -> tuple[Launch, tuple[int, int, int], list[Argument]]:
    """Return the launch that a script would make with `values`, its grid and its arguments.

    Two kernels are one launch, whether or not `passes` merge them.
    """
    grid, constants = problem.grid_and_constants(variant.tile)
    recorder = LaunchRecorder(target, passes=passes, merge=lambda _: Merged(_MATRIX, False))
    with recording(recorder):
        problem.launch(grid, values, constants)
    (launch,) = recorder.launches
    everything = {**values, **constants}
    arguments = runtime_arguments(launch, [everything[n] for n in problem.kernel.arg_names])
    return launch, launch.grids[0], arguments


def compiled(request: CompileRequest) -> CompileResult:
    """Return the result from flagc's cache, else compile in this process."""
    return cached_result(request) or compile_kernel(request)


def compile_one(target_name: str, problem: Problem, variant: Variant) -> str:
    """Compile one variant on tensors without contents; return what is wrong, or ''."""
    try:
        target = target_by_name(target_name)
        passes = build_pipeline(target, variant.passes, (), ())
        launch, _, _ = recorded(target, problem, variant, problem.values("cpu"), passes)
        for unit in units_of(launch, passes):
            options = {**unit.options, **variant.options}
            compiled(CompileRequest(unit.source, target, options, passes))
    except FlagcError as error:
        return str(error).splitlines()[0]
    except Exception as error:  # a pass or Triton failed in a way of its own: the row goes on
        return f"{type(error).__name__}: {error}".splitlines()[0]
    return ""


def compile_all(
    target_name: str, rows: Iterable[Row], workers: int
) -> dict[tuple[Problem, str], str]:
    """Compile every variant of every row in `workers` processes; return what is wrong with each.

    Results are in flagc's cache afterwards. Must run before CUDA is used: the workers are forks.
    """
    jobs = [(row.problem, variant) for row in rows for variant in (UNPASSED, *row.variants)]
    wrong = _compile_in_pool(target_name, jobs, workers)
    crashed = [job for job in jobs if (job[0], job[1].name) not in wrong]
    for job in crashed:  # a worker died, and others with it: one at a time
        alone = _compile_in_pool(target_name, [job], 1)
        wrong[job[0], job[1].name] = alone.get((job[0], job[1].name), "the compiler crashed")
    return wrong


def _compile_in_pool(
    target_name: str, jobs: Sequence[tuple[Problem, Variant]], workers: int
) -> dict[tuple[Problem, str], str]:
    context = multiprocessing.get_context("fork")
    found: dict[tuple[Problem, str], str] = {}
    with ProcessPoolExecutor(workers, mp_context=context) as pool:
        futures: list[tuple[tuple[Problem, Variant], Future[str]]] = [
            (job, pool.submit(compile_one, target_name, *job)) for job in jobs
        ]
        for (problem, variant), future in futures:
            try:
                found[problem, variant.name] = future.result()
            except BrokenProcessPool:
                continue
    return found
