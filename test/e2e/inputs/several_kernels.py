"""Several kernels: plain, autotuned, with heuristics, launched with different types and grids."""

import torch
import triton
import triton.language as tl


@triton.jit
def copy_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + offsets, tl.load(x_ptr + offsets, mask=offsets < n), mask=offsets < n)


@triton.autotune(
    configs=[
        triton.Config({"BLOCK": 128}, num_warps=2),
        triton.Config({"BLOCK": 256}, num_warps=8),
        triton.Config({"BLOCK": 512}, num_warps=4),
    ],
    key=["n"],
)
@triton.jit
def tuned_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + offsets, tl.load(x_ptr + offsets, mask=offsets < n) * 2, mask=offsets < n)


@triton.heuristics({"EVEN": lambda arguments: arguments["n"] % arguments["BLOCK"] == 0})
@triton.jit
def heuristic_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr, EVEN: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    if EVEN:
        tl.store(out_ptr + offsets, tl.load(x_ptr + offsets))
    else:
        tl.store(out_ptr + offsets, tl.load(x_ptr + offsets, mask=offsets < n), mask=offsets < n)


x, y = torch.zeros(1024), torch.zeros(1000)
half = torch.zeros(1024, dtype=torch.float16)
copy_kernel[(8,)](x, torch.empty_like(x), 1024, BLOCK=128)
copy_kernel[(16,)](x, torch.empty_like(x), 1024, BLOCK=128)
copy_kernel[(8, 1, 1)](half, torch.empty_like(half), 1024, BLOCK=128)
tuned_kernel[lambda meta: (triton.cdiv(1000, meta["BLOCK"]),)](y, torch.empty_like(y), 1000)
heuristic_kernel[(8,)](x, torch.empty_like(x), 1024, BLOCK=128)
heuristic_kernel[(8,)](y, torch.empty_like(y), 1000, BLOCK=128)
