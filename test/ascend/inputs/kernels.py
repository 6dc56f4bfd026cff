"""Triton kernels behind the .ttir files of this folder; tests name lines of this file.

After a change run `python tools/maintenance/make_ascend_inputs.py`.
"""

import triton
import triton.language as tl
from triton.language.extra import libdevice


@triton.jit
def gemm(
    a,
    b,
    c,
    M,
    N,
    K,
    sam,
    sak,
    sbk,
    sbn,
    scm,
    scn,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
):
    pid_m = tl.program_id(0)
    pid_n = tl.program_id(1)
    rm = pid_m * BLOCK_M + tl.arange(0, BLOCK_M)
    rn = pid_n * BLOCK_N + tl.arange(0, BLOCK_N)
    rk = tl.arange(0, BLOCK_K)
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(0, K, BLOCK_K):
        kk = k + rk
        x = tl.load(
            a + rm[:, None] * sam + kk[None, :] * sak,
            mask=(rm[:, None] < M) & (kk[None, :] < K),
            other=0.0,
        )
        y = tl.load(
            b + kk[:, None] * sbk + rn[None, :] * sbn,
            mask=(kk[:, None] < K) & (rn[None, :] < N),
            other=0.0,
        )
        acc = tl.dot(x, y, acc)
    out = acc.to(c.dtype.element_ty)
    tl.store(
        c + rm[:, None] * scm + rn[None, :] * scn, out, mask=(rm[:, None] < M) & (rn[None, :] < N)
    )


@triton.jit
def gemm_bias_relu(
    a,
    b,
    bias,
    c,
    M,
    N,
    K,
    sam,
    sak,
    sbk,
    sbn,
    scm,
    scn,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
):
    pid_m = tl.program_id(0)
    pid_n = tl.program_id(1)
    rm = pid_m * BLOCK_M + tl.arange(0, BLOCK_M)
    rn = pid_n * BLOCK_N + tl.arange(0, BLOCK_N)
    rk = tl.arange(0, BLOCK_K)
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(0, K, BLOCK_K):
        kk = k + rk
        x = tl.load(
            a + rm[:, None] * sam + kk[None, :] * sak,
            mask=(rm[:, None] < M) & (kk[None, :] < K),
            other=0.0,
        )
        y = tl.load(
            b + kk[:, None] * sbk + rn[None, :] * sbn,
            mask=(kk[:, None] < K) & (rn[None, :] < N),
            other=0.0,
        )
        acc = tl.dot(x, y, acc)
    acc += tl.load(bias + rn, mask=rn < N, other=0.0)[None, :].to(tl.float32)
    acc = tl.maximum(acc, 0.0)
    out = acc.to(c.dtype.element_ty)
    tl.store(
        c + rm[:, None] * scm + rn[None, :] * scn, out, mask=(rm[:, None] < M) & (rn[None, :] < N)
    )


