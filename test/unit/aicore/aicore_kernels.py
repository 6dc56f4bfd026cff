"""Kernels that the emulator's tests need beyond test/ascend/inputs/kernels.py."""

import triton
import triton.language as tl


@triton.jit
def gemm_int8(
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
    rm = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    rn = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    rk = tl.arange(0, BLOCK_K)
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.int32)
    for k in range(0, K, BLOCK_K):
        kk = k + rk
        x = tl.load(
            a + rm[:, None] * sam + kk[None, :] * sak,
            mask=(rm[:, None] < M) & (kk[None, :] < K),
            other=0,
        )
        y = tl.load(
            b + kk[:, None] * sbk + rn[None, :] * sbn,
            mask=(kk[:, None] < K) & (rn[None, :] < N),
            other=0,
        )
        acc = tl.dot(x, y, acc, out_dtype=tl.int32)
    tl.store(
        c + rm[:, None] * scm + rn[None, :] * scn, acc, mask=(rm[:, None] < M) & (rn[None, :] < N)
    )


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
