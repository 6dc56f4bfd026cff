"""The rows of ascend_gemm.toml, and the times of their variants on the timing model."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import torch

from ascend_gemm_library import SHIPPED, time_product
from cuda_gemm_plan import Variant, compiled, recorded
from cuda_gemm_problems import Problem, Tile
from flagc.aicore.timing.model import Timing
from flagc.bench.executor import verdict
from flagc.errors import FlagcError
from flagc.pipeline.defaults import build_pipeline
from flagc.targets.ascend.chips import chip as chip_named
from flagc.targets.ascend.target import AscendTarget

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

TABLE = Path(__file__).with_name("ascend_gemm.toml")
# A variant is right if its products of these sizes are: one of whole tiles, one of ends of tiles.
CHECKED = ((256, 512, 256), (200, 300, 133))
# A cube core multiplies 16x16 by 16x16 elements of 16 bits in a cycle (asc-devkit, cube instruction
# performance, NPU architecture 2201).
_FRACTAL = 16


@dataclass(frozen=True)
class AscendVariant(Variant):
    """A variant with the lowering that it is compiled by."""

    pipeline: str = "vendor"


@dataclass(frozen=True)
class Missing:
    """Why there is no time."""

    why: str


Found = Timing | Missing


@dataclass(frozen=True)
class Published:
    """A duration that others measured."""

    sizes: tuple[int, ...]
    dtype: str
    chip: str
    microseconds: float
    what: str
    source: str


@dataclass(frozen=True)
class Case:
    """One row: a product on a chip, and what is tried on it."""

    group: str
    chip: str
    problem: Problem
    vendor_tuned: tuple[AscendVariant, ...]
    tuned: tuple[AscendVariant, ...]
    library_tiles: tuple[Tile, ...]
    vendor: AscendVariant
    flagc: AscendVariant
    published: tuple[Published, ...]

    @property
    def steps(self) -> int:
        """How many candidates there are to time."""
        return 2 + len(self.vendor_tuned) + len(self.tuned) + 1 + len(self.library_tiles)

    @property
    def limit_cycles(self) -> float:
        """The cycles that all cube cores of the chip need for the products alone."""
        m, n, k = (-(-size // _FRACTAL) for size in self.problem.sizes)
        return m * n * k / chip_named(self.chip).cube_cores

    @property
    def limit_microseconds(self) -> float:
        """The same as time at the chip's clock."""
        clock = chip_named(self.chip).clock_mhz
        assert clock is not None, "chips without a clock are not timed"
        return self.limit_cycles / clock


@dataclass
class Measured:
    """What was found for a case: candidates by column and name."""

    case: Case
    columns: dict[str, dict[str, Found]] = field(default_factory=dict)

    def best(self, column: str) -> tuple[str, Timing] | None:
        """Return the fastest of a column, if any of it has a time."""
        timings = {
            name: found for name, found in self.columns[column].items() if isinstance(found, Timing)
        }
        if not timings:
            return None
        name = min(timings, key=lambda name: timings[name].microseconds)
        return name, timings[name]

    def missing(self) -> Iterator[tuple[str, str, str]]:
        """Return column, name and reason of what has no time."""
        for column, candidates in self.columns.items():
            for name, found in candidates.items():
                if isinstance(found, Missing):
                    yield column, name, found.why

    def ratio(self, column: str, over: str) -> float | None:
        """Return how many times faster the best of `column` is than the best of `over`."""
        ours, theirs = self.best(column), self.best(over)
        if ours is None or theirs is None:
            return None
        return theirs[1].microseconds / ours[1].microseconds

    def share(self, column: str) -> float | None:
        """Return the Cube's limit as a share of the best of `column`, launch and all."""
        found = self.best(column)
        return None if found is None else self.case.limit_cycles / found[1].cycles

    def describe(self) -> dict[str, Any]:
        """Return the row as plain data."""
        return {
            "chip": self.case.chip,
            "sizes": list(self.case.problem.sizes),
            "dtype": self.case.problem.dtype,
            "limit_cycles": self.case.limit_cycles,
            "columns": {
                column: {name: _plain(found) for name, found in candidates.items()}
                for column, candidates in self.columns.items()
            },
            "best": {c: found[0] for c in self.columns if (found := self.best(c)) is not None},
            "d_over_a": self.ratio("d", "a"),
            "d_over_b": self.ratio("d", "b"),
            "d_over_best_b": self.ratio("d", "b*"),
            "share_of_cube_limit": {column: self.share(column) for column in self.columns},
            "published": [vars(entry) for entry in self.case.published],
        }


