"""Matrix-product kernels in the style of Triton's tutorials, written afresh."""

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def grouped_tile(pid, m, n, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, GROUP_M: tl.constexpr):
    tiles_m = tl.cdiv(m, BLOCK_M)
    width = GROUP_M * tl.cdiv(n, BLOCK_N)
    first = pid // width * GROUP_M
    height = min(tiles_m - first, GROUP_M)
    return first + pid % width % height, pid % width // height


@triton.jit
def leaky_relu(x):
    return tl.where(x >= 0, x, 0.01 * x)


@triton.jit
def product(
    a_ptr,
    b_ptr,
    tile_m,
    tile_n,
    m,
    n,
    k,
    stride_am,
    stride_bk,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
):
    rows = (tile_m * BLOCK_M + tl.arange(0, BLOCK_M)) % m
    columns = (tile_n * BLOCK_N + tl.arange(0, BLOCK_N)) % n
    depth = tl.arange(0, BLOCK_K)
    a_ptrs = a_ptr + rows[:, None] * stride_am + depth[None, :]
    b_ptrs = b_ptr + depth[:, None] * stride_bk + columns[None, :]
    acc = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    for step in range(0, tl.cdiv(k, BLOCK_K)):
        a = tl.load(a_ptrs, mask=depth[None, :] < k - step * BLOCK_K, other=0.0)
        b = tl.load(b_ptrs, mask=depth[:, None] < k - step * BLOCK_K, other=0.0)
        acc = tl.dot(a, b, acc)
        a_ptrs += BLOCK_K
        b_ptrs += BLOCK_K * stride_bk
    return acc


@triton.jit
def store_tile(
    c_ptr, c, tile_m, tile_n, m, n, stride_cm, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr
):
    rows = tile_m * BLOCK_M + tl.arange(0, BLOCK_M)
    columns = tile_n * BLOCK_N + tl.arange(0, BLOCK_N)
    mask = (rows[:, None] < m) & (columns[None, :] < n)
    tl.store(c_ptr + rows[:, None] * stride_cm + columns[None, :], c, mask=mask)


@triton.jit
def matmul(
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
    GROUP_M: tl.constexpr,
):
    tile_m, tile_n = grouped_tile(tl.program_id(0), m, n, BLOCK_M, BLOCK_N, GROUP_M)
    acc = product(
        a_ptr, b_ptr, tile_m, tile_n, m, n, k, stride_am, stride_bk, BLOCK_M, BLOCK_N, BLOCK_K
    )
    store_tile(c_ptr, acc.to(tl.float16), tile_m, tile_n, m, n, stride_cm, BLOCK_M, BLOCK_N)


@triton.jit
def leaky_matmul(
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
    GROUP_M: tl.constexpr,
):
    tl.assume(stride_am > 0)
    tl.assume(stride_bk > 0)
    tile_m, tile_n = grouped_tile(tl.program_id(0), m, n, BLOCK_M, BLOCK_N, GROUP_M)
    acc = product(
        a_ptr, b_ptr, tile_m, tile_n, m, n, k, stride_am, stride_bk, BLOCK_M, BLOCK_N, BLOCK_K
    )
    c = leaky_relu(acc).to(tl.float16)
    store_tile(c_ptr, c, tile_m, tile_n, m, n, stride_cm, BLOCK_M, BLOCK_N)


@triton.jit
def persistent_matmul(
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
    GROUP_M: tl.constexpr,
    SMS: tl.constexpr,
):
    tiles = tl.cdiv(m, BLOCK_M) * tl.cdiv(n, BLOCK_N)
    for tile in tl.range(tl.program_id(0), tiles, SMS, flatten=True):
        tile_m, tile_n = grouped_tile(tile, m, n, BLOCK_M, BLOCK_N, GROUP_M)
        acc = product(
            a_ptr, b_ptr, tile_m, tile_n, m, n, k, stride_am, stride_bk, BLOCK_M, BLOCK_N, BLOCK_K
        )
        store_tile(c_ptr, acc.to(tl.float16), tile_m, tile_n, m, n, stride_cm, BLOCK_M, BLOCK_N)


@triton.jit
def block_pointer_matmul(
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
    at_m = tl.program_id(0) * BLOCK_M
    at_n = tl.program_id(1) * BLOCK_N
    a_block = tl.make_block_ptr(
        a_ptr, (m, k), (stride_am, 1), (at_m, 0), (BLOCK_M, BLOCK_K), (1, 0)
    )
    b_block = tl.make_block_ptr(
        b_ptr, (k, n), (stride_bk, 1), (0, at_n), (BLOCK_K, BLOCK_N), (1, 0)
    )
    acc = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    for _ in range(0, k, BLOCK_K):
        a = tl.load(a_block, boundary_check=(0, 1))
        b = tl.load(b_block, boundary_check=(0, 1))
        acc += tl.dot(a, b)
        a_block = tl.advance(a_block, (0, BLOCK_K))
        b_block = tl.advance(b_block, (BLOCK_K, 0))
    c_block = tl.make_block_ptr(
        c_ptr, (m, n), (stride_cm, 1), (at_m, at_n), (BLOCK_M, BLOCK_N), (1, 0)
    )
    tl.store(c_block, acc.to(tl.float16), boundary_check=(0, 1))


@triton.jit
def descriptor_matmul(
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
    a_desc = tl.make_tensor_descriptor(a_ptr, [m, k], [stride_am, 1], [BLOCK_M, BLOCK_K])
    b_desc = tl.make_tensor_descriptor(b_ptr, [k, n], [stride_bk, 1], [BLOCK_K, BLOCK_N])
    c_desc = tl.make_tensor_descriptor(c_ptr, [m, n], [stride_cm, 1], [BLOCK_M, BLOCK_N])
    at_m = tl.program_id(0) * BLOCK_M
    at_n = tl.program_id(1) * BLOCK_N
    acc = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    for at_k in range(0, k, BLOCK_K):
        acc = tl.dot(a_desc.load([at_m, at_k]), b_desc.load([at_k, at_n]), acc)
    c_desc.store([at_m, at_n], acc.to(tl.float16))


@triton.jit
def persistent_descriptor_matmul(
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
    a_desc = tl.make_tensor_descriptor(a_ptr, [m, k], [stride_am, 1], [BLOCK_M, BLOCK_K])
    b_desc = tl.make_tensor_descriptor(b_ptr, [k, n], [stride_bk, 1], [BLOCK_K, BLOCK_N])
    c_desc = tl.make_tensor_descriptor(c_ptr, [m, n], [stride_cm, 1], [BLOCK_M, BLOCK_N])
    across = tl.cdiv(n, BLOCK_N)
    for tile in tl.range(tl.program_id(0), tl.cdiv(m, BLOCK_M) * across, SMS):
        at_m = tile // across * BLOCK_M
        at_n = tile % across * BLOCK_N
        acc = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
        for at_k in range(0, k, BLOCK_K):
            acc = tl.dot(a_desc.load([at_m, at_k]), b_desc.load([at_k, at_n]), acc)
        c_desc.store([at_m, at_n], acc.to(tl.float16))


@triton.jit
def host_descriptor_matmul(
    a_desc, b_desc, c_desc, k, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr
):
    at_m = tl.program_id(0) * BLOCK_M
    at_n = tl.program_id(1) * BLOCK_N
    acc = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    for at_k in range(0, k, BLOCK_K):
        a = a_desc.load([at_m, at_k])
        b = b_desc.load([at_n, at_k])
        acc = tl.dot(a, b.T, acc)
    c_desc.store([at_m, at_n], acc.to(tl.float16))
