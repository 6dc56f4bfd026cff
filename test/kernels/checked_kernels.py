"""Kernels for the reference interpreter."""

import triton
import triton.language as tl


@triton.jit
def careless_sum(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    """Sum rows of 1 in a type that cannot hold the sum."""
    total = tl.zeros((BLOCK,), dtype=tl.float16)
    for start in range(0, n):
        x = tl.load(x_ptr + start * BLOCK + tl.arange(0, BLOCK))
        total = (total + x).to(tl.float16)
    tl.store(out_ptr + tl.arange(0, BLOCK), total.to(tl.float32))


@triton.jit
def bits_of(x_ptr, out_ptr, BLOCK: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, BLOCK))
    tl.store(out_ptr + tl.arange(0, BLOCK), x.to(tl.int16, bitcast=True) & 0x7FFF)


@triton.jit
def scaled_bf16(x_ptr, y_ptr, out_ptr, BLOCK: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, BLOCK))
    y = tl.load(y_ptr + tl.arange(0, BLOCK))
    tl.store(out_ptr + tl.arange(0, BLOCK), x * 1.5 + tl.abs(y))


@triton.jit
def split_sum(x_ptr, out_ptr, BLOCK: tl.constexpr):
    """Every program adds its row to the one row of the output."""
    lanes = tl.arange(0, BLOCK)
    tl.atomic_add(out_ptr + lanes, tl.load(x_ptr + tl.program_id(0) * BLOCK + lanes))


@triton.jit
def product(a_ptr, b_ptr, c_ptr, K, BLOCK: tl.constexpr):
    """C = A @ B of one BLOCK x BLOCK tile; the loads give no `other`."""
    lanes = tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK, BLOCK), dtype=tl.float32)
    for start in range(0, K, BLOCK):
        inner = start + lanes
        a = tl.load(a_ptr + lanes[:, None] * K + inner[None, :], mask=inner[None, :] < K)
        b = tl.load(b_ptr + inner[:, None] * BLOCK + lanes[None, :], mask=inner[:, None] < K)
        total = tl.dot(a, b, total)
    tl.store(c_ptr + lanes[:, None] * BLOCK + lanes[None, :], total)


@triton.jit
def double_in_place(x_ptr, out_ptr, BLOCK: tl.constexpr):
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + lanes, tl.load(x_ptr + lanes) * 2)


@triton.jit
def to_int8(x_ptr, out_ptr, BLOCK: tl.constexpr):
    """Quantise: the product lies on the border of two integers, or beside it."""
    lanes = tl.arange(0, BLOCK)
    tl.store(out_ptr + lanes, (tl.load(x_ptr + lanes) * 0.29).to(tl.int8))
