"""Kernels with many variants: tests and the fuzzer choose dtypes, layouts, epilogues and blocks."""

import triton
import triton.language as tl


@triton.jit
def gemm(
    a,
    b,
    c,
    bias,
    residual,
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
    EPILOGUE: tl.constexpr,
    PRECISION: tl.constexpr,
    SUM: tl.constexpr,
):
    """c = epilogue(a @ b); SUM is the accumulator's dtype, `residual` lies like `c`."""
    rm = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    rn = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    rk = tl.arange(0, BLOCK_K)
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=SUM)
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
        acc = tl.dot(x, y, acc, input_precision=PRECISION, out_dtype=SUM)
    inside = (rm[:, None] < M) & (rn[None, :] < N)
    place = rm[:, None] * scm + rn[None, :] * scn
    if EPILOGUE == "bias+relu" or EPILOGUE == "bias":
        acc += tl.load(bias + rn, mask=rn < N, other=0.0)[None, :].to(tl.float32)
    if EPILOGUE == "bias+relu":
        acc = tl.maximum(acc, 0.0)
    elif EPILOGUE == "gelu":
        acc = 0.5 * acc * (1.0 + tl.erf(acc * 0.7071067811865476))
    elif EPILOGUE == "residual":
        acc += tl.load(residual + place, mask=inside, other=0.0).to(tl.float32)
    elif EPILOGUE == "scale":
        acc = acc * 0.5
    tl.store(c + place, acc.to(c.dtype.element_ty), mask=inside)


@triton.jit
def reduce(
    x,
    out,
    KEPT,
    LENGTH,
    stride_kept,
    stride_along,
    BLOCK_KEPT: tl.constexpr,
    BLOCK: tl.constexpr,
    AXIS: tl.constexpr,
    OP: tl.constexpr,
    MASK: tl.constexpr,
    NEUTRAL: tl.constexpr,
    TYPE: tl.constexpr,
    LOOP: tl.constexpr,
):
    """Reduce `x` along one of two dimensions, which is AXIS of the tile, in dtype TYPE.

    Elements that MASK hides count as NEUTRAL. With LOOP, a tile at a time.
    """
    kept = tl.program_id(0) * BLOCK_KEPT + tl.arange(0, BLOCK_KEPT)
    kept = kept[None, :] if AXIS == 0 else kept[:, None]
    along = tl.arange(0, BLOCK)
    along = along[:, None] if AXIS == 0 else along[None, :]
    steps = tl.cdiv(LENGTH, BLOCK) if LOOP else 1
    shape: tl.constexpr = (BLOCK, BLOCK_KEPT) if AXIS == 0 else (BLOCK_KEPT, BLOCK)
    total = tl.full(shape, NEUTRAL, TYPE)
    for step in range(0, steps):
        i = step * BLOCK + along
        inside = (kept < KEPT) & (i < LENGTH)
        v = tl.load(x + kept * stride_kept + i * stride_along, mask=inside, other=NEUTRAL)
        v = v.to(TYPE)
        if MASK == "triangle":
            v = tl.where(i <= kept, v, NEUTRAL)
        elif MASK == "every third":
            v = tl.where((i + kept) % 3 == 0, v, NEUTRAL)
        elif MASK == "positive":
            v = tl.where(v > 0, v, NEUTRAL)
        if LOOP:
            if OP == "sum":
                total += v
            elif OP == "max":
                total = tl.maximum(total, v)
            else:
                total = tl.minimum(total, v)
        else:
            total = v
    if OP == "cumsum":
        place = kept * LENGTH + along
        inside = (kept < KEPT) & (along < LENGTH)
        tl.store(out + place, tl.cumsum(total, AXIS).to(out.dtype.element_ty), mask=inside)
    else:
        if OP == "sum":
            r = tl.sum(total, AXIS)
        elif OP == "max":
            r = tl.max(total, AXIS)
        elif OP == "min":
            r = tl.min(total, AXIS)
        elif OP == "argmax":
            r = tl.argmax(total, AXIS)
        else:
            r = tl.argmin(total, AXIS)
        at = tl.program_id(0) * BLOCK_KEPT + tl.arange(0, BLOCK_KEPT)
        tl.store(out + at, r.to(out.dtype.element_ty), mask=at < KEPT)
