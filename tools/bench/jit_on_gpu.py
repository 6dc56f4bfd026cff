"""Run passes in JIT launches on a real GPU and check the results. Prints a table.

    PYTHONPATH=python python tools/bench/jit_on_gpu.py

Exit status 1 when a result is wrong or a pass had no effect.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Callable
from pathlib import Path

import torch
import triton
import triton.language as tl

import flagc

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "examples"))
from attention import attention, attention_kernel  # noqa: E402
from gemm import gemm, gemm_kernel  # noqa: E402
from gemm_bias_act import gemm_bias_act, gemm_bias_act_kernel  # noqa: E402


@triton.jit
def linear_grid_gemm(a_ptr, b_ptr, c_ptr, M, N, K, BLOCK: tl.constexpr):
    """A GEMM whose one-dimensional program id is split into tile row and column."""
    tile = tl.program_id(0)
    columns_of_tiles = tl.cdiv(N, BLOCK)
    row_tile, column_tile = tile // columns_of_tiles, tile % columns_of_tiles
    rows = row_tile * BLOCK + tl.arange(0, BLOCK)
    columns = column_tile * BLOCK + tl.arange(0, BLOCK)
    accumulator = tl.zeros((BLOCK, BLOCK), tl.float32)
    for start in range(0, K, BLOCK):
        inner = start + tl.arange(0, BLOCK)
        a = tl.load(
            a_ptr + rows[:, None] * K + inner[None, :],
            mask=(rows[:, None] < M) & (inner[None, :] < K),
            other=0.0,
        )
        b = tl.load(
            b_ptr + inner[:, None] * N + columns[None, :],
            mask=(inner[:, None] < K) & (columns[None, :] < N),
            other=0.0,
        )
        accumulator = tl.dot(a, b, accumulator)
    tl.store(
        c_ptr + rows[:, None] * N + columns[None, :],
        accumulator.to(tl.float16),
        mask=(rows[:, None] < M) & (columns[None, :] < N),
    )


def random_half(*shape: int) -> torch.Tensor:
    return torch.randn(shape, dtype=torch.float16, device="cuda")


def check_gemm() -> float:
    # Strides divisible by 16: otherwise Triton cannot copy asynchronously, and pipelines nothing.
    a, b = random_half(1000, 272), random_half(272, 1040)
    return relative_error(gemm(a, b), a.double() @ b.double())


def check_linear_grid() -> float:
    a, b = random_half(900, 200), random_half(200, 1400)
    c = torch.full((900, 1400), float("nan"), dtype=torch.float16, device="cuda")
    grid = (triton.cdiv(900, 64) * triton.cdiv(1400, 64),)
    linear_grid_gemm[grid](a, b, c, 900, 1400, 200, BLOCK=64)
    return relative_error(c, a.double() @ b.double())


def check_bias() -> float:
    a, b, bias = random_half(200, 192), random_half(192, 320), random_half(320)
    expected = torch.relu(a.double() @ b.double() + bias.double())
    return relative_error(gemm_bias_act(a, b, bias), expected)


def check_attention() -> float:
    q, k, v = (random_half(4, 200, 64) for _ in range(3))
    expected = torch.nn.functional.scaled_dot_product_attention(q.double(), k.double(), v.double())
    return relative_error(attention(q, k, v), expected)


def relative_error(found: torch.Tensor, expected: torch.Tensor) -> float:
    return float((found.double() - expected).norm() / expected.norm())


CASES: list[tuple[str, str, object, Callable[[], float]]] = [
    ("gemm", "", gemm_kernel, check_gemm),
    ("gemm", "swizzle-program-ids{group-m=4}", gemm_kernel, check_gemm),
    ("gemm", "set-num-stages{n=4}", gemm_kernel, check_gemm),
    ("gemm", "unfuse-dot-acc", gemm_kernel, check_gemm),
    ("gemm", "ttgir@after(accelerate_matmul):set-mma-shape{n=64}", gemm_kernel, check_gemm),
    (
        "gemm",
        "swizzle-program-ids{group-m=3},set-num-stages{n=2},"
        "ttgir@after(accelerate_matmul):set-mma-shape{n=32}",
        gemm_kernel,
        check_gemm,
    ),
    ("linear_grid_gemm", "", linear_grid_gemm, check_linear_grid),
    ("linear_grid_gemm", "swizzle-program-ids{group-m=5}", linear_grid_gemm, check_linear_grid),
    ("gemm_bias_act", "swizzle-program-ids{group-m=3}", gemm_bias_act_kernel, check_bias),
    ("attention", "unfuse-dot-acc", attention_kernel, check_attention),
]


def ptx_of(kernel: object) -> str:
    caches = kernel.device_caches[torch.cuda.current_device()][0]  # type: ignore[attr-defined]
    return list(caches.values())[-1].asm["ptx"]


def run_cases() -> bool:
    good = True
    plain: dict[str, str] = {}
    print(f"{'kernel':18} {'error':>9} {'PTX':>9}  passes")
    for name, passes, kernel, check in CASES:
        if passes:
            with flagc.use_passes(passes, report=lambda findings, kernel: None):
                error = check()
                ptx = ptx_of(kernel)
            effect = "changed" if ptx != plain.get(name) else "SAME"
        else:
            error = check()
            ptx = plain[name] = ptx_of(kernel)
            effect = "plain"
        fine = error < 2e-3 and effect != "SAME"
        good &= fine
        print(f"{name:18} {error:9.2e} {effect:>9}  {passes} {'' if fine else '<-- WRONG'}")
    return good


def run_changed_pass() -> bool:
    """A pass whose source changes is compiled anew, through the cache on disk and in memory."""
    seen = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "depth.py"
        for depth in (2, 4, 2):
            path.write_text(
                textwrap.dedent(f"""
                from dataclasses import dataclass
                from flagc import Pass, register

                @register
                @dataclass(frozen=True)
                class Depth(Pass):
                    name = "depth"
                    level = "ttir"

                    def run(self, module, context):
                        for loop in module.walk("scf.for"):
                            loop.attributes["tt.num_stages"] = module.integer({depth})
                """)
            )
            with flagc.use_passes("depth", load=[str(path)]):
                error = check_gemm()
                caches = gemm_kernel.device_caches[torch.cuda.current_device()][0]
                seen.append(list(caches.values())[-1].metadata.shared)
            if depth == 4:
                gemm_kernel.device_caches.clear()  # the last round goes to the cache on disk
            if error > 2e-3:
                return False
    print("shared memory as the pass's source changes:", seen)
    return seen == [2 * 32768, 4 * 32768, 2 * 32768]


def run_program(passes: str, *program: str) -> bool:
    code = "from flagc.cli.run import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code, "--passes", passes, *program],
        capture_output=True,
        text=True,
        check=False,
    )
    print(f"flagc-run --passes '{passes}' {' '.join(program)}: status {done.returncode}")
    print(textwrap.indent((done.stdout + done.stderr)[-1500:], "    "))
    return done.returncode == 0 and ": ok" in done.stdout and "the passes ran on" in done.stderr


def main() -> int:
    print(torch.cuda.get_device_name(), "triton", triton.__version__, "torch", torch.__version__)
    good = run_cases()
    good &= run_changed_pass()
    examples = ROOT / "examples"
    good &= run_program("unfuse-dot-acc,ttgir:count-ops", str(examples / "attention.py"))
    good &= run_program("swizzle-program-ids", str(examples / "gemm.py"))
    inductor = str(ROOT / "tools" / "bench" / "inductor_program.py")
    good &= run_program("explicit-other,ttgir:count-ops", inductor)
    print("all right" if good else "SOMETHING IS WRONG")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
