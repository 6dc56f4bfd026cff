"""The case ub-overflow: a vector kernel over a block that the unified buffer cannot hold."""

import torch
import triton
import triton.language as tl


@triton.jit
def scale_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < n, other=0.0)
    tl.store(out_ptr + offsets, x * 2.0, mask=offsets < n)


x = torch.randn(131072)
scale_kernel[(1,)](x, torch.empty_like(x), x.numel(), BLOCK=65536)
