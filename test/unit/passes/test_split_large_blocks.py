"""`split-large-blocks`: what kernels compute before and after, and what is refused."""

import numpy as np
import pytest
import triton
import triton.language as tl

from flagc.ir.analysis.live_bytes import live_bytes
from flagc.passes.ttir.split_large_blocks import SplitLargeBlocks
from flagc.pipeline.target import KernelSource
from flagc.targets.registry import target_by_name
from support.running import assert_same, parsed, transformed


def ttir(function, signature, **constants):
    names = function.arg_names
    kinds = dict(zip((n for n in names if n not in constants), signature.split(), strict=True))
    kinds |= dict.fromkeys(constants, "constexpr")
    values = {(names.index(name),): value for name, value in constants.items()}
    compilation = target_by_name("cuda:sm90").begin(KernelSource(function, kinds, values, {}), {})
    stage = compilation.stages[0]
    return stage.export(stage.run(compilation.payload, None)).text()


def numbers(*shape, dtype=np.float32):
    values = np.random.default_rng(7).normal(size=shape) * 8
    return values.astype(dtype)


@triton.jit
def scale(x, y, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + at, tl.load(x + at, at < n, other=0.0) * 2 + 1, at < n)


@triton.jit
def softmax(x, y, rows, columns, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)[:, None]
    column = tl.arange(0, COLUMNS)[None, :]
    mask = (row < rows) & (column < columns)
    value = tl.load(x + row * columns + column, mask, other=float("-inf"))
    power = tl.exp(value - tl.max(value, 1)[:, None])
    tl.store(y + row * columns + column, power / tl.sum(power, 1)[:, None], mask)


@triton.jit
def layer_norm(x, y, mean_out, n, BLOCK: tl.constexpr):
    """One row in pieces: accumulators, two dependent reductions, then the output."""
    total = tl.zeros([BLOCK], tl.float32)
    for start in range(0, n, BLOCK):
        at = start + tl.arange(0, BLOCK)
        total += tl.load(x + at, at < n, other=0.0)
    mean = tl.sum(total) / n
    squares = tl.zeros([BLOCK], tl.float32)
    for start in range(0, n, BLOCK):
        at = start + tl.arange(0, BLOCK)
        centred = tl.where(at < n, tl.load(x + at, at < n, other=0.0) - mean, 0.0)
        squares += centred * centred
    scale = 1 / tl.sqrt(tl.sum(squares) / n)
    tl.store(mean_out, mean)
    for start in range(0, n, BLOCK):
        at = start + tl.arange(0, BLOCK)
        value = tl.load(x + at, at < n, other=0.0)
        tl.store(y + at, (value - mean) * scale, at < n)


