"""More matrix products: other operand layouts, split work, other element types, groups."""

from __future__ import annotations

import triton
import triton.language as tl
from tutorials_matmul import product, store_tile


@triton.jit
def transposed_matmul(
    a_ptr,
    b_ptr,
    c_ptr,
    m,
    n,
    k,
    stride_am,
    stride_bn,
    stride_cm,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
):
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    columns = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    acc = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    for at_k in range(0, k, BLOCK_K):
        depth = at_k + tl.arange(0, BLOCK_K)
        a = tl.load(
            a_ptr + rows[:, None] * stride_am + depth[None, :],
            (rows[:, None] < m) & (depth[None, :] < k),
            0.0,
        )
        b = tl.load(
            b_ptr + columns[:, None] * stride_bn + depth[None, :],
            (columns[:, None] < n) & (depth[None, :] < k),
            0.0,
        )
        acc = tl.dot(a, tl.trans(b), acc)
    store_tile(
        c_ptr,
        acc.to(tl.float16),
        tl.program_id(0),
        tl.program_id(1),
        m,
        n,
        stride_cm,
        BLOCK_M,
        BLOCK_N,
    )


@triton.jit
def split_k_matmul(
    a_ptr,
    b_ptr,
    c_ptr,
    m,
    n,
    k,
    stride_am,
    stride_bk,
    stride_cm,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
    SPLIT: tl.constexpr,
):
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    columns = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    acc = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    for at_k in range(tl.program_id(2) * BLOCK_K, k, BLOCK_K * SPLIT):
        depth = at_k + tl.arange(0, BLOCK_K)
        a = tl.load(
            a_ptr + rows[:, None] * stride_am + depth[None, :],
            (rows[:, None] < m) & (depth[None, :] < k),
            0.0,
        )
        b = tl.load(
            b_ptr + depth[:, None] * stride_bk + columns[None, :],
            (depth[:, None] < k) & (columns[None, :] < n),
            0.0,
        )
        acc = tl.dot(a, b, acc)
    mask = (rows[:, None] < m) & (columns[None, :] < n)
    tl.atomic_add(c_ptr + rows[:, None] * stride_cm + columns[None, :], acc, mask=mask)


@triton.jit
def stream_k_matmul(
    a_ptr,
    b_ptr,
    c_ptr,
    m,
    n,
    k,
    stride_am,
    stride_bk,
    stride_cm,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
    SMS: tl.constexpr,
):
    steps = tl.cdiv(k, BLOCK_K)
    across = tl.cdiv(n, BLOCK_N)
    total = tl.cdiv(m, BLOCK_M) * across * steps
    share = tl.cdiv(total, SMS)
    at = tl.program_id(0) * share
    end = tl.minimum(at + share, total)
    while at < end:
        tile = at // steps
        stop = tl.minimum((tile + 1) * steps, end)
        rows = tile // across * BLOCK_M + tl.arange(0, BLOCK_M)
        columns = tile % across * BLOCK_N + tl.arange(0, BLOCK_N)
        acc = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
        for step in range(at, stop):
            depth = step % steps * BLOCK_K + tl.arange(0, BLOCK_K)
            a = tl.load(
                a_ptr + rows[:, None] * stride_am + depth[None, :],
                (rows[:, None] < m) & (depth[None, :] < k),
                0.0,
            )
            b = tl.load(
                b_ptr + depth[:, None] * stride_bk + columns[None, :],
                (depth[:, None] < k) & (columns[None, :] < n),
                0.0,
            )
            acc = tl.dot(a, b, acc)
        mask = (rows[:, None] < m) & (columns[None, :] < n)
        tl.atomic_add(c_ptr + rows[:, None] * stride_cm + columns[None, :], acc, mask=mask)
        at = stop


@triton.jit
def gemm_bias_act(
    a_ptr,
    b_ptr,
    c_ptr,
    bias_ptr,
    m,
    n,
    k,
    stride_am,
    stride_bk,
    stride_cm,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
):
    acc = product(
        a_ptr,
        b_ptr,
        tl.program_id(0),
        tl.program_id(1),
        m,
        n,
        k,
        stride_am,
        stride_bk,
        BLOCK_M,
        BLOCK_N,
        BLOCK_K,
    )
    columns = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    acc += tl.load(bias_ptr + columns, mask=columns < n, other=0.0)[None, :]
    store_tile(
        c_ptr,
        tl.maximum(acc, 0.0).to(tl.float16),
        tl.program_id(0),
        tl.program_id(1),
        m,
        n,
        stride_cm,
        BLOCK_M,
        BLOCK_N,
    )


