"""The device library's own tile products, which build MAD's operands: bias, HF32, bytes."""

from __future__ import annotations

import numpy as np
import pytest
from assembling import L0C, L1, load, word
from cube import ROWS, Cube, as_l1, c0_of

F16, F32 = np.float16, np.float32
HF32 = 2.0**-11  # what rounding to 11 bits of fraction changes, relatively, at most by half


def buffer(program: Cube, space: int, offset: int, rows: int, columns: int, c0: int) -> str:
    """A memref of a matrix as fractal columns: [columns/C0][rows/16][16][C0]."""
    sizes = [-(-columns // c0), -(-rows // 16), 16, c0]
    return program.memref(space, offset, sizes, [sizes[1] * 16 * c0, 16 * c0, c0, 1])


def tile_product(
    name: str, a: np.ndarray, b: np.ndarray, bias: np.ndarray | None = None
) -> np.ndarray:
    (m, k), n = a.shape, b.shape[1]
    c0 = c0_of(a.dtype.type)
    c = np.zeros((m, n), np.int32 if a.dtype == np.int8 else F32)
    row = np.zeros(1024, F32 if bias is None else bias.dtype)
    if bias is not None:
        row[:n] = bias
    left, right = as_l1(a, c0), as_l1(b, c0, max(16, c0))
    program = Cube(4).to_l1(0, 0, left.nbytes).to_l1(1, 131072, right.nbytes)
    program.to_l1(2, 262144, row.nbytes)
    operands = [
        buffer(program, L1, 0, m, k, c0),
        buffer(program, L1, 131072, -(-k // c0) * c0, n, c0),
        "i1 1",
        *(word(size) for size in (m, k, n)),
    ]
    if bias is not None:
        operands.append(buffer(program, L1, 262144, 1, n, c0_of(bias.dtype.type)))
    operands.append(buffer(program, L0C, 0, m, n, 16))
    program.library(name, *operands, *[word(-1)] * 4, word(0), *[word(-1)] * 2, "i8 0")
    program.fence(2, 10).do("SET.ND.PARA", word(1))
    store = "s32" if a.dtype == np.int8 else "f32"
    rows = -(-m // 16) * 16
    program.store(store, 3, m, n, stride=n, rows=rows, options=ROWS)
    load(linked=True, aic=program).run((1,), [left, right, row, c])
    return c


def integers(rows: int, columns: int, kind: type) -> np.ndarray:
    return np.random.randint(-8, 8, (rows, columns)).astype(kind)


@pytest.mark.parametrize(
    ("name", "kind", "bias"),
    [
        ("half_to_float", F16, None),
        ("with_float_bias_half_to_float", F16, F32),
        ("with_half_bias_half_to_float", F16, F16),
        ("with_float_bias_float_to_float", F32, F32),
        ("with_half_bias_float_to_float", F32, F16),
        ("int8_t_to_int32_t", np.int8, None),
        ("with_int32_t_bias_int8_t_to_int32_t", np.int8, np.int32),
    ],
)
def test_products_with_a_bias(name: str, kind: type, bias: type | None) -> None:
    a, b = integers(48, 96, kind), integers(96, 64, kind)
    row = None if bias is None else np.random.randint(-99, 99, 64).astype(bias)
    expected = a.astype(int) @ b.astype(int) + (0 if row is None else row.astype(int))
    assert np.array_equal(tile_product(f"mma_tile_{name}", a, b, row), expected)


def test_hf32_is_less_exact_than_fp32_and_within_its_bound() -> None:
    a, b = np.random.randn(32, 64).astype(F32), np.random.randn(64, 32).astype(F32)
    exact = a.astype(np.float64) @ b.astype(np.float64)
    sums = np.abs(a).astype(np.float64) @ np.abs(b).astype(np.float64)
    error = np.abs(tile_product("mma_tile_float_to_float_hf32", a, b) - exact)
    # Two factors, each rounded by half a step at most, and fp32 sums.
    assert (error <= sums * (HF32 * 1.001 + 64 * 2.0**-24)).all()
    plain = np.abs(tile_product("mma_tile_float_to_float", a, b) - exact)
    assert (plain <= sums * 64 * 2.0**-24).all()
    assert error.max() > 8 * plain.max()
