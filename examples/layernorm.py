"""Layer normalisation over the rows of a matrix, in fp32 from fp16 data."""

import torch
import triton
import triton.language as tl


@triton.jit
def layernorm_kernel(
    x_ptr, weight_ptr, bias_ptr, out_ptr, row_stride, columns, eps, BLOCK: tl.constexpr
):
    row = tl.program_id(0)
    offsets = tl.arange(0, BLOCK)
    mask = offsets < columns
    x = tl.load(x_ptr + row * row_stride + offsets, mask=mask, other=0.0).to(tl.float32)
    mean = tl.sum(x, axis=0) / columns
    centred = tl.where(mask, x - mean, 0.0)
    variance = tl.sum(centred * centred, axis=0) / columns
    weight = tl.load(weight_ptr + offsets, mask=mask, other=0.0).to(tl.float32)
    bias = tl.load(bias_ptr + offsets, mask=mask, other=0.0).to(tl.float32)
    normalised = centred * (1.0 / tl.sqrt(variance + eps)) * weight + bias
    tl.store(out_ptr + row * row_stride + offsets, normalised.to(tl.float16), mask=mask)


def layernorm(x, weight, bias, eps=1e-5):
    out = torch.empty_like(x)
    rows, columns = x.shape
    block = triton.next_power_of_2(columns)
    layernorm_kernel[(rows,)](x, weight, bias, out, x.stride(0), columns, eps, BLOCK=block)
    return out


if __name__ == "__main__":
    device = triton.runtime.driver.active.get_active_torch_device()
    torch.manual_seed(0)
    x = torch.randn((128, 1000), dtype=torch.float16, device=device)
    weight = torch.rand(1000, dtype=torch.float16, device=device)
    bias = torch.rand(1000, dtype=torch.float16, device=device)
    expected = torch.nn.functional.layer_norm(x, (1000,), weight, bias, 1e-5)
    torch.testing.assert_close(layernorm(x, weight, bias), expected, rtol=1e-2, atol=1e-2)
    print("layernorm: ok")
