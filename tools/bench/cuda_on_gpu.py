"""Everything of flagc that needs an NVIDIA GPU, once, with checked results. Prints a table.

    PYTHONPATH=python python tools/bench/cuda_on_gpu.py [--target cuda:sm90]

`--run`, `--check` and `--bench` of the command line, `flagc.use` with descriptors and clusters, a
bundle, and the resource report against what the driver says. Exit status 1 when something is wrong.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import torch
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor

import flagc
from flagc.pipeline.compiler import CompileRequest, compile_kernel
from flagc.targets.cuda.driver_api import LIBRARY, cuda_driver
from flagc.targets.cuda.kernel_image import KernelImage
from flagc.targets.registry import target_by_name

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples"
sys.path.insert(0, str(EXAMPLES))
from gemm import gemm, gemm_kernel  # noqa: E402

_NUM_REGS = 4  # CU_FUNC_ATTRIBUTE_NUM_REGS
_LOCAL_BYTES = 3  # CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES


@triton.jit
def host_descriptor(source, out_ptr, BLOCK: tl.constexpr):
    row = tl.program_id(0) * BLOCK
    tile = source.load([row, 0])
    offsets = tl.arange(0, BLOCK)
    tl.store(out_ptr + (row + offsets[:, None]) * BLOCK + offsets[None, :], tile + tile)


@triton.jit
def device_descriptor(x_ptr, out_ptr, rows, BLOCK: tl.constexpr):
    source = tl.make_tensor_descriptor(x_ptr, [rows, BLOCK], [BLOCK, 1], [BLOCK, BLOCK])
    row = tl.program_id(0) * BLOCK
    tile = source.load([row, 0])
    offsets = tl.arange(0, BLOCK)
    tl.store(out_ptr + (row + offsets[:, None]) * BLOCK + offsets[None, :], tile + tile)


@triton.jit
def scaled(x_ptr, out_ptr, n, half_factor, factor, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < n, other=0.0)
    tl.store(out_ptr + offsets, x * half_factor * factor, mask=offsets < n)


def flagc_command(module: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    code = f"from flagc.cli.{module} import main; main()"
    command = [sys.executable, "-c", code, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def expect(condition: object, said: str) -> None:
    if not condition:
        raise AssertionError(said)


def relative_error(found: torch.Tensor, expected: torch.Tensor) -> float:
    return float((found.double() - expected.double()).norm() / expected.double().norm())


def run_examples(target: str) -> str:
    names = ("gemm", "gemm_bias_act", "attention", "layernorm", "softmax", "vector_add")

    def run(name: str) -> subprocess.CompletedProcess[str]:
        return flagc_command("main", EXAMPLES / f"{name}.py", "--target", target, "--run")

    with ThreadPoolExecutor(len(names)) as pool:
        results = list(pool.map(run, names))
    for name, done in zip(names, results, strict=True):
        expect(done.returncode == 0 and f"{name}: ok" in done.stdout, done.stdout + done.stderr)
        expect(torch.cuda.get_device_name() in done.stdout, done.stdout)
    return f"{len(names)} examples"


def run_and_check(target: str) -> str:
    script = EXAMPLES / "gemm_baselines.py"
    flags = ("--target", target, "--run", "--check", "--passes", "swizzle-program-ids{group-m=4}")
    done = flagc_command("main", script, *flags, "--format", "json", "--", 500, 400, 300)
    expect(done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:])
    (checked,) = json.loads(done.stdout)["checked"]
    expect("in_float64" in checked["against"], str(checked))
    return f"gemm 500x400x300 against {checked['against']}"


def bench(target: str) -> str:
    script = EXAMPLES / "gemm_baselines.py"
    passes = ("--passes", "swizzle-program-ids{group-m=8}")
    flags = ("--target", target, "--bench", *passes, "--format", "json")
    done = flagc_command("main", script, *flags, "--", 4096, 4096, 4096)
    expect(done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:])
    (found,) = json.loads(done.stdout)["benched"]
    expect(set(found["candidates"]) == {"with passes", "without passes", "cuBLAS"}, str(found))
    speed = {n: c["flops_per_second"] * 1e-12 for n, c in found["candidates"].items()}
    shares = [c["share_of_peak"] for c in found["candidates"].values()]
    expect(all(0.05 < share < 1.25 for share in shares), str(shares))
    return ", ".join(f"{name} {rate:.0f} TFLOP/s" for name, rate in speed.items())


def bench_table(target: str) -> str:
    script = EXAMPLES / "gemm_baselines.py"
    done = flagc_command("main", script, "--target", target, "--bench", "--", 1024, 1024, 1024)
    expect(done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:])
    print(done.stdout[done.stdout.index("gemm_kernel, grid") :])
    return "the table above"


def use_with_descriptors(target: str) -> str:
    x = torch.randn(256, 64, device="cuda", dtype=torch.float16)
    out = torch.full_like(x, float("nan"))
    with flagc.use(target):
        host_descriptor[(4,)](TensorDescriptor(x, [256, 64], [64, 1], [64, 64]), out, BLOCK=64)
        expect(torch.equal(out, x + x), "host-side descriptor: another result")
        out.fill_(float("nan"))
        device_descriptor[(4,)](x, out, 256, BLOCK=64)
        expect(torch.equal(out, x + x), "device-side descriptor: another result")
    return "host-side and device-side descriptors"


def use_with_clusters_and_scalars(target: str) -> str:
    x = torch.randn(1000, device="cuda")
    out = torch.full_like(x, float("nan"))
    with flagc.use(target):
        scaled[(4,)](x, out, 1000, 0.5, 3.0, BLOCK=256)
        expect(torch.equal(out, x * 0.5 * 3.0), "scalars: another result")
        a, b = (torch.randn(512, 512, device="cuda", dtype=torch.float16) for _ in range(2))
        c = torch.full_like(a, float("nan"))
        strides = (512, 1) * 3
        blocks = {"BLOCK_M": 128, "BLOCK_N": 128, "BLOCK_K": 64}
        gemm_kernel[(4, 4)](a, b, c, 512, 512, 512, *strides, **blocks, num_ctas=2)
        error = relative_error(c, a.double() @ b.double())
        expect(error < 2e-3, f"clusters of two: error {error}")
        plain = gemm(a, b)
    return f"clusters of two, error {relative_error(plain, a.double() @ b.double()):.1e}"


def bundle(target: str) -> str:
    with tempfile.TemporaryDirectory() as folder:
        done = flagc_command("main", EXAMPLES / "gemm.py", "--target", target, "-o", folder)
        expect(done.returncode == 0, done.stderr[-2000:])
        kernel = flagc.load_bundle(folder)["gemm_kernel"]
        a, b = (torch.randn(512, 512, device="cuda", dtype=torch.float16) for _ in range(2))
        c = torch.full_like(a, float("nan"))
        kernel[4, 4](a, b, c, 512, 512, 512, 512, 1, 512, 1, 512, 1)
        error = relative_error(c, a.double() @ b.double())
        expect(error < 2e-3, f"the bundle's result: error {error}")
        flags = [f for n in "abc" for f in ("--arg", f"{n}_ptr=512x512")]
        names = ("M", "N", "K", "stride_am", "stride_bk", "stride_cm")
        flags += [f for n in names for f in ("--arg", f"{n}=512")]
        done = flagc_command("bundle", folder, *flags, "--time", "--format", "json")
        expect(done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:])
        timing = json.loads(done.stdout)["timing"]
    return f"error {error:.1e}, {timing['median'] * 1e6:.2f} us"


def resources(target_name: str) -> str:
    """The report's registers and occupancy are the driver's."""
    from cuda_gemm_plan import Variant, recorded
    from cuda_gemm_problems import Problem

    target: Any = target_by_name(target_name)
    library = ctypes.CDLL(LIBRARY)
    compared = []
    for warps, stages, tile in ((4, 3, None), (8, 3, (128, 256, 64)), (4, 2, (64, 64, 32))):
        variant = Variant("x", "", warps, stages, tile)
        problem = Problem("gemm", (512, 512, 512), "fp16")
        launch, _, _ = recorded(target, problem, variant, problem.values("cpu"), ())
        options = {**launch.options, **variant.options}
        result = compile_kernel(CompileRequest(launch.source, target, options, ()))
        report = target.resources(result)
        handle = ctypes.c_void_p(KernelImage.of(result).load(cuda_driver()))
        found = {}
        for name, attribute in (("registers", _NUM_REGS), ("local", _LOCAL_BYTES)):
            number = ctypes.c_int()
            expect(library.cuFuncGetAttribute(ctypes.byref(number), attribute, handle) == 0, name)
            found[name] = number.value
        blocks, shared = ctypes.c_int(), ctypes.c_size_t(result.metadata["shared"])
        call = library.cuOccupancyMaxActiveBlocksPerMultiprocessor
        expect(call(ctypes.byref(blocks), handle, 32 * report.warps, shared) == 0, "occupancy")
        expect(found["registers"] == report.cubin.registers, f"registers: {found}, {report.cubin}")
        expect(blocks.value == report.occupancy.blocks, f"{blocks.value}, {report.occupancy}")
        compared.append(f"{found['registers']} registers {blocks.value} blocks")
    return "; ".join(compared)


CASES: list[Callable[[str], str]] = [
    run_examples,
    run_and_check,
    use_with_descriptors,
    use_with_clusters_and_scalars,
    bundle,
    resources,
    bench,
    bench_table,
]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--target", default="cuda:sm90")
    target = parser.parse_args().target
    versions = f"triton {triton.__version__}, torch {torch.__version__}"
    print(torch.cuda.get_device_name(), versions, flush=True)
    good = True
    for case in CASES:
        started = time.perf_counter()
        try:
            said = case(target)
            state = "right"
        except Exception:
            said, state, good = traceback.format_exc(), "WRONG", False
        seconds = time.perf_counter() - started
        print(f"{state} {case.__name__} ({seconds:.1f} s): {said}", flush=True)
    print("all right" if good else "SOMETHING IS WRONG")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
