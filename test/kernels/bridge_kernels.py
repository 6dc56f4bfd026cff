"""Kernels that between them use every kind of op that the IR bridge has to carry."""

import triton
import triton.language as tl


@triton.jit
def vector_add(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask)
    y = tl.load(y_ptr + offsets, mask=mask)
    tl.store(out_ptr + offsets, x + y, mask=mask)


@triton.jit
def softmax(x_ptr, out_ptr, stride, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    offsets = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * stride + offsets, mask=offsets < columns, other=-float("inf"))
    exponent = tl.exp(x - tl.max(x, axis=0))
    tl.store(
        out_ptr + row * stride + offsets,
        exponent / tl.sum(exponent, axis=0),
        mask=offsets < columns,
    )


@triton.jit
def layer_norm(x_ptr, weight_ptr, bias_ptr, out_ptr, columns, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    offsets = tl.arange(0, BLOCK)
    mask = offsets < columns
    x = tl.load(x_ptr + row * columns + offsets, mask=mask, other=0.0).to(tl.float32)
    mean = tl.sum(x, axis=0) / columns
    centred = tl.where(mask, x - mean, 0.0)
    variance = tl.sum(centred * centred, axis=0) / columns
    weight = tl.load(weight_ptr + offsets, mask=mask)
    bias = tl.load(bias_ptr + offsets, mask=mask)
    tl.store(
        out_ptr + row * columns + offsets,
        centred * tl.rsqrt(variance + eps) * weight + bias,
        mask=mask,
    )


@triton.jit
def prefix_sum(x_ptr, out_ptr, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out_ptr + offsets, tl.cumsum(tl.load(x_ptr + offsets), axis=0))


@triton.jit
def _first_wins(value_a, key_a, value_b, key_b):
    take_b = key_b > key_a
    return tl.where(take_b, value_b, value_a), tl.where(take_b, key_b, key_a)


@triton.jit
def custom_scan(value_ptr, key_ptr, out_ptr, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    values, keys = tl.load(value_ptr + offsets), tl.load(key_ptr + offsets)
    scanned, _ = tl.associative_scan((values, keys), 0, _first_wins)
    tl.store(out_ptr + offsets, scanned)


@triton.jit
def arg_reductions(x_ptr, out_ptr, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    rows, columns = tl.arange(0, ROWS), tl.arange(0, COLUMNS)
    x = tl.load(x_ptr + rows[:, None] * COLUMNS + columns[None, :])
    tl.store(out_ptr + rows, tl.argmax(x, axis=1))
    tl.store(out_ptr + ROWS + columns, tl.argmin(x, axis=0))


@triton.jit
def while_and_if(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets)
    steps = 0
    while steps < n:
        if steps % 2 == 0:
            x = x * 0.5 + 1.0
        else:
            x = x - 1.0
        steps += 1
    tl.store(out_ptr + offsets, x)


@triton.jit
def atomics(counts_ptr, x_ptr, lock_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask, other=0)
    tl.atomic_add(counts_ptr + x, 1, mask=mask)
    tl.atomic_max(counts_ptr + 1 + x, x, mask=mask, sem="relaxed")
    while tl.atomic_cas(lock_ptr, 0, 1) == 1:
        pass
    tl.atomic_xchg(lock_ptr, 0)


@triton.jit
def inline_assembly(x_ptr, out_ptr, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets)
    doubled = tl.inline_asm_elementwise(
        "{ .reg .b32 t; shl.b32 t, $1, 1; mov.b32 $0, t; }", "=r,r", [x], tl.int32, True, 1
    )
    tl.store(out_ptr + offsets, doubled)


@triton.jit
def gemm(
    a_ptr,
    b_ptr,
    c_ptr,
    M,
    N,
    K,
    stride_am,
    stride_bk,
    stride_cm,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
):
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    columns = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    depth = tl.arange(0, BLOCK_K)
    accumulator = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for start in range(0, K, BLOCK_K):
        inner = start + depth
        a = tl.load(
            a_ptr + rows[:, None] * stride_am + inner[None, :],
            mask=(rows[:, None] < M) & (inner[None, :] < K),
            other=0.0,
        )
        b = tl.load(
            b_ptr + inner[:, None] * stride_bk + columns[None, :],
            mask=(inner[:, None] < K) & (columns[None, :] < N),
            other=0.0,
        )
        accumulator = tl.dot(a, b, accumulator)
    tl.store(
        c_ptr + rows[:, None] * stride_cm + columns[None, :],
        accumulator.to(tl.float16),
        mask=(rows[:, None] < M) & (columns[None, :] < N),
    )


@triton.jit
def int8_gemm(a_ptr, b_ptr, c_ptr, K, BLOCK: tl.constexpr):
    rows, depth = tl.arange(0, BLOCK), tl.arange(0, BLOCK)
    accumulator = tl.zeros((BLOCK, BLOCK), dtype=tl.int32)
    for start in range(0, K, BLOCK):
        a = tl.load(a_ptr + rows[:, None] * K + (start + depth)[None, :])
        b = tl.load(b_ptr + (start + depth)[:, None] * BLOCK + rows[None, :])
        accumulator = tl.dot(a, b, accumulator, out_dtype=tl.int32)
    tl.store(c_ptr + rows[:, None] * BLOCK + rows[None, :], accumulator)


@triton.jit
def attention(
    q_ptr,
    k_ptr,
    v_ptr,
    out_ptr,
    length,
    scale,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    HEAD: tl.constexpr,
):
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    head = tl.arange(0, HEAD)
    q = tl.load(q_ptr + rows[:, None] * HEAD + head[None, :])
    maximum = tl.full((BLOCK_M,), -float("inf"), tl.float32)
    total = tl.zeros((BLOCK_M,), tl.float32)
    accumulator = tl.zeros((BLOCK_M, HEAD), tl.float32)
    for start in tl.range(0, length, BLOCK_N, num_stages=2):
        columns = start + tl.arange(0, BLOCK_N)
        k = tl.load(k_ptr + columns[None, :] * HEAD + head[:, None])
        scores = tl.dot(q, k) * scale
        scores = tl.where(rows[:, None] >= columns[None, :], scores, -1.0e6)
        new_maximum = tl.maximum(maximum, tl.max(scores, 1))
        correction = tl.exp2(maximum - new_maximum)
        weights = tl.exp2(scores - new_maximum[:, None])
        total = total * correction + tl.sum(weights, 1)
        v = tl.load(v_ptr + columns[:, None] * HEAD + head[None, :])
        accumulator = tl.dot(weights.to(tl.float16), v, accumulator * correction[:, None])
        maximum = new_maximum
    tl.store(
        out_ptr + rows[:, None] * HEAD + head[None, :],
        (accumulator / total[:, None]).to(tl.float16),
    )


@triton.jit
def descriptor_copy(x_ptr, out_ptr, M, N, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    source = tl.make_tensor_descriptor(x_ptr, [M, N], [N, 1], [BLOCK_M, BLOCK_N])
    target = tl.make_tensor_descriptor(out_ptr, [M, N], [N, 1], [BLOCK_M, BLOCK_N])
    row, column = tl.program_id(0) * BLOCK_M, tl.program_id(1) * BLOCK_N
    target.store([row, column], source.load([row, column]) * 2.0)


@triton.jit
def descriptor_gemm(
    a_ptr,
    b_ptr,
    c_ptr,
    M,
    N,
    K,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
    WARP_SPECIALIZE: tl.constexpr,
):
    a_tiles = tl.make_tensor_descriptor(a_ptr, [M, K], [K, 1], [BLOCK_M, BLOCK_K])
    b_tiles = tl.make_tensor_descriptor(b_ptr, [N, K], [K, 1], [BLOCK_N, BLOCK_K])
    c_tiles = tl.make_tensor_descriptor(c_ptr, [M, N], [N, 1], [BLOCK_M, BLOCK_N])
    row, column = tl.program_id(0) * BLOCK_M, tl.program_id(1) * BLOCK_N
    accumulator = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for start in tl.range(0, K, BLOCK_K, warp_specialize=WARP_SPECIALIZE):
        a = a_tiles.load([row, start])
        b = b_tiles.load([column, start])
        accumulator = tl.dot(a, b.T, accumulator)
    c_tiles.store([row, column], accumulator.to(tl.float16))


@triton.jit(noinline=True)
def _scaled(x, factor):
    return x * factor + 1.0


@triton.jit
def calls_function(x_ptr, out_ptr, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    factor = _scaled(_scaled(tl.load(x_ptr), 2.0), 3.0)
    tl.store(out_ptr + offsets, tl.load(x_ptr + offsets) * factor)


@triton.jit
def shape_ops(x_ptr, out_ptr, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    rows, columns = tl.arange(0, ROWS), tl.arange(0, COLUMNS)
    x = tl.load(x_ptr + rows[:, None] * COLUMNS + columns[None, :])
    flat = tl.reshape(tl.trans(x), (ROWS * COLUMNS,))
    left, right = tl.split(tl.reshape(flat, (ROWS * COLUMNS // 2, 2)))
    joined = tl.reshape(tl.join(right, left), (ROWS * COLUMNS,))
    offsets = tl.arange(0, ROWS * COLUMNS)
    tl.store(out_ptr + offsets, joined)
    tl.store(
        out_ptr + ROWS * COLUMNS + tl.arange(0, 2 * ROWS * COLUMNS), tl.cat(flat, joined, True)
    )


@triton.jit
def gather_and_histogram(x_ptr, index_ptr, out_ptr, BLOCK: tl.constexpr, BINS: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    x, index = tl.load(x_ptr + offsets), tl.load(index_ptr + offsets)
    tl.store(out_ptr + offsets, tl.gather(x, index, 0))
    tl.store(out_ptr + BLOCK + tl.arange(0, BINS), tl.histogram(index, BINS))


@triton.jit
def random_dropout(x_ptr, out_ptr, n, probability, seed, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < n)
    keep = tl.rand(seed, offsets) > probability
    tl.store(out_ptr + offsets, tl.where(keep, x / (1 - probability), 0.0), mask=offsets < n)


@triton.jit
def sort_rows(x_ptr, out_ptr, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    rows, columns = tl.arange(0, ROWS), tl.arange(0, COLUMNS)
    offsets = rows[:, None] * COLUMNS + columns[None, :]
    tl.store(out_ptr + offsets, tl.sort(tl.load(x_ptr + offsets), dim=1))


@triton.jit
def debugging(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.assume(n > 0)
    tl.device_print('a string, with "quotes" {braces} and #blocked', offsets)
    tl.device_assert(offsets < n, "out of <{range}>")
    tl.store(out_ptr + offsets, tl.load(x_ptr + offsets))


@triton.jit
def block_pointers(x_ptr, out_ptr, M, N, BLOCK: tl.constexpr):
    source = tl.make_block_ptr(x_ptr, (M, N), (N, 1), (0, 0), (BLOCK, BLOCK), (1, 0))
    total = tl.zeros((BLOCK, BLOCK), tl.float32)
    for _ in range(0, N, BLOCK):
        total += tl.load(source, boundary_check=(0, 1), padding_option="zero").to(tl.float32)
        source = tl.advance(source, (0, BLOCK))
    target = tl.make_block_ptr(out_ptr, (M, BLOCK), (BLOCK, 1), (0, 0), (BLOCK, BLOCK), (1, 0))
    tl.store(target, total, boundary_check=(0,))


@triton.jit
def fp8_scaled_dot(
    a_ptr, a_scale_ptr, b_ptr, b_scale_ptr, out_ptr, BLOCK: tl.constexpr, DEPTH: tl.constexpr
):
    rows, depth, groups = tl.arange(0, BLOCK), tl.arange(0, DEPTH), tl.arange(0, DEPTH // 32)
    a = tl.load(a_ptr + rows[:, None] * DEPTH + depth[None, :])
    b = tl.load(b_ptr + depth[:, None] * BLOCK + rows[None, :])
    a_scale = tl.load(a_scale_ptr + rows[:, None] * (DEPTH // 32) + groups[None, :])
    b_scale = tl.load(b_scale_ptr + rows[:, None] * (DEPTH // 32) + groups[None, :])
    c = tl.dot_scaled(a, a_scale, "e4m3", b, b_scale, "e4m3")
    tl.store(out_ptr + rows[:, None] * BLOCK + rows[None, :], c)
