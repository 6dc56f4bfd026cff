"""GEMMs with epilogues that vector cores compute; KIND chooses one."""

import triton
import triton.language as tl
from triton.language.extra import libdevice


@triton.jit
def product(
    a,
    b,
    c,
    d,
    x,
    row,
    column,
    alpha,
    M,
    N,
    K,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
    KIND: tl.constexpr,
    SUM: tl.constexpr,
):
    """c = epilogue(a @ b) of row-major matrices; `x` and `d` lie like c, or x like b (swiglu)."""
    rm = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    rn = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    rk = tl.arange(0, BLOCK_K)
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=SUM)
    other = tl.zeros((BLOCK_M, BLOCK_N), dtype=SUM)
    for k in range(0, K, BLOCK_K):
        kk = k + rk
        b_mask = (kk[:, None] < K) & (rn[None, :] < N)
        p = tl.load(
            a + rm[:, None] * K + kk[None, :],
            mask=(rm[:, None] < M) & (kk[None, :] < K),
            other=0,
        )
        q = tl.load(b + kk[:, None] * N + rn[None, :], mask=b_mask, other=0)
        acc = tl.dot(p, q, acc, out_dtype=SUM)
        if KIND == "swiglu":
            q = tl.load(x + kk[:, None] * N + rn[None, :], mask=b_mask, other=0)
            other = tl.dot(p, q, other, out_dtype=SUM)
    inside = (rm[:, None] < M) & (rn[None, :] < N)
    at = rm[:, None] * N + rn[None, :]
    if KIND == "rows" or KIND == "dequantise":
        r = tl.load(row + rn, mask=rn < N, other=0.0).to(tl.float32)[None, :]
    if KIND == "rows" or KIND == "dequantise" or KIND == "power":
        m = tl.load(column + rm, mask=rm < M, other=0.0).to(tl.float32)[:, None]
    y = acc
    if KIND == "alpha":
        y = acc * alpha
    elif KIND == "silu":
        y = acc * (1.0 / (1.0 + tl.exp(-acc)))
    elif KIND == "swiglu":
        y = acc * tl.sigmoid(acc) * other
    elif KIND == "rows":
        y = acc * m + r
    elif KIND == "dequantise":
        y = acc.to(tl.float32) * (m * r)
    elif KIND == "leaky":
        y = tl.where(acc > 0, acc, acc * 0.01)
    elif KIND == "halves":
        y = acc.to(tl.float16) * 0.5 + tl.load(x + at, mask=inside, other=0.0)
    elif KIND == "clamp":
        y = tl.minimum(tl.maximum(acc, -1.0), alpha)
    elif KIND == "tanh":
        y = libdevice.tanh(acc * 0.125)
    elif KIND == "roots":
        y = tl.sqrt(tl.abs(acc)) - tl.math.rsqrt(tl.abs(acc) + 1.0)
    elif KIND == "both":
        tl.store(d + at, acc * 2.0, mask=inside)
        y = acc + 1.0
    elif KIND == "in-place":
        y = acc * 0.5 + tl.load(c + at, mask=inside, other=0.0).to(tl.float32)
    elif KIND == "quotient":
        y = acc / (1.0 + tl.abs(acc))
    elif KIND == "power":
        y = tl.exp2(m - tl.abs(acc))
    elif KIND == "add":
        y = acc * 0.5
    elif KIND == "bands":
        y = tl.where((acc > 1.0) & (acc < 2.0) | (acc < -1.0), 0.0, acc)
    elif KIND == "int bias":
        y = acc + tl.load(row + rn, mask=rn < N, other=0)[None, :] * 3
    if KIND == "add":
        tl.atomic_add(c + at, y, mask=inside)
    else:
        tl.store(c + at, y.to(c.dtype.element_ty), mask=inside)
