"""Speed of the emulated AI Core as ratios against numpy and torch on the same machine, same run.

    python tools/bench/aicore.py [--repeats 15]

A ratio is (other's time) / (emulator's time), of the best of several runs that take turns. Runs on
one thread are measured in time of the processor, which other load on the machine disturbs less.
Compilation and the JIT are not counted.
"""

from __future__ import annotations

import argparse
import os

for _name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_name] = "1"  # before numpy and torch are imported

import time  # noqa: E402
from collections.abc import Callable  # noqa: E402
from typing import Any  # noqa: E402

import numpy as np  # noqa: E402
import torch  # noqa: E402
import triton  # noqa: E402
import triton.language as tl  # noqa: E402

from flagc.aicore import EmulatedKernel  # noqa: E402
from flagc.pipeline.compiler import CompileRequest, compile_kernel  # noqa: E402
from flagc.pipeline.loading import load_installed_passes  # noqa: E402
from flagc.pipeline.pipeline_text import parse_pipeline  # noqa: E402
from flagc.pipeline.target import KernelSource  # noqa: E402
from flagc.targets.ascend.llvm_stage import final_to_llvm  # noqa: E402
from flagc.targets.registry import target_by_name  # noqa: E402

SIDE = 512
WIDE = 4096


@triton.jit
def gemm(a, b, c, K, stride, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    rk = tl.arange(0, BK)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, K, BK):
        x = tl.load(a + rm[:, None] * stride + (k + rk)[None, :])
        y = tl.load(b + (k + rk)[:, None] * stride + rn[None, :])
        acc = tl.dot(x, y, acc)
    tl.store(c + rm[:, None] * stride + rn[None, :], acc.to(c.dtype.element_ty))


@triton.jit
def layernorm(x, w, b, out, stride, n, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    v = tl.load(x + row * stride + cols)
    mean = tl.sum(v, axis=0) / n
    d = v - mean
    rstd = 1.0 / tl.sqrt(tl.sum(d * d, axis=0) / n + eps)
    tl.store(out + row * stride + cols, d * rstd * tl.load(w + cols) + tl.load(b + cols))


def compiled(function: Any, types: dict[str, str], constants: dict[str, int]) -> EmulatedKernel:
    names = function.arg_names
    source = KernelSource(
        function,
        {name: types.get(name, "constexpr") for name in names},
        {(names.index(name),): value for name, value in constants.items()},
        {
            (names.index(name),): [["tt.divisibility", 16]]
            for name in types
            if types[name] != "fp32"
        },
    )
    target = target_by_name("ascend:910B3", "vendor")
    passes = parse_pipeline(target.default_passes)
    result = compile_kernel(CompileRequest(source, target, passes=passes, stop_after="final"))
    final = result.artifact("final").content
    assert isinstance(final, str)
    return EmulatedKernel(final_to_llvm(final, note_lines=True))


def best(
    repeats: int, clock: Callable[[], float] = time.thread_time, **runs: Callable[[], Any]
) -> dict[str, float]:
    """Best time of each, in turns; seconds."""
    times = {name: float("inf") for name in runs}
    for _ in range(repeats):
        for name, run in runs.items():
            started = clock()
            run()
            times[name] = min(times[name], clock() - started)
    return times


def report(name: str, ratio: float, bar: str) -> None:
    print(f"{name:<58} {ratio:6.2f}x   asked for: {bar}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=15)
    repeats = parser.parse_args().repeats
    torch.set_num_threads(1)
    load_installed_passes()
    print(f"{os.cpu_count()} processors, load {os.getloadavg()[0]:.1f}")

    pointers = dict.fromkeys("abc", "*fp16")
    kernel = compiled(
        gemm, {**pointers, "K": "i32", "stride": "i32"}, {"BM": 128, "BN": 128, "BK": 64}
    )
    random = np.random.default_rng(0)
    a, b = (random.standard_normal((SIDE, SIDE)).astype(np.float16) for _ in range(2))
    c = np.empty_like(a)
    wide_a, wide_b = a.astype(np.float32), b.astype(np.float32)
    grid, arguments = (SIDE // 128, SIDE // 128), [a, b, c, SIDE, SIDE]
    times = best(
        repeats,
        numpy=lambda: wide_a @ wide_b,
        unchecked=lambda: kernel.run(grid, arguments, threads=1, checks=False),
        checked=lambda: kernel.run(grid, arguments, threads=1),
    )
    print({name: f"{seconds * 1e3:.2f} ms" for name, seconds in times.items()})
    report("GEMM 512^3 fp16, checks off : numpy fp32", times["numpy"] / times["unchecked"], "0.5")
    report("GEMM 512^3 fp16, checks on : numpy fp32", times["numpy"] / times["checked"], "0.2")

    names = dict.fromkeys(("x", "w", "b", "out"), "*fp32")
    kernel = compiled(
        layernorm, {**names, "stride": "i32", "n": "i32", "eps": "fp32"}, {"BLOCK": WIDE}
    )
    x, w, bias = torch.randn(WIDE, WIDE), torch.randn(WIDE), torch.randn(WIDE)
    out = torch.empty_like(x)
    rows = [x, w, bias, out, WIDE, WIDE, 1e-5]
    times = best(
        max(2, repeats // 5),
        torch=lambda: torch.layer_norm(x, (WIDE,), w, bias),
        unchecked=lambda: kernel.run((WIDE,), rows, threads=1, checks=False),
        checked=lambda: kernel.run((WIDE,), rows, threads=1),
    )
    print({name: f"{seconds * 1e3:.2f} ms" for name, seconds in times.items()})
    report("layernorm 4096x4096, checks off : torch", times["torch"] / times["unchecked"], "0.1")
    report("layernorm 4096x4096, checks on : torch", times["torch"] / times["checked"], "-")
    times = best(
        max(2, repeats // 5),
        time.perf_counter,
        one=lambda: kernel.run((WIDE,), rows, threads=1),
        two=lambda: kernel.run((WIDE,), rows, threads=2),
    )
    report("the same, two threads : one", times["one"] / times["two"], "1.8, idle machine")


if __name__ == "__main__":
    main()
