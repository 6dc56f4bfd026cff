"""A masked fp16 GEMM: C = A @ B with 128x128x64 tiles, any M, N and K."""

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
    stride_am,
    stride_ak,
    stride_bk,
    stride_bn,
    stride_cm,
    stride_cn,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
):
    row_tile = tl.program_id(0)
    column_tile = tl.program_id(1)
    rows = row_tile * BLOCK_M + tl.arange(0, BLOCK_M)
    columns = column_tile * BLOCK_N + tl.arange(0, BLOCK_N)
    depth = tl.arange(0, BLOCK_K)
    accumulator = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for start in range(0, K, BLOCK_K):
        inner = start + depth
        a_mask = (rows[:, None] < M) & (inner[None, :] < K)
        b_mask = (inner[:, None] < K) & (columns[None, :] < N)
        a = tl.load(
            a_ptr + rows[:, None] * stride_am + inner[None, :] * stride_ak, mask=a_mask, other=0.0
        )
        b = tl.load(
            b_ptr + inner[:, None] * stride_bk + columns[None, :] * stride_bn,
            mask=b_mask,
            other=0.0,
        )
        accumulator = tl.dot(a, b, accumulator)
    c_mask = (rows[:, None] < M) & (columns[None, :] < N)
    c = accumulator.to(tl.float16)
    tl.store(c_ptr + rows[:, None] * stride_cm + columns[None, :] * stride_cn, c, mask=c_mask)


def gemm(a, b):
    M, K = a.shape
    _, N = b.shape
    c = torch.empty((M, N), dtype=torch.float16, device=a.device)
    grid = (triton.cdiv(M, 128), triton.cdiv(N, 128))
    strides = (*a.stride(), *b.stride(), *c.stride())
    gemm_kernel[grid](a, b, c, M, N, K, *strides, BLOCK_M=128, BLOCK_N=128, BLOCK_K=64)
    return c


if __name__ == "__main__":
    device = triton.runtime.driver.active.get_active_torch_device()
    torch.manual_seed(0)
    a = torch.randn((512, 512), dtype=torch.float16, device=device)
    b = torch.randn((512, 512), dtype=torch.float16, device=device)
    c = gemm(a, b)
    torch.testing.assert_close(c.float(), a.float() @ b.float(), rtol=1e-2, atol=1e-1)
    print("gemm: ok")
