"""Check passes for CUDA GEMMs on a real GPU against float64, with random kernels and shapes.

    PYTHONPATH=python python tools/bench/cuda_passes_on_gpu.py [--cases 300] [--seed S]

Every pipeline below runs in JIT launches of examples/gemm.py and of a tutorial-style matmul, over
sizes, dtypes, tiles, row strides and transposed operands; the pipelines take turns. Kernels are
compiled ahead by `--workers` processes into Triton's cache, and tried on three shapes each. A
result is a failure when it is wrong, its surroundings were written to, a second launch or a
replayed CUDA graph gives other bits, or TMA should have shown in the PTX and did not; each is
printed with the seed. `--budget` seconds end the tests; JSON goes to --json, or into $OUT.
`--only TEXT` takes the pipelines that have it in them. Exit status 1: failures.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import json
import multiprocessing
import os
import random
import sys
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import torch
import triton
from triton.runtime.driver import driver

import flagc
from flagc.frontend.recorder import RecordingDriver
from flagc.targets.registry import target_by_name

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "examples"), str(ROOT / "tools" / "bench" / "corpus")]
from gemm import gemm_kernel  # noqa: E402
from tutorials_matmul import matmul  # noqa: E402

TMA = "cp.async.bulk.tensor"
# Pipelines, and whether their PTX must use TMA where everything is aligned.
PIPELINES: list[tuple[str, bool]] = [
    ("", False),
    ("drop-proven-masks", False),
    ("peel-k-tail", False),
    ("drop-proven-masks,peel-k-tail", False),
    ("unwrap-modulo-offsets,loads-to-descriptors", True),
    ("unwrap-modulo-offsets,loads-to-descriptors{versioned=true}", True),
    ("swizzle-program-ids,unwrap-modulo-offsets,loads-to-descriptors{versioned=true}", True),
    ("peel-k-tail,unwrap-modulo-offsets,loads-to-descriptors{versioned=true}", True),
    ("unwrap-modulo-offsets,loads-to-descriptors{stores=false}", True),
    ("make-persistent{programs=7,group-m=3}", False),
    ("resize-tiles{x=32,y=256},resize-depth{size=32},make-persistent{programs=9}", False),
    (
        "resize-tiles{x=64,y=128},unwrap-modulo-offsets,loads-to-descriptors{versioned=true},"
        "make-persistent{group-m=8,flatten=true}",
        True,
    ),
    ("split-k{ways=3}", False),
    (
        "resize-tiles{x=16,y=64},resize-depth{size=128},peel-k-tail,skip-empty-tiles,"
        "split-k{ways=8}",
        False,
    ),
    ("unwrap-modulo-offsets,loads-to-descriptors{versioned=true},split-k{ways=2}", False),
    ("specialise-arguments,drop-proven-masks", False),
    ("specialise-arguments{to=divisors},unwrap-modulo-offsets,loads-to-descriptors", True),
    (
        "specialise-arguments,resize-tiles{x=64,y=32},trim-grid,drop-proven-masks,epilogue-subtile,"
        "swizzle-program-ids{group-m=4}",
        False,
    ),
    (
        "specialise-arguments,resize-tiles{x=64,y=64},trim-grid,drop-proven-masks,peel-k-tail,"
        "split-k{ways=3},epilogue-subtile",
        False,
    ),
    (
        "specialise-arguments,resize-tiles{y=256},trim-grid,unwrap-modulo-offsets,"
        "loads-to-descriptors,epilogue-subtile{pieces=4},make-persistent{group-m=8,flatten=true}",
        False,
    ),
    ("resize-tiles{y=256},drop-proven-masks,epilogue-subtile{pieces=4}", False),
    ("unwrap-modulo-offsets,loads-to-descriptors,descriptors-by-launcher", True),
    (
        "unwrap-modulo-offsets,loads-to-descriptors{versioned=true},make-persistent{group-m=8},"
        "descriptors-by-launcher",
        True,
    ),
    (
        "specialise-arguments,resize-tiles{x=64,y=64},trim-grid,unwrap-modulo-offsets,"
        "loads-to-descriptors,epilogue-subtile,split-k{ways=2},descriptors-by-launcher",
        False,
    ),
    (
        "specialise-arguments,resize-tiles{y=256},trim-grid,unwrap-modulo-offsets,"
        "loads-to-descriptors,epilogue-subtile{pieces=4},make-persistent{group-m=8,flatten=true},"
        "descriptors-by-launcher",
        False,
    ),
]
_SHAPES_OF_A_KERNEL = 3


# Pipelines for a script with two kernels that keep the order of sums.
MERGED = [
    "fuse-epilogue",
    "fuse-epilogue,resize-tiles{y=256},loads-to-descriptors,make-persistent{group-m=8}",
    "fuse-epilogue,resize-tiles{x=64},loads-to-descriptors{versioned=true},swizzle-program-ids",
    "fuse-epilogue,peel-k-tail,swizzle-program-ids",
]


@dataclass(frozen=True)
class Case:
    """One product: sizes, dtype, elements that rows are padded by, and transposed operands."""

    m: int
    n: int
    k: int
    dtype: torch.dtype = torch.float16
    pad: int = 0
    transpose_a: bool = False
    transpose_b: bool = False
    tiles: tuple[int, int, int] = (128, 128, 64)

    @property
    def is_aligned(self) -> bool:
        """Whether Triton's specialisation shows all rows to be 16-byte aligned."""
        return all((size + self.pad) % 16 == 0 for size in (self.m, self.n, self.k)) and (
            min(self.m, self.n, self.k) > 1
        )


