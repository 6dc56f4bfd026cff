"""Two kernels: C = A @ B, then out = gelu(C + bias) + residual. `fuse-epilogue` makes one of them.

Arguments: M N K (default: 512 512 512).
"""

import sys

import torch
import triton
import triton.language as tl
from gemm import gemm


@triton.jit
def bias_gelu_kernel(x_ptr, bias_ptr, residual_ptr, out_ptr, numel, columns, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < numel
    x = tl.load(x_ptr + offsets, mask=mask).to(tl.float32)
    bias = tl.load(bias_ptr + offsets % columns, mask=mask).to(tl.float32)
    residual = tl.load(residual_ptr + offsets, mask=mask).to(tl.float32)
    sums = x + bias
    activated = 0.5 * sums * (1.0 + tl.erf(sums * 0.7071067811865476))
    tl.store(out_ptr + offsets, (activated + residual).to(tl.float16), mask=mask)


def gemm_then_gelu(a, b, bias, residual):
    c = gemm(a, b)
    out = torch.empty_like(c)
    grid = (triton.cdiv(c.numel(), 1024),)
    bias_gelu_kernel[grid](c, bias, residual, out, c.numel(), c.shape[1], BLOCK=1024)
    return out


if __name__ == "__main__":
    M, N, K = map(int, sys.argv[1:4]) if len(sys.argv) > 1 else (512, 512, 512)
    device = triton.runtime.driver.active.get_active_torch_device()
    torch.manual_seed(0)
    shapes = (M, K), (K, N), (N,), (M, N)
    a, b, bias, residual = (torch.randn(s, dtype=torch.float16, device=device) for s in shapes)
    out = gemm_then_gelu(a, b, bias, residual)
    sums = (a.float() @ b.float()) + bias.float()
    expected = torch.nn.functional.gelu(sums) + residual.float()
    torch.testing.assert_close(out.float(), expected, rtol=1e-2, atol=1e-1)
    print("gemm_then_gelu: ok")
