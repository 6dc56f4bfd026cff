"""Kernels with tensor descriptors; their text differs between Triton versions."""

import triton
import triton.language as tl


@triton.jit
def copy_tile(x_ptr, y_ptr, m, n, column, M: tl.constexpr, N: tl.constexpr):
    x = tl.make_tensor_descriptor(x_ptr, [m, n], [n, 1], [M, N])
    y = tl.make_tensor_descriptor(y_ptr, [m, n], [n, 1], [M, N])
    row = tl.program_id(0) * M
    y.store([row, column], x.load([row, column]))


@triton.jit
def copy_with_nan(x_ptr, y_ptr, m, n, row, column, M: tl.constexpr, N: tl.constexpr):
    x = tl.make_tensor_descriptor(x_ptr, [m, n], [n, 1], [M, N], padding_option="nan")
    tile = x.load([row, column])
    at = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    tl.store(y_ptr + at, tile)


@triton.jit
def gather_and_scatter(x_ptr, y_ptr, rows_ptr, m, n, column, M: tl.constexpr, N: tl.constexpr):
    x = tl.make_tensor_descriptor(x_ptr, [m, n], [n, 1], [1, N])
    y = tl.make_tensor_descriptor(y_ptr, [m, n], [n, 1], [1, N])
    rows = tl.load(rows_ptr + tl.arange(0, M))
    y.scatter(x.gather(rows, column), rows, column)


@triton.jit
def add_tile(x_ptr, y_ptr, m, n, row, column, M: tl.constexpr, N: tl.constexpr):
    x = tl.make_tensor_descriptor(x_ptr, [m, n], [n, 1], [M, N])
    y = tl.make_tensor_descriptor(y_ptr, [m, n], [n, 1], [M, N])
    y.atomic_add([row, column], x.load([row, column]))


@triton.jit
def largest(x_ptr, y_ptr, m, n, M: tl.constexpr, N: tl.constexpr):
    x = tl.make_tensor_descriptor(x_ptr, [m, n], [n, 1], [M, N])
    y = tl.make_tensor_descriptor(y_ptr, [m, n], [n, 1], [M, N])
    y.atomic_max([0, 0], x.load([0, 0]))


@triton.jit
def chosen(x_ptr, y_ptr, m, n, M: tl.constexpr, N: tl.constexpr):
    x = tl.make_tensor_descriptor(x_ptr, [m, n], [n, 1], [M, N])
    y = tl.make_tensor_descriptor(y_ptr, [m, n], [n, 1], [M, N])
    if m > n:
        x, y = y, x
    y.store([0, 0], x.load([0, 0]))


@triton.jit
def copy_3d(x_ptr, y_ptr, a, b, c, i, j, k, M: tl.constexpr, N: tl.constexpr):
    x = tl.make_tensor_descriptor(x_ptr, [a, b, c], [b * c, c, 1], [2, M, N])
    y = tl.make_tensor_descriptor(y_ptr, [a, b, c], [b * c, c, 1], [2, M, N])
    y.store([i, j, k], x.load([i, j, k]))


@triton.jit
def copy_host(x, y, row, column):
    y.store([row, column], x.load([row, column]))


@triton.jit
def host_gemm(a, b, c, k, M: tl.constexpr):
    row = tl.program_id(0) * M
    column = tl.program_id(1) * M
    acc = tl.zeros((M, M), tl.float32)
    for start in range(0, k, M):
        acc = tl.dot(a.load([row, start]), b.load([start, column]), acc)
    c.store([row, column], acc.to(tl.float16))


@triton.jit
def computed(x_ptr, y_ptr, m, n, M: tl.constexpr, N: tl.constexpr):
    x = tl.make_tensor_descriptor(x_ptr + m, [m, n], [n, 1], [M, N])
    y = tl.make_tensor_descriptor(y_ptr, [m, n + 1], [n, 1], [M, N])
    y.store([0, 0], x.load([0, 0]))
    if m > n:
        y = tl.make_tensor_descriptor(y_ptr, [m, n], [n, 1], [M, N])
        y.store([0, 0], x.load([0, 0]))