@triton.jit
def batched_matmul(
    a_ptr,
    b_ptr,
    c_ptr,
    m,
    n,
    k,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
):
    batch = tl.program_id(2).to(tl.int64)
    acc = product(
        a_ptr + batch * m * k,
        b_ptr + batch * k * n,
        tl.program_id(0),
        tl.program_id(1),
        m,
        n,
        k,
        k,
        n,
        BLOCK_M,
        BLOCK_N,
        BLOCK_K,
    )
    store_tile(
        c_ptr + batch * m * n,
        acc.to(tl.bfloat16),
        tl.program_id(0),
        tl.program_id(1),
        m,
        n,
        n,
        BLOCK_M,
        BLOCK_N,
    )


@triton.jit
def int8_matmul(
    a_ptr,
    b_ptr,
    c_ptr,
    m,
    n,
    k,
    stride_am,
    stride_bk,
    stride_cm,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
):
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    columns = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    acc = tl.zeros((BLOCK_M, BLOCK_N), tl.int32)
    for at_k in range(0, k, BLOCK_K):
        depth = at_k + tl.arange(0, BLOCK_K)
        a = tl.load(
            a_ptr + rows[:, None] * stride_am + depth[None, :],
            (rows[:, None] < m) & (depth[None, :] < k),
            0,
        )
        b = tl.load(
            b_ptr + depth[:, None] * stride_bk + columns[None, :],
            (depth[:, None] < k) & (columns[None, :] < n),
            0,
        )
        acc += tl.dot(a, b)
    store_tile(c_ptr, acc, tl.program_id(0), tl.program_id(1), m, n, stride_cm, BLOCK_M, BLOCK_N)


@triton.jit
def grouped_matmul(
    a_ptr,
    b_ptr,
    c_ptr,
    ends_ptr,
    n,
    k,
    groups,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
    SMS: tl.constexpr,
):
    tile = tl.program_id(0)
    passed = 0
    for group in range(groups):
        start = tl.load(ends_ptr + group)
        m = tl.load(ends_ptr + group + 1) - start
        across = tl.cdiv(n, BLOCK_N)
        tiles = tl.cdiv(m, BLOCK_M) * across
        while tile >= passed and tile < passed + tiles:
            tile_m = (tile - passed) // across
            tile_n = (tile - passed) % across
            acc = product(
                a_ptr + start * k,
                b_ptr + group * k * n,
                tile_m,
                tile_n,
                m,
                n,
                k,
                k,
                n,
                BLOCK_M,
                BLOCK_N,
                BLOCK_K,
            )
            store_tile(
                c_ptr + start * n, acc.to(tl.float16), tile_m, tile_n, m, n, n, BLOCK_M, BLOCK_N
            )
            tile += SMS
        passed += tiles


@triton.jit
def block_scaled_matmul(
    a_ptr,
    a_scale_ptr,
    b_ptr,
    b_scale_ptr,
    c_ptr,
    m,
    n,
    k,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
):
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    columns = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    acc = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    for at_k in range(0, k, BLOCK_K):
        depth = at_k + tl.arange(0, BLOCK_K)
        blocks = at_k // 32 + tl.arange(0, BLOCK_K // 32)
        a = tl.load(a_ptr + rows[:, None] * k + depth[None, :])
        b = tl.load(b_ptr + depth[:, None] * n + columns[None, :])
        a_scale = tl.load(a_scale_ptr + rows[:, None] * (k // 32) + blocks[None, :])
        b_scale = tl.load(b_scale_ptr + columns[:, None] * (k // 32) + blocks[None, :])
        acc = tl.dot_scaled(a, a_scale, "e4m3", b, b_scale, "e4m3", acc)
    store_tile(
        c_ptr, acc.to(tl.float16), tl.program_id(0), tl.program_id(1), m, n, n, BLOCK_M, BLOCK_N
    )


@triton.jit
def gemv(a_ptr, x_ptr, y_ptr, m, n, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    acc = tl.zeros((BLOCK_M,), tl.float32)
    for start in range(0, n, BLOCK_N):
        columns = start + tl.arange(0, BLOCK_N)
        a = tl.load(
            a_ptr + rows[:, None] * n + columns[None, :],
            (rows[:, None] < m) & (columns[None, :] < n),
            0.0,
        ).to(tl.float32)
        x = tl.load(x_ptr + columns, columns < n, 0.0).to(tl.float32)
        acc += tl.sum(a * x[None, :], axis=1)
    tl.store(y_ptr + rows, acc.to(y_ptr.dtype.element_ty), rows < m)
