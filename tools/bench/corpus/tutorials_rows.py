"""Row-wise, attention and small kernels in the style of Triton's tutorials, written afresh."""

from __future__ import annotations

import triton
import triton.language as tl
from triton.language.extra import libdevice


@triton.jit
def vector_add(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    total = tl.load(x_ptr + offsets, mask=mask) + tl.load(y_ptr + offsets, mask=mask)
    tl.store(out_ptr + offsets, total, mask=mask)


@triton.jit
def fused_softmax(out_ptr, in_ptr, stride_in, stride_out, rows, columns, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    mask = offsets < columns
    for row in tl.range(tl.program_id(0), rows, tl.num_programs(0)):
        x = tl.load(in_ptr + row * stride_in + offsets, mask=mask, other=-float("inf"))
        e = tl.exp(x - tl.max(x, axis=0))
        tl.store(out_ptr + row * stride_out + offsets, e / tl.sum(e, axis=0), mask=mask)


@triton.jit
def online_softmax(out_ptr, in_ptr, stride, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    top = tl.full([BLOCK], -float("inf"), tl.float32)
    total = tl.zeros([BLOCK], tl.float32)
    for start in range(0, columns, BLOCK):
        offsets = start + tl.arange(0, BLOCK)
        x = tl.load(in_ptr + row * stride + offsets, offsets < columns, -1e30).to(tl.float32)
        new = tl.maximum(top, x)
        total = total * tl.exp(top - new) + tl.exp(x - new)
        top = new
    peak = tl.max(top, 0)
    denominator = tl.sum(total * tl.exp(top - peak), 0)
    for start in range(0, columns, BLOCK):
        offsets = start + tl.arange(0, BLOCK)
        x = tl.load(in_ptr + row * stride + offsets, offsets < columns, 0.0).to(tl.float32)
        y = tl.exp(x - peak) / denominator
        tl.store(
            out_ptr + row * stride + offsets, y.to(out_ptr.dtype.element_ty), offsets < columns
        )


@triton.jit
def dropout(x_ptr, keep_ptr, out_ptr, n, p, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask)
    keep = tl.load(keep_ptr + offsets, mask=mask)
    tl.store(out_ptr + offsets, tl.where(keep, x / (1 - p), 0.0), mask=mask)


@triton.jit
def seeded_dropout(x_ptr, out_ptr, n, p, seed, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask)
    keep = tl.rand(seed, offsets) > p
    tl.store(out_ptr + offsets, tl.where(keep, x / (1 - p), 0.0), mask=mask)


@triton.jit
def layer_norm_forward(
    x_ptr, y_ptr, w_ptr, b_ptr, mean_ptr, rstd_ptr, stride, n, eps, BLOCK: tl.constexpr
):
    row = tl.program_id(0)
    x_ptr += row * stride
    y_ptr += row * stride
    total = tl.zeros([BLOCK], tl.float32)
    for start in range(0, n, BLOCK):
        offsets = start + tl.arange(0, BLOCK)
        total += tl.load(x_ptr + offsets, mask=offsets < n, other=0.0).to(tl.float32)
    mean = tl.sum(total, axis=0) / n
    squares = tl.zeros([BLOCK], tl.float32)
    for start in range(0, n, BLOCK):
        offsets = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + offsets, mask=offsets < n, other=0.0).to(tl.float32)
        centred = tl.where(offsets < n, x - mean, 0.0)
        squares += centred * centred
    rstd = 1 / tl.sqrt(tl.sum(squares, axis=0) / n + eps)
    tl.store(mean_ptr + row, mean)
    tl.store(rstd_ptr + row, rstd)
    for start in range(0, n, BLOCK):
        offsets = start + tl.arange(0, BLOCK)
        mask = offsets < n
        w = tl.load(w_ptr + offsets, mask=mask)
        b = tl.load(b_ptr + offsets, mask=mask)
        x = tl.load(x_ptr + offsets, mask=mask, other=0.0).to(tl.float32)
        tl.store(y_ptr + offsets, (x - mean) * rstd * w + b, mask=mask)


@triton.jit
def layer_norm_backward_dx(
    dx_ptr,
    dy_ptr,
    dw_ptr,
    db_ptr,
    x_ptr,
    w_ptr,
    mean_ptr,
    rstd_ptr,
    locks_ptr,
    stride,
    n,
    GROUP: tl.constexpr,
    BLOCK: tl.constexpr,
):
    row = tl.program_id(0)
    offsets = tl.arange(0, BLOCK)
    mask = offsets < n
    lock = row % GROUP
    x = tl.load(x_ptr + row * stride + offsets, mask=mask, other=0).to(tl.float32)
    dy = tl.load(dy_ptr + row * stride + offsets, mask=mask, other=0).to(tl.float32)
    w = tl.load(w_ptr + offsets, mask=mask).to(tl.float32)
    rstd = tl.load(rstd_ptr + row)
    hat = tl.where(mask, (x - tl.load(mean_ptr + row)) * rstd, 0.0)
    wdy = tl.where(mask, w * dy, 0.0)
    c1 = tl.sum(hat * wdy, axis=0) / n
    c2 = tl.sum(wdy, axis=0) / n
    tl.store(dx_ptr + row * stride + offsets, (wdy - (hat * c1 + c2)) * rstd, mask=mask)
    partial_dw = dy * hat
    partial_db = dy
    while tl.atomic_cas(locks_ptr + lock, 0, 1) == 1:
        pass
    count_ptr = locks_ptr + GROUP + lock
    if tl.load(count_ptr) == 0:
        tl.atomic_xchg(count_ptr, 1)
    else:
        partial_dw += tl.load(dw_ptr + lock * n + offsets, mask=mask)
        partial_db += tl.load(db_ptr + lock * n + offsets, mask=mask)
    tl.store(dw_ptr + lock * n + offsets, partial_dw, mask=mask)
    tl.store(db_ptr + lock * n + offsets, partial_db, mask=mask)
    tl.debug_barrier()
    tl.atomic_xchg(locks_ptr + lock, 0)


@triton.jit
def layer_norm_backward_dwdb(
    dw_ptr, db_ptr, out_dw_ptr, out_db_ptr, m, n, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr
):
    columns = tl.program_id(0) * BLOCK_N + tl.arange(0, BLOCK_N)
    dw = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    db = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    for start in range(0, m, BLOCK_M):
        rows = start + tl.arange(0, BLOCK_M)
        mask = (rows[:, None] < m) & (columns[None, :] < n)
        offsets = rows[:, None] * n + columns[None, :]
        dw += tl.load(dw_ptr + offsets, mask=mask, other=0.0)
        db += tl.load(db_ptr + offsets, mask=mask, other=0.0)
    tl.store(out_dw_ptr + columns, tl.sum(dw, axis=0), mask=columns < n)
    tl.store(out_db_ptr + columns, tl.sum(db, axis=0), mask=columns < n)


@triton.jit
def flash_attention_forward(
    q_ptr,
    k_ptr,
    v_ptr,
    out_ptr,
    lse_ptr,
    scale,
    length,
    HEAD: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    CAUSAL: tl.constexpr,
):
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    columns = tl.arange(0, BLOCK_N)
    depth = tl.arange(0, HEAD)
    base = tl.program_id(1).to(tl.int64) * length * HEAD
    q = tl.load(
        q_ptr + base + rows[:, None] * HEAD + depth[None, :], mask=rows[:, None] < length, other=0.0
    )
    top = tl.full([BLOCK_M], -float("inf"), tl.float32)
    total = tl.zeros([BLOCK_M], tl.float32)
    acc = tl.zeros([BLOCK_M, HEAD], tl.float32)
    end = tl.minimum((tl.program_id(0) + 1) * BLOCK_M, length) if CAUSAL else length
    for start in range(0, end, BLOCK_N):
        at = start + columns
        k = tl.load(
            k_ptr + base + at[None, :] * HEAD + depth[:, None], mask=at[None, :] < length, other=0.0
        )
        s = tl.dot(q, k) * scale
        s = tl.where(at[None, :] < length, s, -1.0e6)
        if CAUSAL:
            s = tl.where(rows[:, None] >= at[None, :], s, -1.0e6)
        new = tl.maximum(top, tl.max(s, 1))
        p = tl.exp(s - new[:, None])
        alpha = tl.exp(top - new)
        total = total * alpha + tl.sum(p, 1)
        v = tl.load(
            v_ptr + base + at[:, None] * HEAD + depth[None, :], mask=at[:, None] < length, other=0.0
        )
        acc = acc * alpha[:, None]
        acc = tl.dot(p.to(v.dtype), v, acc)
        top = new
    tl.store(lse_ptr + tl.program_id(1) * length + rows, top + tl.log(total), mask=rows < length)
    tl.store(
        out_ptr + base + rows[:, None] * HEAD + depth[None, :],
        (acc / total[:, None]).to(out_ptr.dtype.element_ty),
        mask=rows[:, None] < length,
    )


@triton.jit
def attention_backward_preprocess(
    out_ptr, do_ptr, delta_ptr, length, HEAD: tl.constexpr, BLOCK: tl.constexpr
):
    rows = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    at = tl.program_id(1) * length * HEAD + rows[:, None] * HEAD + tl.arange(0, HEAD)[None, :]
    delta = tl.sum(tl.load(out_ptr + at) * tl.load(do_ptr + at).to(tl.float32), axis=1)
    tl.store(delta_ptr + tl.program_id(1) * length + rows, delta)


@triton.jit
def attention_backward_dkdv(
    q_ptr,
    k_ptr,
    v_ptr,
    do_ptr,
    dk_ptr,
    dv_ptr,
    lse_ptr,
    delta_ptr,
    scale,
    length,
    HEAD: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
):
    columns = tl.program_id(0) * BLOCK_N + tl.arange(0, BLOCK_N)
    depth = tl.arange(0, HEAD)
    base = tl.program_id(1) * length * HEAD
    tile = columns[:, None] * HEAD + depth[None, :]
    k = tl.load(k_ptr + base + tile)
    v = tl.load(v_ptr + base + tile)
    dk = tl.zeros([BLOCK_N, HEAD], tl.float32)
    dv = tl.zeros([BLOCK_N, HEAD], tl.float32)
    for start in range(0, length, BLOCK_M):
        rows = start + tl.arange(0, BLOCK_M)
        at = rows[:, None] * HEAD + depth[None, :]
        q = tl.load(q_ptr + base + at)
        do = tl.load(do_ptr + base + at)
        lse = tl.load(lse_ptr + tl.program_id(1) * length + rows)
        p = tl.exp(tl.dot(k, tl.trans(q)) * scale - lse[None, :])
        dv += tl.dot(p.to(do.dtype), do)
        delta = tl.load(delta_ptr + tl.program_id(1) * length + rows)
        ds = p * (tl.dot(v, tl.trans(do)) - delta[None, :]) * scale
        dk += tl.dot(ds.to(q.dtype), q)
    tl.store(dk_ptr + base + tile, dk)
    tl.store(dv_ptr + base + tile, dv)


@triton.jit
def libdevice_asin(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < n)
    tl.store(out_ptr + offsets, libdevice.asin(x), mask=offsets < n)


@triton.jit
def rms_norm(x_ptr, w_ptr, y_ptr, stride, n, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    offsets = tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + row * stride + offsets, mask=mask, other=0.0).to(tl.float32)
    w = tl.load(w_ptr + offsets, mask=mask, other=0.0)
    y = x * tl.rsqrt(tl.sum(x * x, axis=0) / n + eps) * w
    tl.store(y_ptr + row * stride + offsets, y.to(y_ptr.dtype.element_ty), mask=mask)


@triton.jit
def combine(a, b, x, y):
    return a * x, y + x * b


@triton.jit
def linear_recurrence(a_ptr, b_ptr, h_ptr, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    pair = (tl.load(a_ptr + offsets), tl.load(b_ptr + offsets))
    _, h = tl.associative_scan(pair, 0, combine)
    tl.store(h_ptr + offsets, h)


@triton.jit
def transpose(x_ptr, y_ptr, m, n, BLOCK: tl.constexpr):
    rows = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    columns = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    mask = (rows[:, None] < m) & (columns[None, :] < n)
    x = tl.load(x_ptr + rows[:, None] * n + columns[None, :], mask=mask)
    tl.store(y_ptr + columns[:, None] * m + rows[None, :], tl.trans(x), mask=tl.trans(mask))


@triton.jit
def histogram(x_ptr, counts_ptr, n, BINS: tl.constexpr, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < n, other=0)
    tl.atomic_add(counts_ptr + tl.arange(0, BINS), tl.histogram(x, BINS))


@triton.jit
def sort_rows(x_ptr, y_ptr, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + offsets, tl.sort(tl.load(x_ptr + offsets)))


@triton.jit
def embedding_lookup(index_ptr, table_ptr, out_ptr, width, BLOCK: tl.constexpr):
    row = tl.load(index_ptr + tl.program_id(0))
    offsets = tl.arange(0, BLOCK)
    mask = offsets < width
    x = tl.load(table_ptr + row * width + offsets, mask=mask)
    tl.store(out_ptr + tl.program_id(0) * width + offsets, x, mask=mask)


@triton.jit
def inline_assembly(x_ptr, y_ptr, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets)
    y = tl.inline_asm_elementwise("ex2.approx.f32 $0, $1;", "=f,f", [x], tl.float32, True, 1)
    tl.store(y_ptr + offsets, y)


@triton.jit
def rotary(x_ptr, cos_ptr, sin_ptr, out_ptr, HALF: tl.constexpr):
    row = tl.program_id(0)
    offsets = tl.arange(0, HALF)
    a = tl.load(x_ptr + row * 2 * HALF + offsets)
    b = tl.load(x_ptr + row * 2 * HALF + HALF + offsets)
    c = tl.load(cos_ptr + offsets)
    s = tl.load(sin_ptr + offsets)
    tl.store(out_ptr + row * 2 * HALF + offsets, a * c - b * s)
    tl.store(out_ptr + row * 2 * HALF + HALF + offsets, b * c + a * s)


@triton.jit
def swiglu(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask, other=0.0).to(tl.float32)
    y = tl.load(y_ptr + offsets, mask=mask, other=0.0)
    tl.store(out_ptr + offsets, (x * tl.sigmoid(x)).to(y.dtype) * y, mask=mask)


@triton.jit
def cross_entropy(x_ptr, target_ptr, loss_ptr, stride, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    offsets = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * stride + offsets, mask=offsets < n, other=-float("inf"))
    top = tl.max(x, 0)
    target = tl.load(target_ptr + row)
    logit = tl.load(x_ptr + row * stride + target)
    tl.store(loss_ptr + row, tl.log(tl.sum(tl.exp(x - top), 0)) + top - logit)
