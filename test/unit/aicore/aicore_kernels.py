"""Kernels that the emulator's tests need beyond test/ascend/inputs/kernels.py."""

import triton
import triton.language as tl


@triton.jit
def transpose(x, out, A: tl.constexpr, B: tl.constexpr):
    i, j = tl.arange(0, A), tl.arange(0, B)
    v = tl.load(x + i[:, None] * B + j[None, :])
    tl.store(out + j[:, None] * A + i[None, :], tl.trans(v))


@triton.jit
def gather(x, index, out, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out + i, tl.gather(tl.load(x + i), tl.load(index + i), 0))


@triton.jit
def interleave(x, y, out, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out + tl.arange(0, 2 * N), tl.interleave(tl.load(x + i), tl.load(y + i)))


@triton.jit
def every_second(x, out, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out + i, tl.load(x + 2 * i))


@triton.jit
def sort(x, out, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out + i, tl.sort(tl.load(x + i)))


@triton.jit
def argmax(x, out, n, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out, tl.argmax(tl.load(x + i, mask=i < n, other=-float("inf")), 0))


@triton.jit
def column_sums(x, out, A: tl.constexpr, B: tl.constexpr):
    i, j = tl.arange(0, A), tl.arange(0, B)
    tl.store(out + j, tl.sum(tl.load(x + i[:, None] * B + j[None, :]), 0))


@triton.jit
def pointwise(x, y, out, n, OP: tl.constexpr, N: tl.constexpr):
    i = tl.program_id(0) * N + tl.arange(0, N)
    a = tl.load(x + i, mask=i < n, other=1)
    b = tl.load(y + i, mask=i < n, other=1)
    if OP == "add":
        r = a + b
    elif OP == "div":
        r = a / b
    elif OP == "where":
        r = tl.where(a > b, a, b * 2)
    elif OP == "lt":
        r = a < b
    elif OP == "xor":
        r = a ^ b
    elif OP == "shr":
        r = a >> (b & 7)
    elif OP == "idiv":
        r = a // b
    elif OP == "log":
        r = tl.log(tl.abs(a))
    elif OP == "rsqrt":
        r = tl.rsqrt(tl.abs(a))
    elif OP == "erf":
        r = tl.erf(a)
    else:
        r = a
    tl.store(out + i, r.to(out.dtype.element_ty), mask=i < n)


@triton.jit
def split_k(
    a, b, c, M, N, K,
    BLOCK: tl.constexpr, BLOCK_K: tl.constexpr, SPLIT: tl.constexpr, FORM: tl.constexpr,
):  # fmt: skip
    """Combines with c, as FORM says, a dot over every SPLIT-th block of K."""
    rm = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    rn = tl.arange(0, BLOCK)
    acc = tl.zeros((BLOCK, BLOCK), tl.float32)
    for k in range(0, tl.cdiv(K, BLOCK_K * SPLIT)):
        rk = (k * SPLIT + tl.program_id(1)) * BLOCK_K + tl.arange(0, BLOCK_K)
        x = tl.load(
            a + rm[:, None] * K + rk[None, :],
            mask=(rm[:, None] < M) & (rk[None, :] < K),
            other=0.0,
        )
        y = tl.load(
            b + rk[:, None] * N + rn[None, :],
            mask=(rk[:, None] < K) & (rn[None, :] < N),
            other=0.0,
        )
        acc += tl.dot(x, y)
    place = c + rm[:, None] * N + rn[None, :]
    mask = (rm[:, None] < M) & (rn[None, :] < N)
    if FORM == "dot":
        tl.atomic_add(place, acc, mask=mask)
    elif FORM == "half":
        tl.atomic_add(place, acc.to(tl.float16), mask=mask)
    elif FORM == "scaled":
        tl.atomic_add(place, acc * 1.5, mask=mask)
    elif FORM == "rows":
        tl.atomic_add(c + rm, tl.sum(acc, axis=1), mask=rm < M)
    elif FORM == "max":
        tl.atomic_max(place, acc, mask=mask)
    elif FORM == "scattered":
        tl.atomic_add(c + (rm % 7)[:, None] * N + rn[None, :], acc, mask=mask)
    elif FORM == "all":
        tl.atomic_add(c, tl.sum(acc))
    elif FORM == "exchange":
        tl.atomic_xchg(place, acc, mask=mask)
    elif FORM == "old":
        tl.store(place, tl.atomic_add(place, acc, mask=mask), mask=mask)


