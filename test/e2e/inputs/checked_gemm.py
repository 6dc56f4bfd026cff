"""A right kernel, C = relu(A @ B + bias); test_seeded_faults.py breaks it in small ways.

Arguments: K, and `exact` to give it a reference of its own.
"""

import sys

import torch
import triton
import triton.language as tl

import flagc


@triton.jit
def gemm_bias_kernel(
    a_ptr,
    b_ptr,
    bias_ptr,
    c_ptr,
    M,
    N,
    K,
    stride_am,
    stride_bk,
    stride_cm,
    BLOCK: tl.constexpr,
):
    rows = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    columns = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    depth = tl.arange(0, BLOCK)
    c_offsets = rows[:, None] * stride_cm + columns[None, :]
    c_mask = (rows[:, None] < M) & (columns[None, :] < N)
    accumulator = tl.zeros((BLOCK, BLOCK), dtype=tl.float32)
    for start in range(0, K, BLOCK):
        inner = start + depth
        a_mask = (rows[:, None] < M) & (inner[None, :] < K)
        b_mask = (inner[:, None] < K) & (columns[None, :] < N)
        a = tl.load(a_ptr + rows[:, None] * stride_am + inner[None, :], mask=a_mask, other=0.0)
        b = tl.load(b_ptr + inner[:, None] * stride_bk + columns[None, :], mask=b_mask, other=0.0)
        accumulator = tl.dot(a, b, accumulator)
    bias = tl.load(bias_ptr + columns, mask=columns < N, other=0.0).to(tl.float32)
    result = accumulator + bias[None, :]
    result = tl.maximum(result, 0.0)
    tl.store(c_ptr + c_offsets, result.to(tl.float16), mask=c_mask)


def exact(a_ptr, b_ptr, bias_ptr, c_ptr, **rest):
    return {"c_ptr": torch.relu(a_ptr.double() @ b_ptr.double() + bias_ptr.double())}


if __name__ == "__main__":
    M, N, K = 150, 140, int(sys.argv[1])
    if "exact" in sys.argv:
        flagc.reference(gemm_bias_kernel)(exact)
    torch.manual_seed(0)
    a = torch.randn((M, K), dtype=torch.float16)
    b = torch.randn((K, N), dtype=torch.float16)
    bias = torch.randn(N, dtype=torch.float16) * K**0.5
    c = torch.full((M, N), float("nan"), dtype=torch.float16)
    grid = (triton.cdiv(M, 64), triton.cdiv(N, 64))
    strides = (a.stride(0), b.stride(0), c.stride(0))
    gemm_bias_kernel[grid](a, b, bias, c, M, N, K, *strides, BLOCK=64)