def random_case(source: random.Random) -> Case:
    choices = [(source.randint(1, 300), 16 * source.randint(1, 40)) for _ in range(3)]
    sizes = [source.choice(pair) for pair in choices]
    if source.random() < 0.1:
        sizes[source.randrange(3)] = 1
    if source.random() < 0.03:
        sizes[2] = 0
    return Case(
        *sizes,
        dtype=source.choice((torch.float16, torch.bfloat16)),
        pad=source.choice((0, 0, 1, 8, 16)),
        transpose_a=source.random() < 0.25,
        transpose_b=source.random() < 0.25,
        tiles=(source.choice((64, 128)), source.choice((64, 128)), source.choice((32, 64))),
    )


def other_sizes(case: Case, source: random.Random) -> Case:
    """The same kernel on other sizes: Triton tells multiples of 16, 1 and others apart."""

    def like(size: int) -> int:
        if size == 1:
            return 1
        other = 16 * source.randint(1, 40)
        return other if size % 16 == 0 else other + source.randint(1, 15)

    return replace(case, m=like(case.m), n=like(case.n), k=like(case.k))


@dataclass(frozen=True)
class Test:
    """One case under one pipeline."""

    passes: str
    wants_tma: bool
    kernel: str
    case: Case


def random_tests(
    count: int, pipelines: list[tuple[str, bool]], source: random.Random
) -> list[Test]:
    """Pipelines take turns, with three shapes for each kernel."""
    tests: list[Test] = []
    for passes, wants_tma in itertools.cycle(pipelines):
        case = random_case(source)
        transposed = case.transpose_a or case.transpose_b
        kernel = "gemm" if transposed else source.choice(("gemm", "matmul"))
        others = [other_sizes(case, source) for _ in range(_SHAPES_OF_A_KERNEL - 1)]
        tests += [Test(passes, wants_tma, kernel, shape) for shape in (case, *others)]
        if len(tests) >= count:
            return tests[:count]
    return []


def matrix(
    rows: int, columns: int, case: Case, transposed: bool = False, device: str = "cuda"
) -> torch.Tensor:
    """A random matrix, a part of one with wider rows; without contents on the CPU."""
    if transposed:
        return matrix(columns, rows, case, device=device).t()
    if device != "cuda":
        return torch.empty(rows, columns + case.pad, dtype=case.dtype)[:, :columns]
    return torch.randn(rows, columns + case.pad, dtype=case.dtype, device=device)[:, :columns]


def inputs(case: Case, device: str = "cuda") -> tuple[torch.Tensor, torch.Tensor]:
    a = matrix(case.m, case.k, case, case.transpose_a, device)
    return a, matrix(case.k, case.n, case, case.transpose_b, device)


