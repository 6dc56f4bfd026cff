"""Check passes for CUDA GEMMs on a real GPU against float64. Prints a table.

    PYTHONPATH=python python tools/bench/cuda_passes_on_gpu.py [--cases N] [--seed S] [--time]

Every pipeline below runs in JIT launches of examples/gemm.py and of a tutorial-style matmul, over
sizes, dtypes, row strides and transposed operands: a fixed list and N random ones. `--time` times
some sizes under each pipeline too. Exit status 1 when a result is wrong, the surroundings of a
result were written to, a second launch or a replayed CUDA graph gives other bits, or a pass that
should have shown in the PTX did not. `--only TEXT` takes the pipelines that have it in them.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import triton

import flagc

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "examples"), str(ROOT / "tools" / "bench" / "corpus")]
from gemm import gemm_kernel  # noqa: E402
from gemm_then_gelu import gemm_then_gelu  # noqa: E402
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
]


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


FIXED = [
    Case(256, 256, 256),
    Case(1024, 1024, 1024),
    Case(1000, 1000, 1000),
    Case(1000, 999, 1001),
    Case(999, 1001, 1003),
    Case(1, 128, 64),
    Case(128, 1, 64),
    Case(64, 64, 1),
    Case(16, 4096, 4096),
    Case(7, 4096, 33),
    Case(130, 70, 0),
    Case(513, 129, 65, pad=3),
    Case(513, 128, 65, pad=15),
    Case(512, 512, 512, torch.bfloat16),
    Case(500, 400, 300, torch.bfloat16, pad=4),
    Case(512, 384, 256, transpose_a=True),
    Case(512, 384, 256, transpose_b=True),
    Case(500, 300, 200, transpose_a=True, transpose_b=True),
    Case(300, 200, 100, tiles=(64, 128, 32)),
    Case(300, 200, 100, tiles=(128, 64, 128)),
]


def random_case(source: random.Random) -> Case:
    sizes = [source.choice((source.randint(1, 300), 16 * source.randint(1, 40))) for _ in range(3)]
    return Case(
        *sizes,
        dtype=source.choice((torch.float16, torch.bfloat16)),
        pad=source.choice((0, 0, 1, 8, 16)),
        transpose_a=source.random() < 0.25,
        transpose_b=source.random() < 0.25,
        tiles=(source.choice((64, 128)), source.choice((64, 128)), source.choice((32, 64))),
    )


def matrix(rows: int, columns: int, case: Case, transposed: bool = False) -> torch.Tensor:
    """A random matrix, a part of one with wider rows."""
    if transposed:
        return matrix(columns, rows, case).t()
    return torch.randn(rows, columns + case.pad, dtype=case.dtype, device="cuda")[:, :columns]


def run_gemm(case: Case, a: torch.Tensor, b: torch.Tensor, c: torch.Tensor) -> Any:
    block_m, block_n, block_k = case.tiles
    grid = (triton.cdiv(case.m, block_m), triton.cdiv(case.n, block_n))
    strides = (*a.stride(), *b.stride(), *c.stride())
    return gemm_kernel[grid](
        a, b, c, case.m, case.n, case.k, *strides,
        BLOCK_M=block_m, BLOCK_N=block_n, BLOCK_K=block_k,
    )  # fmt: skip


def run_matmul(case: Case, a: torch.Tensor, b: torch.Tensor, c: torch.Tensor) -> Any:
    """The tutorial's: grouped tiles, rows that wrap, pointers that go round the loop."""
    block_m, block_n, block_k = case.tiles
    grid = (triton.cdiv(case.m, block_m) * triton.cdiv(case.n, block_n),)
    return matmul[grid](
        a, b, c, case.m, case.n, case.k, a.stride(0), b.stride(0), c.stride(0),
        BLOCK_M=block_m, BLOCK_N=block_n, BLOCK_K=block_k, GROUP_M=4,
    )  # fmt: skip


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


def check(case: Case, run: Callable[..., Any]) -> tuple[float, str, str]:
    """Return the error in tolerances, what else is wrong if anything, and the PTX."""
    a = matrix(case.m, case.k, case, case.transpose_a)
    b = matrix(case.k, case.n, case, case.transpose_b)
    # The kernels round the sum to fp16 before they store it, whatever C's dtype is.
    whole = torch.full((case.m + 1, case.n + case.pad), 7.0, dtype=case.dtype, device="cuda")
    c = whole[: case.m, : case.n]
    compiled = run(case, a, b, c)
    expected = a.double() @ b.double()
    bound = a.double().abs() @ b.double().abs()
    scale = tolerance(case) * bound + 2**-24 + (2**-11 * expected.abs())
    error = float(((c.double() - expected).abs() / scale).max()) if case.k else float(c.abs().max())
    outside = bool((whole[case.m :] == 7).all() and (whole[:, case.n :] == 7).all())
    wrong = "" if outside else "WROTE OUTSIDE"
    if not wrong and not repeats(lambda: run(case, a, b, c), whole):
        wrong = "NOT REPEATABLE"
    return error, wrong, compiled.asm["ptx"]


