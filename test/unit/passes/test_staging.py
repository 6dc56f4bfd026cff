"""stage-loads, stage-dot-on-cube, stage-store: what they make of kernels, run on numpy arrays.

Operands are small integers, so that sums are exact whatever their order.
"""

import re

import numpy as np
import pytest
import triton.language as tl

from flagc.pipeline.diagnostics import Declined
from kernels import product_kernels as kernels
from support import templates
from support.staged_interpreter import run
from support.staging import staged

SHAPES = [(1, 1, 1), (7, 33, 40), (32, 16, 32), (35, 18, 100), (20, 40, 0)]
BLOCK = {"BM": 32, "BN": 16, "BK": 32}
ONE_STEP = {**BLOCK, "DEPTH_B": None, "ROWS": True, "COLUMNS": True, "STORED": True, "OTHER": 0.0}


def whole(*shape, dtype=np.float16):
    return np.random.default_rng().integers(-3, 4, shape).astype(dtype)


def tiles(size, block):
    return -(-size // block)


def product(a, b):
    return a.astype(np.int64) @ b.astype(np.int64)


def template(kind, out, order, epilogue="none", tile=(32, 16, 32)):
    """Return the GEMM of `support.templates`, staged."""
    ones = {
        "sam" if order[0] == "T" else "sak": 1,
        "sbk" if order[1] == "T" else "sbn": 1,
        "scn": 1,
    }
    constants = dict(zip(("BLOCK_M", "BLOCK_N", "BLOCK_K"), tile, strict=True))
    constants |= {**ones, "EPILOGUE": epilogue, "PRECISION": "ieee"}
    constants |= {"SUM": tl.int32 if kind == "i8" else tl.float32, "residual": None}
    types = f"*{kind} *{kind} *{out} "
    if "bias" in epilogue:
        types += f"*{out} "
    else:
        constants["bias"] = None
    return staged(templates.gemm, types + "i32 i32 i32 i32 i32 i32", constants)


def run_template(module, a, b, c, order, *more, tile=(32, 16, 32)):
    (m, k), n = a.shape, b.shape[1]
    left, right = (
        np.ascontiguousarray(matrix.T if letter == "T" else matrix)
        for matrix, letter in zip((a, b), order, strict=True)
    )
    strides = [max(matrix.shape[1], 1) for matrix in (left, right, c)]
    grid = (tiles(m, tile[0]), tiles(n, tile[1]))
    run(module, [left, right, c, *more, m, n, k, *strides], grid)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("order", ["NN", "TN", "NT", "TT"])
@pytest.mark.parametrize(("kind", "out"), [("fp16", "fp32"), ("fp32", "fp16"), ("i8", "i32")])
def test_every_order(kind, out, order, shape):
    m, n, k = shape
    dtypes = {"fp16": np.float16, "fp32": np.float32, "i8": np.int8, "i32": np.int32}
    a, b = whole(m, k, dtype=dtypes[kind]), whole(k, n, dtype=dtypes[kind])
    c = np.full((m, n), 99, dtypes[out])
    run_template(template(kind, out, order), a, b, c, order)
    np.testing.assert_array_equal(c, product(a, b))


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("epilogue", ["bias", "bias+relu"])
def test_bias_and_relu(epilogue, shape):
    m, n, k = shape
    a, b, bias = whole(m, k), whole(k, n), whole(n)
    c = np.full((m, n), 99, np.float16)
    run_template(template("fp16", "fp16", "NN", epilogue), a, b, c, "NN", bias)
    expected = product(a, b) + bias
    np.testing.assert_array_equal(c, np.maximum(expected, 0) if "relu" in epilogue else expected)


@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize("depth", [0, 30])
def test_a_bias_that_the_sum_starts_from(first, depth):
    """Or that is added to a product without a loop, which is the same in TTIR."""
    module = staged(kernels.biased, "*fp16 *fp16 *fp32 *fp32 i32", {**BLOCK, "FIRST": first})
    assert len(list(module.walk("staged.load_bt"))) == 1
    a, b, bias = whole(32, depth), whole(depth, 16), whole(16, dtype=np.float32)
    c = np.full((32, 16), 99, np.float32)
    run(module, [a, b, c, bias, depth])
    np.testing.assert_array_equal(c, product(a, b) + bias)


@pytest.mark.parametrize("size", [(7, 9, 40), (32, 16, 0)])
def test_batches(size):
    m, n, k = size
    module = staged(kernels.batches, "*fp16 *fp16 *fp32 i32 i32 i32", {**BLOCK, "B": 4})
    a, b = whole(4, m, k), whole(4, n, k)
    c = np.full((4, m, n), 99, np.float32)
    run(module, [a, b, c, m, n, k])
    np.testing.assert_array_equal(c, np.maximum(product(a, b.transpose(0, 2, 1)), 0))


def test_parts_of_k():
    """Half of L0B, 32 KiB, holds 64 of K for 256 columns of f16."""
    tile = (16, 256, 256)
    module = template("fp16", "fp32", "NN", tile=tile)
    parts, _ = module.walk("staged.load_l0b")  # the other one makes zeros of nothing
    assert "tile<l0b, 64x256xf16>" in str(parts.operands[5].type)
    for k in (1, 64, 65, 300):
        a, b, c = whole(5, k), whole(k, 70), np.full((5, 70), 99, np.float32)
        run_template(module, a, b, c, "NN", tile=tile)
        np.testing.assert_array_equal(c, product(a, b))


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("number", ["i32", "i64"])
def test_walking_pointers(shape, number):
    m, n, k = shape
    types = "*fp16 *fp16 *fp16" + 6 * f" {number}"
    module = staged(kernels.walking_pointers, types, {**BLOCK, "GROUP": 2})
    # What is masked off is not stored either; only where there is no K at all are zeros made.
    assert all(op.parent.name == "scf.if" for op in module.walk("staged.fill"))
    (zeros,) = module.walk("scf.if")
    assert zeros.parent.name == "tt.func"
    a, b, c = whole(m, k), whole(k, n), np.full((m, n), 99, np.float16)
    run(module, [a, b, c, m, n, k, k, n, n], (tiles(m, 32) * tiles(n, 16),))
    np.testing.assert_array_equal(c, product(a, b))


@pytest.mark.parametrize("shape", SHAPES)
def test_a_loop_over_tiles_has_an_accumulator_for_each(shape):
    m, n, k = shape
    module = staged(kernels.persistent, "*fp16 *fp16 *fp32 i32 i32 i32", BLOCK)
    a, b, c = whole(m, k), whole(k, n), np.full((m, n), 99, np.float32)
    run(module, [a, b, c, m, n, k], (2,))
    np.testing.assert_array_equal(c, product(a, b))


@pytest.mark.parametrize("shape", [(7, 3, 40), (35, 16, 100), (20, 9, 0)])
def test_two_sums_share_a_load(shape):
    m, n, k = shape
    module = staged(kernels.two_sums, "*fp16 *fp16 *fp16 *fp32 *fp32 i32 i32 i32", BLOCK)
    assert len(list(module.walk("staged.nd2nz"))) == 3
    a, b, c = whole(m, k), whole(k, n), whole(n, k)
    d, e = np.full((m, n), 99, np.float32), np.full((m, n), 99, np.float32)
    run(module, [a, b, c, d, e, m, n, k], (tiles(m, 32),))
    np.testing.assert_array_equal(d, product(a, b))
    np.testing.assert_array_equal(e, np.maximum(product(a, c.T), 0))


@pytest.mark.parametrize("kernel", kernels.BLOCKS_OF_TENSORS)
@pytest.mark.parametrize("shape", SHAPES)
def test_blocks_of_tensors(kernel, shape):
    m, n, k = shape
    module = staged(getattr(kernels, kernel), "*fp16 *fp16 *fp16 i32 i32 i32", BLOCK)
    a, b, c = whole(m, k), whole(n, k), np.full((m, n), 99, np.float16)
    run(module, [a, b, c, m, n, k], (tiles(m, 32), tiles(n, 16)))
    np.testing.assert_array_equal(c, product(a, b.T))


@pytest.mark.parametrize("rows", [True, False])
@pytest.mark.parametrize("columns", [True, False])
@pytest.mark.parametrize("stored", [True, False])
def test_rows_and_columns_that_are_stored_though_they_are_masked_off(rows, columns, stored):
    """They are zeros: tiles are filled where not all that is stored is loaded, and only there."""
    m, n, k = (20 if rows or stored else 32), 9, 30
    constants = {**ONE_STEP, "ROWS": rows, "COLUMNS": columns, "STORED": stored}
    module = staged(kernels.one_step, "*fp16 *fp16 *fp32 i32 i32 i32", constants)
    zeros = len(list(module.walk("scf.if")))  # where nothing is summed up
    filled = len(list(module.walk("staged.fill"))) - zeros
    assert filled == (0 if stored else rows + columns)
    a, b = whole(32, k), whole(k, 16)
    c = np.full((32, 16), 99, np.float32)
    run(module, [a, b, c, m, n, k])
    left = np.where(np.arange(32)[:, None] < m, a, 0) if rows else a
    right = np.where(np.arange(16) < n, b, 0) if columns else b
    expected = product(left, right)
    if stored:
        np.testing.assert_array_equal(c[:m, :n], expected[:m, :n])
        assert (c[m:] == 99).all()
        assert (c[:, n:] == 99).all()
    else:
        np.testing.assert_array_equal(c, expected)


REASONS = {
    "used twice": "stage-loads: what is loaded is used by 'tt.store' too",
    "gathered": "stage-loads: no block of a matrix: the index is computed by",
    "strided": "stage-loads: neither along its rows nor along its columns are elements neighbours",
    "from below": "stage-loads: lanes below n are masked off",
    "condition": "stage-loads: its mask has a condition that is the same for all lanes",
    "computed": "stage-dot-on-cube: the left operand comes from 'arith.mulf'",
    "written": "stage-loads: the kernel also writes to what this pointer points to",
    "start": "stage-store: .*'arith.addf' is no part of that",
    "branch": "stage-dot-on-cube: the product is in an 'scf.if'",
    "read early": "stage-dot-on-cube: the sum is read here before it is complete",
    "changed": "stage-dot-on-cube: the sum is read here before it is complete",
    "transposed": "stage-store: along its rows, elements are no neighbours in memory",
    "row": "stage-store: between the Cube and the store",
    "rounded twice": "stage-store: .*'arith.extf' is no part of that",
    "exchange": "stage-store: only additions are atomic",
    "column bias": "stage-store: .*'arith.addf' is no part of that",
    "bias once": "stage-store: the sum is stored with different biases",
    "copy": "stage-store: .*no sum of matrix products",
}


@pytest.mark.parametrize("reason", REASONS)
def test_what_is_declined(reason):
    with pytest.raises(Declined) as caught:
        staged(kernels.declined, "*fp16 *fp16 *fp32 *fp16 i32", {"REASON": reason, "B": 16})
    found = caught.value.diagnostic
    assert re.match(REASONS[reason], f"{found.pass_name}: {found.message}"), found
    assert found.location.line > 1
    assert str(found.location).startswith(kernels.__file__)


@pytest.mark.parametrize(
    ("constants", "types", "text"),
    [
        ({"OTHER": 1.0}, "", "masked off are loaded as something else than 0"),
        ({"DEPTH_B": 7}, "", "the operands end at different places along K: .* at K, .* at 7"),
        ({"BM": 256, "BN": 256}, "", None),  # cut by split-accumulators
        ({"BM": 16, "BN": 2048, "BK": 32}, "", None),
    ],
)
def test_sizes_and_values_that_are_declined(constants, types, text):
    def attempt():
        staged(kernels.one_step, "*fp16 *fp16 *fp32 i32 i32 i32", {**ONE_STEP, **constants})

    if text is None:
        attempt()
        return
    with pytest.raises(Declined, match=text):
        attempt()


def test_a_kernel_without_products_is_declined():
    with pytest.raises(Declined, match=r"the kernel has no"):
        staged(templates.reduce, "*fp32 *fp32 i32 i32 i32 i32", {
            "BLOCK_KEPT": 16, "BLOCK": 16, "AXIS": 1, "OP": "sum", "MASK": "none", "NEUTRAL": 0.0,
            "TYPE": tl.float32, "LOOP": False,
        })  # fmt: skip
