"""Two kernels: C = A @ B, then out = gelu(C + bias) + residual. `fuse-epilogue` makes one of them.

Arguments: M N K (default: 512 512 128).
"""

import sys

import torch
import triton
import triton.language as tl
from gemm import gemm, gemm_kernel

import flagc


@triton.jit
def bias_gelu_kernel(x_ptr, bias_ptr, residual_ptr, out_ptr, numel, columns, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < numel
    x = tl.load(x_ptr + offsets, mask=mask, other=0.0).to(tl.float32)
    bias = tl.load(bias_ptr + offsets % columns, mask=mask, other=0.0).to(tl.float32)
    residual = tl.load(residual_ptr + offsets, mask=mask, other=0.0).to(tl.float32)
    sums = x + bias
    activated = 0.5 * sums * (1.0 + tl.erf(sums * 0.7071067811865476))
    tl.store(out_ptr + offsets, (activated + residual).to(tl.float16), mask=mask)


def gemm_then_gelu(a, b, bias, residual):
    c = gemm(a, b)
    out = torch.empty_like(c)
    grid = (triton.cdiv(c.numel(), 1024),)
    bias_gelu_kernel[grid](c, bias, residual, out, c.numel(), c.shape[1], BLOCK=1024)
    return out


@flagc.reference((gemm_kernel, bias_gelu_kernel))
def in_float64(a_ptr, b_ptr, bias_ptr, residual_ptr, **rest):
    c = (a_ptr.double() @ b_ptr.double()).half()  # as the first kernel rounds it
    activated = torch.nn.functional.gelu(c.double() + bias_ptr.double())
    return {"out_ptr": activated + residual_ptr.double()}


@flagc.baseline((gemm_kernel, bias_gelu_kernel), name="addmm, gelu, add")
def with_torch(a_ptr, b_ptr, bias_ptr, residual_ptr, **rest):
    return {"out_ptr": torch.nn.functional.gelu(torch.addmm(bias_ptr, a_ptr, b_ptr)) + residual_ptr}


@flagc.work((gemm_kernel, bias_gelu_kernel))
def work(M, N, K, **rest):
    return {"flops": 2 * M * N * K, "bytes": 2 * (M * K + K * N + N + 2 * M * N)}


if __name__ == "__main__":
    M, N, K = map(int, sys.argv[1:4]) if len(sys.argv) > 1 else (512, 512, 128)
    device = triton.runtime.driver.active.get_active_torch_device()
    torch.manual_seed(0)
    shapes = (M, K), (K, N), (N,), (M, N)
    a, b, bias, residual = (torch.randn(s, dtype=torch.float16, device=device) for s in shapes)
    out = gemm_then_gelu(a, b, bias, residual)
    sums = a.float() @ b.float() + bias.float()
    expected = torch.nn.functional.gelu(sums) + residual.float()
    torch.testing.assert_close(out.float(), expected, rtol=1e-2, atol=1e-1)
    print("gemm_then_gelu: ok")