Call = tuple[Any, tuple[int, ...], list[Any], dict[str, int]]


def call_of(test: Test, a: torch.Tensor, b: torch.Tensor, c: torch.Tensor) -> Call:
    """Kernel, grid, arguments and constants of a launch."""
    case = test.case
    tiles = dict(zip(("BLOCK_M", "BLOCK_N", "BLOCK_K"), case.tiles, strict=True))
    grid = (triton.cdiv(case.m, case.tiles[0]), triton.cdiv(case.n, case.tiles[1]))
    sizes = [case.m, case.n, case.k]
    if test.kernel == "gemm":
        strides = [*a.stride(), *b.stride(), *c.stride()]
        return gemm_kernel, grid, [a, b, c, *sizes, *strides], tiles
    # The tutorial's: grouped tiles, rows that wrap, pointers that go round the loop.
    strides = [a.stride(0), b.stride(0), c.stride(0)]
    return matmul, (grid[0] * grid[1],), [a, b, c, *sizes, *strides], {**tiles, "GROUP_M": 4}


def launch(test: Test, a: torch.Tensor, b: torch.Tensor, c: torch.Tensor) -> Any:
    kernel, grid, arguments, constants = call_of(test, a, b, c)
    return kernel[grid](*arguments, **constants)


def with_passes(passes: str) -> contextlib.AbstractContextManager[Any]:
    """Run JIT compilations with `passes`, which keep their remarks to themselves."""
    if not passes:
        return contextlib.nullcontext()
    return flagc.use_passes(passes, report=lambda findings, kernel: None)


def compile_ahead(test: Test) -> str:
    """Compile into Triton's cache, without a GPU; return what is wrong, or nothing."""
    driver.set_active(RecordingDriver(target_by_name("cuda:sm90"), executing=False))
    c = matrix(test.case.m, test.case.n, test.case, device="cpu")
    kernel, grid, arguments, constants = call_of(test, *inputs(test.case, "cpu"), c)
    try:
        with with_passes(test.passes):
            kernel.warmup(*arguments, grid=grid, **constants)
    except Exception as error:
        return f"{type(error).__name__}: {error}".splitlines()[0]
    return ""


def tolerance(case: Case) -> float:
    """Relative to the largest |a| |b| sum: rounding the result, and a sum of k products in f32."""
    unit = {torch.float16: 2**-11, torch.bfloat16: 2**-8}[case.dtype]
    return unit + (case.k + 2) * 2**-24


def repeats(run: Callable[[], Any], whole: torch.Tensor) -> bool:
    """Tell whether `whole` is the same after another launch, and after two of a CUDA graph."""
    first = whole.clone()
    run()
    same = torch.equal(first, whole)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        run()
    for _ in range(2):
        whole.fill_(7)
        graph.replay()
        same = same and torch.equal(first, whole)
    return same


@dataclass(frozen=True)
class Outcome:
    """How one test ended: what is wrong if anything, and the error in tolerances."""

    test: Test
    wrong: str
    error: float
    has_tma: bool


def check(test: Test) -> Outcome:
    """Run one test on the GPU."""
    case = test.case
    a, b = inputs(case)
    # The kernels round the sum to fp16 before they store it, whatever C's dtype is.
    whole = torch.full((case.m + 1, case.n + case.pad), 7.0, dtype=case.dtype, device="cuda")
    c = whole[: case.m, : case.n]
    with with_passes(test.passes):
        compiled = launch(test, a, b, c)
        expected = a.double() @ b.double()
        bound = a.double().abs() @ b.double().abs()
        scale = tolerance(case) * bound + 2**-24 + (2**-11 * expected.abs())
        error = float(((c.double() - expected).abs() / scale).max())
        has_tma = TMA in compiled.asm["ptx"]
        outside = bool((whole[case.m :] == 7).all() and (whole[:, case.n :] == 7).all())
        wrong = ""
        if not error <= 1:
            wrong = "WRONG"
        elif not outside:
            wrong = "WROTE OUTSIDE"
        elif not repeats(lambda: launch(test, a, b, c), whole):
            wrong = "NOT REPEATABLE"
        elif test.wants_tma and case.is_aligned and not has_tma:
            wrong = "NO TMA"
    return Outcome(test, wrong, error, has_tma)


