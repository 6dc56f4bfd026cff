"""GEMM with a fused epilogue: C = relu(A @ B + bias). On Ascend a mix kernel, cube and vector."""

import torch
import triton
import triton.language as tl


@triton.jit
def gemm_bias_act_kernel(
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
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
):
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    columns = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    depth = tl.arange(0, BLOCK_K)
    accumulator = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for start in range(0, K, BLOCK_K):
        inner = start + depth
        a_mask = (rows[:, None] < M) & (inner[None, :] < K)
        b_mask = (inner[:, None] < K) & (columns[None, :] < N)
        a = tl.load(a_ptr + rows[:, None] * stride_am + inner[None, :], mask=a_mask, other=0.0)
        b = tl.load(b_ptr + inner[:, None] * stride_bk + columns[None, :], mask=b_mask, other=0.0)
        accumulator = tl.dot(a, b, accumulator)
    bias = tl.load(bias_ptr + columns, mask=columns < N, other=0.0).to(tl.float32)
    activated = tl.maximum(accumulator + bias[None, :], 0.0)
    c_mask = (rows[:, None] < M) & (columns[None, :] < N)
    tl.store(
        c_ptr + rows[:, None] * stride_cm + columns[None, :], activated.to(tl.float16), mask=c_mask
    )


def gemm_bias_act(a, b, bias):
    M, K = a.shape
    _, N = b.shape
    c = torch.empty((M, N), dtype=torch.float16, device=a.device)
    grid = (triton.cdiv(M, 64), triton.cdiv(N, 64))
    strides = (a.stride(0), b.stride(0), c.stride(0))
    blocks = {"BLOCK_M": 64, "BLOCK_N": 64, "BLOCK_K": 64}
    gemm_bias_act_kernel[grid](a, b, bias, c, M, N, K, *strides, **blocks)
    return c


if __name__ == "__main__":
    device = triton.runtime.driver.active.get_active_torch_device()
    torch.manual_seed(0)
    a = torch.randn((200, 192), dtype=torch.float16, device=device)
    b = torch.randn((192, 320), dtype=torch.float16, device=device)
    bias = torch.randn(320, dtype=torch.float16, device=device)
    expected = torch.relu(a.float() @ b.float() + bias.float())
    torch.testing.assert_close(gemm_bias_act(a, b, bias).float(), expected, rtol=1e-2, atol=1e-1)
    print("gemm_bias_act: ok")