@triton.jit
def extremes(x, y, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    low = tl.load(x + at, at < n, other=100)
    value = tl.load(x + at, at < n, other=-100)
    tl.store(y, tl.max(value))
    tl.store(y + 1, tl.min(low))
    tl.store(y + 2, tl.sum(tl.where(at < n, value, 0)))
    tl.store(y + 3, tl.xor_sum(value))


@triton.jit
def flat_sum(x, y, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    at = tl.arange(0, ROWS)[:, None] * COLUMNS + tl.arange(0, COLUMNS)[None, :]
    tl.store(y, tl.sum(tl.load(x + at)))


@triton.jit
def overwritten(x, y, BLOCK: tl.constexpr):
    """The second store goes over the first, in another order."""
    at = tl.arange(0, BLOCK)
    tl.store(y + at, -1.0)
    tl.store(y + BLOCK // 2 - 1 - at // 2, tl.load(x + at // 2 * 2))


@triton.jit
def in_place(x, BLOCK: tl.constexpr):
    at = x + tl.arange(0, BLOCK)
    tl.store(at, tl.load(at) + 1)


@triton.jit
def reversed_in_place(x, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(x + BLOCK - 1 - at, tl.load(x + at))


@triton.jit
def running_sum(x, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(x + at, tl.cumsum(tl.load(x + at)))


@triton.jit
def best_position(x, y, BLOCK: tl.constexpr):
    tl.store(y, tl.argmax(tl.load(x + tl.arange(0, BLOCK)), 0))


@triton.jit
def sum_in_loop(x, y, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    state = tl.load(x + at)
    for _ in range(n):
        state = state / tl.sum(state)
    tl.store(y + at, state)


@triton.jit
def gemm(a, b, c, k, BLOCK: tl.constexpr, DEPTH: tl.constexpr):
    row, column = tl.arange(0, BLOCK)[:, None], tl.arange(0, BLOCK)[None, :]
    left = a + row * k + tl.arange(0, DEPTH)[None, :]
    right = b + tl.arange(0, DEPTH)[:, None] * BLOCK + column
    total = tl.zeros([BLOCK, BLOCK], tl.float32)
    for _ in range(0, k, DEPTH):
        total = tl.dot(tl.load(left), tl.load(right), total, input_precision="ieee")
        left += DEPTH
        right += DEPTH * BLOCK
    tl.store(c + row * BLOCK + column, total)


@triton.jit
def row_products(x, y, rows, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    """Programs that walk over blocks of rows; the cut is within their loop."""
    for block in range(tl.program_id(0), tl.cdiv(rows, ROWS), tl.num_programs(0)):
        row = block * ROWS + tl.arange(0, ROWS)
        at = row[:, None] * COLUMNS + tl.arange(0, COLUMNS)[None, :]
        value = tl.load(x + at, row[:, None] < rows, other=0.0)
        tl.store(y + row, tl.sum(value * value, 1), row < rows)


@triton.jit
def distances(x, y, BLOCK: tl.constexpr):
    """Rows and columns come from one vector of positions."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + at)
    apart = value[:, None] * value[None, :]
    tl.store(y + at[:, None] * BLOCK + at[None, :], apart)


@triton.jit
def table(y, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + at[:, None] * BLOCK + at[None, :], at[:, None] - 2 * at[None, :])


def test_positions_shared_by_rows_and_columns():
    text = ttir(table, "*i32", BLOCK=16)
    assert_same(SplitLargeBlocks(64), text, [np.zeros((16, 16), np.int32)])


def test_elements():
    text = ttir(scale, "*fp32 *fp32 i32", BLOCK=64)
    assert_same(SplitLargeBlocks(8), text, [numbers(100), numbers(100), 100], grid=(2,))


@pytest.mark.parametrize("elements", [128, 64])
def test_rows(elements):
    text = ttir(softmax, "*fp32 *fp32 i32 i32", ROWS=8, COLUMNS=32)
    arguments = [numbers(13, 30), numbers(13, 30), 13, 30]
    assert_same(SplitLargeBlocks(elements), text, arguments, grid=(2,))


def test_rows_and_columns():
    """Rows alone do not get down to 32 elements: columns are cut too, reductions are loops."""
    text = ttir(softmax, "*fp32 *fp32 i32 i32", ROWS=8, COLUMNS=32)
    arguments = [numbers(13, 30), numbers(13, 30), 13, 30]
    assert_same(SplitLargeBlocks(16), text, arguments, grid=(2,), tolerance=1e-6)
    _, said = transformed(SplitLargeBlocks(16), text)
    assert any("sums are added in another order" in message for message in said)


def test_dependent_reductions():
    text = ttir(layer_norm, "*fp32 *fp32 *fp32 i32", BLOCK=32)
    arguments = [numbers(75), numbers(75), numbers(1), 75]
    assert_same(SplitLargeBlocks(8), text, arguments, tolerance=1e-5)


def test_exact_reductions():
    text = ttir(extremes, "*i32 *i32 i32", BLOCK=64)
    arguments = [numbers(50, dtype=np.int32), np.zeros(4, np.int32), 50]
    assert_same(SplitLargeBlocks(8), text, arguments)
    _, said = transformed(SplitLargeBlocks(8), text)
    assert said and not any("another order" in message for message in said)


def test_sum_of_a_flattened_tensor():
    text = ttir(flat_sum, "*fp32 *fp32", ROWS=8, COLUMNS=16)
    assert_same(SplitLargeBlocks(32), text, [numbers(8, 16), numbers(1)], tolerance=1e-5)


def test_stores_keep_their_order():
    text = ttir(overwritten, "*fp32 *fp32", BLOCK=32)
    assert_same(SplitLargeBlocks(8), text, [numbers(32), numbers(32)])


def test_update_in_place():
    assert_same(SplitLargeBlocks(8), ttir(in_place, "*fp32", BLOCK=32), [numbers(32)])


def test_matrix_product():
    text = ttir(gemm, "*fp32 *fp32 *fp32 i32", BLOCK=32, DEPTH=16)
    # Whole numbers: numpy's own order of sums depends on the shape.
    arguments = [np.round(numbers(32, 32)) for _ in range(3)]
    assert_same(SplitLargeBlocks(256), text, [*arguments, 32])


def test_within_a_loop():
    text = ttir(row_products, "*fp32 *fp32 i32", ROWS=8, COLUMNS=16)
    module, _ = transformed(SplitLargeBlocks(32), text)
    (outer,) = [loop for loop in module.walk("scf.for") if loop.parent.operation.name == "tt.func"]
    assert any(inner.name == "scf.for" for inner in module.walk() if inner != outer)
    assert_same(SplitLargeBlocks(32), text, [numbers(21, 16), numbers(21), 21], grid=(2,))


@pytest.mark.parametrize(
    ("kernel", "signature", "reason"),
    [
        (reversed_in_place, "*fp32", "memory is read and written there"),
        (running_sum, "*fp32", "it is scanned"),
        (distances, "*fp32 *fp32", "two dimensions of a tensor depend on it"),
        (best_position, "*fp32 *i32", "reduced by more than one simple op"),
        (sum_in_loop, "*fp32 *fp32 i32", "reduced within a loop"),
    ],
)
def test_refused(kernel, signature, reason):
    text = ttir(kernel, signature, BLOCK=32)
    module, said = transformed(SplitLargeBlocks(8), text)
    assert module.text() == parsed(text).text()
    assert len(said) == 1 and reason in said[0], said


def test_estimate():
    """The loaded block and its powers are alive at once; offsets and masks are free."""
    text = ttir(softmax, "*fp32 *fp32 i32 i32", ROWS=8, COLUMNS=32)
    module = parsed(text)
    (function,) = module.functions()
    block = 8 * 32 * 4
    assert 2 * block <= max(live_bytes(function)) <= 3 * block


def test_needs_a_limit():
    _, said = transformed(SplitLargeBlocks(), ttir(scale, "*fp32 *fp32 i32", BLOCK=64))
    assert said == ["left alone: the target has no limit; give max-elements"]