@triton.jit
def vector_add(x, y, out, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    tl.store(
        out + offs,
        tl.load(x + offs, mask=mask, other=0.0) + tl.load(y + offs, mask=mask, other=0.0),
        mask=mask,
    )


@triton.jit
def layernorm(x, w, b, out, stride, n, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    mask = cols < n
    v = tl.load(x + row * stride + cols, mask=mask, other=0.0).to(tl.float32)
    mean = tl.sum(v, axis=0) / n
    d = tl.where(mask, v - mean, 0.0)
    var = tl.sum(d * d, axis=0) / n
    rstd = 1.0 / tl.sqrt(var + eps)
    ww = tl.load(w + cols, mask=mask, other=0.0)
    bb = tl.load(b + cols, mask=mask, other=0.0)
    tl.store(out + row * stride + cols, d * rstd * ww + bb, mask=mask)


@triton.jit
def softmax(x, out, stride, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    mask = cols < n
    v = tl.load(x + row * stride + cols, mask=mask, other=-float("inf"))
    v = v - tl.max(v, axis=0)
    e = tl.exp(v)
    tl.store(out + row * stride + cols, e / tl.sum(e, axis=0), mask=mask)


@triton.jit
def attention(
    q,
    k,
    v,
    out,
    scale,
    seq,
    sq,
    sh,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    HEAD: tl.constexpr,
):
    start = tl.program_id(0)
    head = tl.program_id(1)
    rm = start * BLOCK_M + tl.arange(0, BLOCK_M)
    rd = tl.arange(0, HEAD)
    base = head * sh
    qq = tl.load(q + base + rm[:, None] * sq + rd[None, :], mask=rm[:, None] < seq, other=0.0)
    m = tl.full((BLOCK_M,), -float("inf"), tl.float32)
    lsum = tl.zeros((BLOCK_M,), tl.float32)
    acc = tl.zeros((BLOCK_M, HEAD), tl.float32)
    for n in range(0, seq, BLOCK_N):
        rn = n + tl.arange(0, BLOCK_N)
        kk = tl.load(k + base + rn[None, :] * sq + rd[:, None], mask=rn[None, :] < seq, other=0.0)
        s = tl.dot(qq, kk) * scale
        s = tl.where(rn[None, :] < seq, s, -float("inf"))
        mnew = tl.maximum(m, tl.max(s, 1))
        p = tl.exp(s - mnew[:, None])
        alpha = tl.exp(m - mnew)
        lsum = lsum * alpha + tl.sum(p, 1)
        acc = acc * alpha[:, None]
        vv = tl.load(v + base + rn[:, None] * sq + rd[None, :], mask=rn[:, None] < seq, other=0.0)
        acc += tl.dot(p.to(vv.dtype), vv)
        m = mnew
    acc = acc / lsum[:, None]
    tl.store(
        out + base + rm[:, None] * sq + rd[None, :],
        acc.to(out.dtype.element_ty),
        mask=rm[:, None] < seq,
    )


@triton.jit
def rmsnorm_loop(x, w, out, stride, n, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    s = tl.zeros((BLOCK,), tl.float32)
    for o in range(0, n, BLOCK):
        c = o + tl.arange(0, BLOCK)
        v = tl.load(x + row * stride + c, mask=c < n, other=0.0).to(tl.float32)
        s += v * v
    r = tl.rsqrt(tl.sum(s, 0) / n + eps)
    for o in range(0, n, BLOCK):
        c = o + tl.arange(0, BLOCK)
        v = tl.load(x + row * stride + c, mask=c < n, other=0.0).to(tl.float32)
        g = tl.load(w + c, mask=c < n, other=0.0).to(tl.float32)
        tl.store(out + row * stride + c, (v * r * g).to(out.dtype.element_ty), mask=c < n)


@triton.jit
def cumsum(x, out, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    v = tl.load(x + row * n + c, mask=c < n, other=0.0)
    tl.store(out + row * n + c, tl.cumsum(v, 0), mask=c < n)


@triton.jit
def while_sum(x, out, n, BLOCK: tl.constexpr):
    i = 0
    s = tl.zeros((BLOCK,), tl.float32)
    while i < n:
        c = i + tl.arange(0, BLOCK)
        s += tl.load(x + c, mask=c < n, other=0.0)
        i += BLOCK
    tl.store(out, tl.sum(s, 0))


@triton.jit
def gather_without_other(x, index, out, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    i = tl.load(index + offs, mask=offs < n, other=0)
    v = tl.load(x + i, mask=(offs < n) & (i > 3))
    tl.store(out + offs, v, mask=offs < n)


@triton.jit
def log_gamma(x, out, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + offs, mask=offs < n, other=0.0)
    tl.store(out + offs, libdevice.lgamma(v), mask=offs < n)


@triton.jit
def assumed(x, out, n, BLOCK: tl.constexpr):
    tl.assume(n > 0)
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + offs, mask=offs < n, other=0.0)
    tl.store(out + offs, v, mask=offs < n)


@triton.jit
def to_fp8(x, out, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + offs, mask=offs < n, other=0.0)
    tl.store(out + offs, v.to(tl.float8e5), mask=offs < n)
