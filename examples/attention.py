"""Attention forward (flash attention): softmax(Q K^T * scale) V, online softmax, one head a row."""

import torch
import triton
import triton.language as tl


@triton.jit
def attention_kernel(
    q_ptr,
    k_ptr,
    v_ptr,
    out_ptr,
    scale,
    length,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    HEAD: tl.constexpr,
):
    block_row, head_index = tl.program_id(0), tl.program_id(1)
    base = head_index * length * HEAD
    rows = block_row * BLOCK_M + tl.arange(0, BLOCK_M)
    head = tl.arange(0, HEAD)
    q_offsets = base + rows[:, None] * HEAD + head[None, :]
    q = tl.load(q_ptr + q_offsets, mask=rows[:, None] < length, other=0.0)
    maximum = tl.full((BLOCK_M,), -1.0e30, tl.float32)
    total = tl.zeros((BLOCK_M,), tl.float32)
    accumulator = tl.zeros((BLOCK_M, HEAD), tl.float32)
    for start in range(0, length, BLOCK_N):
        columns = start + tl.arange(0, BLOCK_N)
        kv_offsets = base + columns[:, None] * HEAD + head[None, :]
        k = tl.load(k_ptr + kv_offsets, mask=columns[:, None] < length, other=0.0)
        v = tl.load(v_ptr + kv_offsets, mask=columns[:, None] < length, other=0.0)
        scores = tl.dot(q, tl.trans(k)) * scale
        scores = tl.where(columns[None, :] < length, scores, -1.0e30)
        new_maximum = tl.maximum(maximum, tl.max(scores, 1))
        correction = tl.exp(maximum - new_maximum)
        weights = tl.exp(scores - new_maximum[:, None])
        total = total * correction + tl.sum(weights, 1)
        accumulator = accumulator * correction[:, None]
        accumulator += tl.dot(weights.to(tl.float16), v)
        maximum = new_maximum
    out = accumulator / total[:, None]
    tl.store(out_ptr + q_offsets, out.to(tl.float16), mask=rows[:, None] < length)


def attention(q, k, v):
    heads, length, head = q.shape
    out = torch.empty_like(q)
    grid = (triton.cdiv(length, 64), heads)
    attention_kernel[grid](q, k, v, out, head**-0.5, length, BLOCK_M=64, BLOCK_N=64, HEAD=head)
    return out


if __name__ == "__main__":
    device = triton.runtime.driver.active.get_active_torch_device()
    torch.manual_seed(0)
    q, k, v = (torch.randn((4, 200, 64), dtype=torch.float16, device=device) for _ in range(3))
    expected = torch.nn.functional.scaled_dot_product_attention(q.float(), k.float(), v.float())
    torch.testing.assert_close(attention(q, k, v).float(), expected, rtol=1e-2, atol=1e-2)
    print("attention: ok")
