"""Matrix products in the ways in which kernels write them."""

import triton
import triton.language as tl

# Triton 3.9 has no block pointers any more.
BLOCKS_OF_TENSORS = ["descriptors"]
if tuple(int(part) for part in triton.__version__.split(".")[:2]) < (3, 9):
    BLOCKS_OF_TENSORS.append("block_pointers")


@triton.jit
def walking_pointers(
    a, b, c, M, N, K, sa, sb, sc,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr,
):  # fmt: skip
    """Tiles in groups of rows, indices that wrap around, pointers that walk along K."""
    pid = tl.program_id(0)
    tiles_m, tiles_n = tl.cdiv(M, BM), tl.cdiv(N, BN)
    in_group = GROUP * tiles_n
    first = pid // in_group * GROUP
    height = min(tiles_m - first, GROUP)
    tile_m = first + pid % in_group % height
    tile_n = pid % in_group // height
    rm, rn = (tile_m * BM + tl.arange(0, BM)) % M, (tile_n * BN + tl.arange(0, BN)) % N
    rk = tl.arange(0, BK)
    at, bt = a + rm[:, None] * sa + rk[None, :], b + rk[:, None] * sb + rn[None, :]
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, tl.cdiv(K, BK)):
        x = tl.load(at, mask=rk[None, :] < K - k * BK, other=0.0)
        y = tl.load(bt, mask=rk[:, None] < K - k * BK, other=0.0)
        acc = tl.dot(x, y, acc)
        at += BK
        bt += BK * sb
    om, on = tile_m * BM + tl.arange(0, BM), tile_n * BN + tl.arange(0, BN)
    tl.store(
        c + om[:, None] * sc + on[None, :],
        acc.to(c.dtype.element_ty),
        mask=(om[:, None] < M) & (on[None, :] < N),
    )


@triton.jit
def persistent(
    a, b, c, M, N, K,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
):  # fmt: skip
    """Every program computes several tiles."""
    tiles_n = tl.cdiv(N, BN)
    for tile in range(tl.program_id(0), tl.cdiv(M, BM) * tiles_n, tl.num_programs(0)):
        rm = tile // tiles_n * BM + tl.arange(0, BM)
        rn = tile % tiles_n * BN + tl.arange(0, BN)
        acc = tl.zeros((BM, BN), tl.float32)
        for k in range(0, K, BK):
            rk = k + tl.arange(0, BK)
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
            acc = tl.dot(x, y, acc)
        place = c + rm[:, None] * N + rn[None, :]
        tl.store(place, acc, mask=(rm[:, None] < M) & (rn[None, :] < N))


