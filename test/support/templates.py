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