def run_tests(tests: list[Test], not_compiled: dict[Test, str], budget: float) -> list[Outcome]:
    """Check tests in order until the budget is spent; print failures as they come."""
    started = time.perf_counter()
    outcomes = []
    for test in tests:
        if time.perf_counter() - started > budget:
            print(f"the budget is spent; not run: {len(tests) - len(outcomes)} tests")
            break
        if test in not_compiled:
            outcome = Outcome(test, f"DOES NOT COMPILE: {not_compiled[test]}", 0.0, False)
        else:
            outcome = check(test)
        outcomes.append(outcome)
        if outcome.wrong:
            print(f"  {outcome.wrong}: {test}, error {outcome.error:.2g} tolerances")
    return outcomes


def print_pipelines(outcomes: list[Outcome]) -> None:
    """Print one line for each pipeline."""
    for passes in dict.fromkeys(outcome.test.passes for outcome in outcomes):
        own = [outcome for outcome in outcomes if outcome.test.passes == passes]
        failed = sum(bool(outcome.wrong) for outcome in own)
        worst, tma = max(o.error for o in own), sum(o.has_tma for o in own)
        print(f"{len(own):4} run, {failed} failed, worst {worst:5.2f} of the tolerance, "
              f"{tma:3} with TMA  '{passes}'")  # fmt: skip


def describe(tests: list[Test], outcomes: list[Outcome], seed: int) -> dict[str, Any]:
    """Return everything as plain data."""
    rows = [{**asdict(o), "test": {**asdict(o.test), "case": str(o.test.case)}} for o in outcomes]
    return {
        "device": torch.cuda.get_device_name(),
        "triton": triton.__version__,
        "torch": torch.__version__,
        "seed": seed,
        "tests": len(tests),
        "failed": sum(bool(o.wrong) for o in outcomes),
        "outcomes": rows,
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=300)
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--only", default="", help="a part of the pipelines' text")
    parser.add_argument("--budget", type=float, default=300.0, help="seconds of tests on the GPU")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--compile-only", action="store_true", help="no GPU: only compile")
    parser.add_argument("--json", type=Path, help="default: $OUT/cuda_passes.json, if OUT is set")
    arguments = parser.parse_args()
    seed = arguments.seed if arguments.seed is not None else random.randrange(2**32)
    source = random.Random(seed)
    chosen = [entry for entry in PIPELINES if arguments.only in entry[0]]
    tests = random_tests(arguments.cases, chosen, source)
    started = time.perf_counter()
    # Forks, so before CUDA is used.
    context = multiprocessing.get_context("fork")
    with ProcessPoolExecutor(arguments.workers, mp_context=context) as pool:
        said = pool.map(compile_ahead, tests)
        not_compiled = {test: text for test, text in zip(tests, said, strict=True) if text}
    print(f"seed {seed}: {len(tests)} tests, {len(not_compiled)} do not compile, "
          f"{time.perf_counter() - started:.0f} s")  # fmt: skip
    for test, text in not_compiled.items():
        print(f"  {text}: {test}")
    if arguments.compile_only:
        return 1 if not_compiled else 0
    return report(arguments, tests, not_compiled, seed)


def report(
    arguments: argparse.Namespace, tests: list[Test], not_compiled: dict[Test, str], seed: int
) -> int:
    """Run on the GPU, print, write JSON, and return the exit status."""
    torch.manual_seed(seed)
    print(torch.cuda.get_device_name(), "triton", triton.__version__, "torch", torch.__version__)
    outcomes = run_tests(tests, not_compiled, arguments.budget)
    print_pipelines(outcomes)
    path = arguments.json
    if path is None and os.environ.get("OUT"):
        path = Path(os.environ["OUT"]) / "cuda_passes.json"
    if path is not None:
        path.write_text(json.dumps(describe(tests, outcomes, seed), indent=1))
    failed = sum(bool(outcome.wrong) for outcome in outcomes)
    print(f"{len(outcomes)} run, all right" if not failed else f"{failed} FAILED, seed {seed}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