@triton.jit
def two_sums(a, b, c, d, e, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """d = a @ b and e = relu(a @ c.T), with c stored transposed."""
    rm, rn = tl.program_id(0) * BM + tl.arange(0, BM), tl.arange(0, BN)
    first = tl.zeros((BM, BN), tl.float32)
    second = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        rk = k + tl.arange(0, BK)
        x = tl.load(
            a + rm[:, None] * K + rk[None, :],
            mask=(rm[:, None] < M) & (rk[None, :] < K), other=0.0,
        )  # fmt: skip
        y = tl.load(
            b + rk[:, None] * N + rn[None, :],
            mask=(rk[:, None] < K) & (rn[None, :] < N), other=0.0,
        )  # fmt: skip
        z = tl.load(
            c + rn[:, None] * K + rk[None, :],
            mask=(rn[:, None] < N) & (rk[None, :] < K), other=0.0,
        )  # fmt: skip
        first = tl.dot(x, y, first)
        second = tl.dot(x, z.T, second)
    place = rm[:, None] * N + rn[None, :]
    inside = (rm[:, None] < M) & (rn[None, :] < N)
    tl.store(d + place, first, mask=inside)
    tl.store(e + place, tl.where(second > 0, second, 0.0), mask=inside)


@triton.jit
def one_step(
    a, b, c, M, N, K, DEPTH_B,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
    ROWS: tl.constexpr, COLUMNS: tl.constexpr, STORED: tl.constexpr, OTHER: tl.constexpr,
):  # fmt: skip
    """One product without a loop; a's rows, b's columns and what is stored have masks or have not.

    Rows of b and c are BN apart, so that all of a tile can be loaded and stored. DEPTH_B is how
    much of K b has, if that is not K.
    """
    rm, rn, rk = tl.arange(0, BM), tl.arange(0, BN), tl.arange(0, BK)
    am, bm = rk[None, :] < K, rk[:, None] < (K if DEPTH_B is None else DEPTH_B)
    if ROWS:
        am = am & (rm[:, None] < M)
    if COLUMNS:
        bm = bm & (rn[None, :] < N)
    x = tl.load(a + rm[:, None] * K + rk[None, :], mask=am, other=OTHER)
    y = tl.load(b + rk[:, None] * BN + rn[None, :], mask=bm, other=OTHER)
    place = c + rm[:, None] * BN + rn[None, :]
    if STORED:
        tl.store(place, tl.dot(x, y), mask=(rm[:, None] < M) & (rn[None, :] < N))
    else:
        tl.store(place, tl.dot(x, y))


@triton.jit
def biased(
    a, b, c, bias, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, FIRST: tl.constexpr
):
    """One tile of a @ b + bias; with FIRST the sum starts from the bias."""
    rm, rn = tl.arange(0, BM), tl.arange(0, BN)
    row = tl.load(bias + rn)[None, :]
    if FIRST:
        acc = tl.zeros((BM, BN), tl.float32) + row
        for k in range(0, K, BK):
            rk = k + tl.arange(0, BK)
            x = tl.load(a + rm[:, None] * K + rk[None, :], mask=rk[None, :] < K, other=0.0)
            y = tl.load(b + rk[:, None] * BN + rn[None, :], mask=rk[:, None] < K, other=0.0)
            acc = tl.dot(x, y, acc)
    else:
        rk = tl.arange(0, BK)
        x = tl.load(a + rm[:, None] * K + rk[None, :], mask=rk[None, :] < K, other=0.0)
        y = tl.load(b + rk[:, None] * BN + rn[None, :], mask=rk[:, None] < K, other=0.0)
        acc = tl.dot(x, y) + row
    tl.store(c + rm[:, None] * BN + rn[None, :], acc)


@triton.jit
def batches(
    a, b, c, M, N, K, B: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr
):
    """c[i] = a[i] @ b[i] for B pairs of matrices, b's stored transposed."""
    i = tl.arange(0, B)[:, None, None]
    rm, rn = tl.arange(0, BM)[None, :, None], tl.arange(0, BN)[None, None, :]
    acc = tl.zeros((B, BM, BN), tl.float32)
    for k in range(0, K, BK):
        rk = k + tl.arange(0, BK)
        row, column = rk[None, None, :], rk[None, None, :]
        x = tl.load(a + i * M * K + rm * K + row, mask=(rm < M) & (row < K), other=0.0)
        n = tl.arange(0, BN)[None, :, None]
        y = tl.load(b + i * N * K + n * K + column, mask=(n < N) & (column < K), other=0.0)
        acc = tl.dot(x, tl.permute(y, (0, 2, 1)), acc)
    place = c + i * M * N + rm * N + rn
    tl.store(place, tl.maximum(acc, 0.0), mask=(rm < M) & (rn < N))


@triton.jit
def block_pointers(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    row, column = tl.program_id(0) * BM, tl.program_id(1) * BN
    at = tl.make_block_ptr(a, (M, K), (K, 1), (row, 0), (BM, BK), (1, 0))
    bt = tl.make_block_ptr(b, (K, N), (1, K), (0, column), (BK, BN), (0, 1))
    acc = tl.zeros((BM, BN), tl.float32)
    for _ in range(0, K, BK):
        x = tl.load(at, boundary_check=(0, 1), padding_option="zero")
        y = tl.load(bt, boundary_check=(0, 1), padding_option="zero")
        acc = tl.dot(x, y, acc)
        at = tl.advance(at, (0, BK))
        bt = tl.advance(bt, (BK, 0))
    ct = tl.make_block_ptr(c, (M, N), (N, 1), (row, column), (BM, BN), (1, 0))
    tl.store(ct, acc.to(c.dtype.element_ty), boundary_check=(0, 1))


@triton.jit
def descriptors(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    row, column = tl.program_id(0) * BM, tl.program_id(1) * BN
    at = tl.make_tensor_descriptor(a, [M, K], [K, 1], [BM, BK])
    bt = tl.make_tensor_descriptor(b, [N, K], [K, 1], [BN, BK])
    ct = tl.make_tensor_descriptor(c, [M, N], [N, 1], [BM, BN])
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        acc = tl.dot(at.load([row, k]), bt.load([column, k]).T, acc)
    ct.store([row, column], acc.to(c.dtype.element_ty))


@triton.jit
def declined(a, b, c, d, n, REASON: tl.constexpr, B: tl.constexpr):
    """Products that flagc's pipeline leaves to the vendor's, each for one reason."""
    r = tl.arange(0, B)
    at = r[:, None] * B + r[None, :]
    x, y = tl.load(a + at), tl.load(b + at)
    if REASON == "used twice":
        tl.store(d + at, x)
    elif REASON == "gathered":
        x = tl.load(a + tl.load(d + r).to(tl.int32)[:, None] * B + r[None, :])
    elif REASON == "strided":
        x = tl.load(a + 2 * at)
    elif REASON == "from below":
        x = tl.load(a + at, mask=r[:, None] >= n, other=0.0)
    elif REASON == "condition":
        x = tl.load(a + at, mask=n > 3, other=0.0)
    elif REASON == "computed":
        x = tl.load(a + at) * 2
    elif REASON == "written":
        tl.store(a + r, r.to(tl.float16))
    acc = tl.zeros((B, B), tl.float32)
    if REASON == "start":
        acc = tl.load(d + at).to(tl.float32)
    if REASON == "branch":
        if n > 3:
            acc = tl.dot(x, y, acc)
    elif REASON == "read early":
        for i in range(n):
            acc = tl.dot(x, y, acc)
            tl.store(c + at + i, acc)
    elif REASON == "changed":
        for _ in range(n):
            acc = tl.dot(x, y, acc) * 0.5
    else:
        acc = tl.dot(x, y, acc)
    if REASON == "transposed":
        tl.store(c + r[:, None] + r[None, :] * B, acc)
    elif REASON == "row":
        tl.store(c + r, tl.sum(acc, 0))
    elif REASON == "rounded twice":
        tl.store(c + at, acc.to(tl.float16).to(tl.float32))
    elif REASON == "exchange":
        tl.atomic_max(c + at, acc)
    elif REASON == "column bias":
        tl.store(c + at, acc + tl.load(d + r).to(tl.float32)[:, None])
    elif REASON == "bias once":
        tl.store(c + at, acc)
        tl.store(c + B * B + at, acc + tl.load(d + r).to(tl.float32)[None, :])
    else:
        tl.store(c + at, acc)
    if REASON == "copy":
        tl.store(d + B + r, tl.load(d + r))