def _plain(found: Found) -> dict[str, Any]:
    """Return what is needed to compare; `flagc --bench` tells how busy each pipe was."""
    if isinstance(found, Missing):
        return {"missing": found.why}
    kept = ("cycles", "microseconds", "blocks", "cores", "critical_pipe", "l2_hit_share")
    return {name: value for name, value in found.describe().items() if name in kept}


def read_cases(table: Path) -> list[Case]:
    """Return the rows of a table such as ascend_gemm.toml, chip by chip."""
    document = tomllib.loads(table.read_text())
    variants = {
        name: AscendVariant(
            name,
            entry.get("passes", ""),
            num_stages=entry.get("num_stages"),
            tile=tuple(entry["tile"]) if "tile" in entry else None,  # type: ignore[arg-type]
            pipeline=entry["pipeline"],
        )
        for name, entry in document["variants"].items()
    }
    published = [
        Published(**{**entry, "sizes": tuple(entry["sizes"])}) for entry in document["published"]
    ]
    return [
        Case(
            group["name"],
            chip,
            Problem("gemm", tuple(sizes), dtype),
            tuple(variants[name] for name in group["vendor_tuned"]),
            tuple(variants[name] for name in group["tuned"]),
            tuple(tuple(tile) for tile in document["library_tiles"]),
            variants["vendor"],
            variants["flagc"],
            tuple(p for p in published if (p.sizes, p.dtype) == (tuple(sizes), dtype)),
        )
        for chip in document["chips"]
        for dtype in document["dtypes"]
        for group in document["groups"]
        for sizes in group["sizes"]
    ]


def measure(case: Case, done: Callable[[], None]) -> Measured:
    """Time the candidates of a case one after the other; calls `done` after each."""
    measured = Measured(case, {column: {} for column in ("a", "a*", "b", "b*", "c", "d")})
    columns = measured.columns
    for column, variants in (
        ("a", (case.vendor,)),
        ("a*", case.vendor_tuned),
        ("c", (case.flagc,)),
        ("d", case.tuned),
    ):
        for variant in variants:
            columns[column][variant.name] = time_variant(case, variant)
            done()
    columns["a*"] |= columns["a"]
    columns["d"] |= columns["c"]
    for tile in (SHIPPED, *case.library_tiles):
        found = _time_library(case, tile)
        columns["b*"]["x".join(map(str, tile))] = found
        if tile == SHIPPED:
            columns["b"]["the library's"] = found
        done()
    return measured


def time_variant(case: Case, variant: AscendVariant) -> Found:
    """Time one variant, after its results are seen to be right on small products."""
    wrong = what_is_wrong(case.chip, case.problem.dtype, variant)
    if wrong:
        return Missing(wrong)
    try:
        return _executed(case.chip, variant, case.problem, run=False)
    except FlagcError as error:
        return Missing(_reason(error))


@cache
def what_is_wrong(chip: str, dtype: str, variant: AscendVariant) -> str:
    """Run a variant on small products; return what is wrong with it, or ''."""
    for sizes in CHECKED:
        problem = Problem("gemm", sizes, dtype)
        values = arguments(problem)
        for name in ("a_ptr", "b_ptr"):
            values[name].normal_()
        values["c_ptr"].fill_(float("nan"))
        try:
            _executed(chip, variant, problem, run=True, values=values)
        except FlagcError as error:
            return _reason(error)
        found = verdict(values, problem.expected(values), problem.tolerance)
        if found != "right":
            return f"WRONG at {'x'.join(map(str, sizes))}: {found}"
    return ""


def arguments(problem: Problem) -> dict[str, Any]:
    """Return the launch's arguments; the kernel of examples/gemm.py writes fp16 for all types."""
    values = problem.values("cpu")
    values["c_ptr"] = torch.empty_like(values["c_ptr"], dtype=torch.float16)
    return values


def _executed(
    chip: str,
    variant: AscendVariant,
    problem: Problem,
    *,
    run: bool,
    values: Mapping[str, Any] | None = None,
) -> Any:
    """Compile a variant's launch, and run it with all checks or time it."""
    target = AscendTarget(chip, pipeline=variant.pipeline)
    passes = build_pipeline(target, variant.passes, (), ())
    given = arguments(problem) if values is None else values
    launch, grid, launch_arguments = recorded(target, problem, variant, given, passes)
    executor = target.executor(passes=passes, compile=compiled, options=variant.options)
    return (executor.execute if run else executor.time)(launch, grid, launch_arguments)


def _time_library(case: Case, tile: Tile) -> Found:
    chip = chip_named(case.chip)
    m, n, k = case.problem.sizes
    try:
        return time_product((m, n, k), case.problem.dtype, tile, chip)
    except FlagcError as error:
        return Missing(_reason(error))


def _reason(error: FlagcError) -> str:
    """Return an error's first line."""
    return str(error).splitlines()[0]