def run_pipeline(passes: str, wants_tma: bool, cases: list[Case]) -> int:
    """Check all cases; return how many failed."""
    failed = 0
    worst, tma = 0.0, 0
    for case in cases:
        runs = [run_gemm] if case.transpose_a or case.transpose_b else [run_gemm, run_matmul]
        for run in runs:
            if passes:
                with flagc.use_passes(passes, report=lambda findings, kernel: None):
                    error, wrong, ptx = check(case, run)
            else:
                error, wrong, ptx = check(case, run)
            uses_tma = TMA in ptx
            tma += uses_tma
            missing = wants_tma and case.is_aligned and not uses_tma
            worst = max(worst, error)
            if not error <= 1 or wrong or missing:
                failed += 1
                what = "WRONG" if not error <= 1 else wrong or "NO TMA"
                print(f"  {what}: {run.__name__} {case} error {error:.2g} tolerances")
    print(f"{failed:4} failed, worst {worst:5.2f} of the tolerance, {tma:4} with TMA  '{passes}'")
    return failed


TIMED = [(1024, 1024, 1024), (1000, 1000, 1000), (2048, 2048, 2048), (4096, 4096, 4096)]


def check_merged() -> int:
    """Compare a script's two launches, merged and with other passes behind, with the two apart.

    Sums have the same order; what may differ is how the compiler contracts products and sums, which
    can turn a rounding to fp16 around. Returns how many results differ by more than two units in
    the last place, or come from launches that were not merged.
    """
    failed = 0
    for passes in MERGED:
        other = 0
        for case in (Case(512, 512, 128), Case(500, 300, 200), Case(1000, 999, 65)):
            sizes = (case.m, case.k), (case.k, case.n), (case.n,), (case.m, case.n)
            given = [torch.randn(size, dtype=case.dtype, device="cuda") for size in sizes]
            with flagc.use("cuda", "") as apart:
                expected = gemm_then_gelu(*given)
            with flagc.use("cuda", passes) as merged:
                found = gemm_then_gelu(*given)
            names = [
                [launch.source.name for launch in s.recorder.launches] for s in (apart, merged)
            ]
            is_merged = [len(found_names) for found_names in names] == [2, 1]
            limit = 2**-9 * (expected.abs().float() + 1)
            is_right = bool(((found.float() - expected.float()).abs() <= limit).all())
            other += int((found != expected).sum())
            if not is_right or not is_merged:
                failed += 1
                print(f"  {'WRONG' if is_merged else 'NOT MERGED'}: {case} {names[1]}")
        print(f"{failed:4} failed, merged, {other} numbers with other bits  '{passes}'")
    return failed


def time_pipelines() -> None:
    print("TFLOP/s of gemm_kernel, 128x128x64, fp16 (median of 20 calls)")
    for passes, _ in PIPELINES:
        rates = []
        for m, n, k in TIMED:
            case = Case(m, n, k)
            a, b, c = matrix(m, k, case), matrix(k, n, case), matrix(m, n, case)

            def call(case: Case = case, a=a, b=b, c=c) -> None:  # type: ignore[no-untyped-def]
                run_gemm(case, a, b, c)

            if passes:
                with flagc.use_passes(passes, report=lambda findings, kernel: None):
                    milliseconds = triton.testing.do_bench(call, quantiles=[0.5])
            else:
                milliseconds = triton.testing.do_bench(call, quantiles=[0.5])
            rates.append(2 * m * n * k / milliseconds / 1e9)
        print("  ".join(f"{rate:7.1f}" for rate in rates), f"  '{passes}'")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=20, help="random cases besides the fixed ones")
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--only", default="", help="a part of the pipelines' text")
    parser.add_argument("--time", action="store_true")
    arguments = parser.parse_args()
    seed = arguments.seed if arguments.seed is not None else random.randrange(2**32)
    torch.manual_seed(seed)
    source = random.Random(seed)
    print(torch.cuda.get_device_name(), "triton", triton.__version__, "torch", torch.__version__)
    print("seed", seed)
    cases = FIXED + [random_case(source) for _ in range(arguments.cases)]
    chosen = [entry for entry in PIPELINES if arguments.only in entry[0]]
    failed = sum(run_pipeline(passes, tma, cases) for passes, tma in chosen)
    if arguments.only in "fuse-epilogue":
        failed += check_merged()
    if arguments.time:
        time_pipelines()
    print("all right" if not failed else f"{failed} FAILED")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