@triton.jit
def batched_dot(a, b, c, A: tl.constexpr, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    """One block multiplies A pairs of matrices with one three-dimensional dot."""
    i, m, n, k = tl.arange(0, A), tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    i = i[:, None, None]
    x = tl.load(a + i * (M * K) + m[None, :, None] * K + k[None, None, :])
    y = tl.load(b + i * (K * N) + k[None, :, None] * N + n[None, None, :])
    place = i * (M * N) + m[None, :, None] * N + n[None, None, :]
    tl.store(c + place, tl.dot(x, y).to(c.dtype.element_ty))


@triton.jit
def attention(
    q,
    k,
    v,
    out,
    scale,
    seq,
    stride_row,
    stride_head,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    HEAD: tl.constexpr,
    CAUSAL: tl.constexpr,
):
    start = tl.program_id(0) * BLOCK_M
    base = tl.program_id(1) * stride_head
    rm, rd = start + tl.arange(0, BLOCK_M), tl.arange(0, HEAD)
    rows = rm[:, None] < seq
    place = base + rm[:, None] * stride_row + rd[None, :]
    qq = tl.load(q + place, mask=rows, other=0.0)
    best = tl.full((BLOCK_M,), -float("inf"), tl.float32)
    total = tl.zeros((BLOCK_M,), tl.float32)
    acc = tl.zeros((BLOCK_M, HEAD), tl.float32)
    last = tl.minimum(start + BLOCK_M, seq) if CAUSAL else seq
    for n in range(0, last, BLOCK_N):
        rn = n + tl.arange(0, BLOCK_N)
        columns = rn[None, :] < seq
        kk = tl.load(k + base + rn[None, :] * stride_row + rd[:, None], mask=columns, other=0.0)
        s = tl.dot(qq, kk) * scale
        seen = columns & (rn[None, :] <= rm[:, None]) if CAUSAL else columns
        s = tl.where(seen, s, -float("inf"))
        higher = tl.maximum(best, tl.max(s, 1))
        p = tl.exp(s - higher[:, None])
        shrink = tl.exp(best - higher)
        total = total * shrink + tl.sum(p, 1)
        vv = tl.load(
            v + base + rn[:, None] * stride_row + rd[None, :], mask=rn[:, None] < seq, other=0.0
        )
        acc = acc * shrink[:, None] + tl.dot(p.to(vv.dtype), vv)
        best = higher
    tl.store(out + place, (acc / total[:, None]).to(out.dtype.element_ty), mask=rows)


@triton.jit
def softmax_in_a_loop(x, out, stride, n, BLOCK: tl.constexpr):
    row = tl.program_id(0) * stride
    best = tl.full((BLOCK,), -float("inf"), tl.float32)
    for start in range(0, n, BLOCK):
        c = start + tl.arange(0, BLOCK)
        best = tl.maximum(best, tl.load(x + row + c, mask=c < n, other=-float("inf")))
    top = tl.max(best, 0)
    total = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, n, BLOCK):
        c = start + tl.arange(0, BLOCK)
        total += tl.exp(tl.load(x + row + c, mask=c < n, other=-float("inf")) - top)
    whole = tl.sum(total, 0)
    for start in range(0, n, BLOCK):
        c = start + tl.arange(0, BLOCK)
        v = tl.load(x + row + c, mask=c < n, other=-float("inf"))
        tl.store(out + row + c, tl.exp(v - top) / whole, mask=c < n)


@triton.jit
def rmsnorm(x, w, out, stride, n, eps, BLOCK: tl.constexpr):
    c = tl.arange(0, BLOCK)
    v = tl.load(x + tl.program_id(0) * stride + c, mask=c < n, other=0.0).to(tl.float32)
    r = tl.rsqrt(tl.sum(v * v, 0) / n + eps)
    g = tl.load(w + c, mask=c < n, other=0.0).to(tl.float32)
    tl.store(out + tl.program_id(0) * stride + c, (v * r * g).to(out.dtype.element_ty), mask=c < n)


@triton.jit
def cross_entropy(logits, target, loss, stride, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    x = tl.load(logits + row * stride + c, mask=c < n, other=-float("inf")).to(tl.float32)
    right = tl.load(logits + row * stride + tl.load(target + row)).to(tl.float32)
    top = tl.max(x, 0)
    tl.store(loss + row, tl.log(tl.sum(tl.exp(x - top), 0)) + top - right)


@triton.jit
def gather_rows(x, index, out, width, BLOCK: tl.constexpr):
    """out[i] = x[index[i]], a row of `width` elements a block."""
    c = tl.arange(0, BLOCK)
    i = tl.program_id(0)
    source = tl.load(index + i)
    tl.store(out + i * width + c, tl.load(x + source * width + c, mask=c < width), mask=c < width)


@triton.jit
def gather_elements(x, index, out, n, BLOCK: tl.constexpr):
    c = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    i = tl.load(index + c, mask=c < n, other=0)
    tl.store(out + c, tl.load(x + i, mask=c < n, other=0.0), mask=c < n)


@triton.jit
def scatter_elements(x, index, out, n, BLOCK: tl.constexpr):
    c = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    i = tl.load(index + c, mask=c < n, other=0)
    tl.store(out + i, tl.load(x + c, mask=c < n, other=0.0), mask=c < n)


@triton.jit
def topk(x, out, N: tl.constexpr, K: tl.constexpr):
    tl.store(out + tl.arange(0, K), tl.topk(tl.load(x + tl.arange(0, N)), K))


@triton.jit
def pick_one(x, index, out, N):
    row = tl.program_id(0).to(tl.int64)
    lane = tl.arange(0, 1)
    chosen = tl.load(index + row + lane)
    tl.store(out + row + lane, tl.load(x + row * N + chosen))


@triton.jit
def shift_right(x, out, n, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out + i, tl.load(x + i, mask=i < n, other=0) >> 7, mask=i < n)


@triton.jit
def column_extremes(x, low, high, stride, M: tl.constexpr, N: tl.constexpr):
    i, j = tl.arange(0, M), tl.arange(0, N)
    v = tl.load(x + j[:, None] + i[None, :] * stride)
    tl.store(low + j, tl.min(v, 1, return_indices=True)[1])
    tl.store(high + j, tl.max(v, 1, return_indices=True)[1])


@triton.jit
def double_every_third(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = (i < n) & (i % 3 == 0)
    tl.store(out + i, tl.load(x + i, mask=mask, other=0.0) * 2, mask=mask)
