"""Situations that users reported, as a script: its first argument names one.

`tail-other`: loads without `other`, K no multiple of the block. `block-k-24`, `k-tail-72`: odd
depths of a tile. `split-k`: four programs add their parts of K into an fp16 C that starts at 0,
or with the second argument `dirty` does not. `int8`: an int32 accumulator is handed to the dot.
"""

import sys

import torch
import triton
import triton.language as tl


@triton.jit
def gemm_kernel(
    a_ptr,
    b_ptr,
    c_ptr,
    M,
    N,
    K,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
    SPLIT: tl.constexpr,
    ADD: tl.constexpr,
):
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    columns = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    depth = tl.arange(0, BLOCK_K)
    kind = tl.int32 if a_ptr.dtype.element_ty == tl.int8 else tl.float32
    accumulator = tl.zeros((BLOCK_M, BLOCK_N), dtype=kind)
    for start in range(tl.program_id(2) * BLOCK_K, K, SPLIT * BLOCK_K):
        inner = start + depth
        a_mask = (rows[:, None] < M) & (inner[None, :] < K)
        b_mask = (inner[:, None] < K) & (columns[None, :] < N)
        a = tl.load(a_ptr + rows[:, None] * K + inner[None, :], mask=a_mask)
        b = tl.load(b_ptr + inner[:, None] * N + columns[None, :], mask=b_mask)
        accumulator = tl.dot(a, b, accumulator, out_dtype=kind)
    c = accumulator.to(c_ptr.dtype.element_ty)
    c_ptrs = c_ptr + rows[:, None] * N + columns[None, :]
    c_mask = (rows[:, None] < M) & (columns[None, :] < N)
    if ADD:
        tl.atomic_add(c_ptrs, c, mask=c_mask)
    else:
        tl.store(c_ptrs, c, mask=c_mask)


def run(M, N, K, blocks, split=1, dtype=torch.float16, start=0.0):
    if dtype == torch.int8:
        a = torch.randint(-128, 128, (M, K), dtype=dtype)
        b = torch.randint(-128, 128, (K, N), dtype=dtype)
        c = torch.zeros((M, N), dtype=torch.int32)
    else:
        a, b = torch.randn(M, K).to(dtype), torch.randn(K, N).to(dtype)
        c = torch.full((M, N), start, dtype=dtype)
    grid = (triton.cdiv(M, blocks[0]), triton.cdiv(N, blocks[1]), split)
    gemm_kernel[grid](a, b, c, M, N, K, *blocks, SPLIT=split, ADD=split > 1)


case = sys.argv[1]
if case == "tail-other":
    run(100, 99, 101, (64, 64, 64))
elif case == "block-k-24":
    run(64, 64, 240, (32, 32, 24))
elif case == "k-tail-72":
    run(64, 128, 200, (64, 128, 128))
elif case == "split-k":
    run(64, 64, 2048, (64, 64, 64), split=4, start=5.0 if "dirty" in sys.argv else 0.0)
elif case == "int8":
    run(100, 70, 130, (64, 64, 64), dtype=torch.int8)
