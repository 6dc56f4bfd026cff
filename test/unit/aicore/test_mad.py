"""MAD: layouts, tails, bias, the initial value of C, HF32, int8 and int4."""

from __future__ import annotations

import numpy as np
import pytest
from assembling import L0A, L0B, L0C, L1, MTE1, M, at, run, word
from cube import BIAS, CLEAR, FRACTAL, ROWS, Cube, as_l0a, as_l0b, nibbles, product

F16, F32 = np.float16, np.float32
K_ALIGN = 1 << 58


def integers(rows: int, columns: int, kind: type, limit: int = 8) -> np.ndarray:
    return np.random.randint(-limit, limit, (rows, columns)).astype(kind)


@pytest.mark.parametrize(
    ("kind", "dtype", "c0"), [("f162f32", F16, 16), ("f322f32", F32, 8), ("s8", np.int8, 32)]
)
@pytest.mark.parametrize("shape", [(16, 32, 16), (35, 41, 20), (1, 3, 1)])
def test_products_whose_tails_are_garbage(
    kind: str, dtype: type, c0: int, shape: tuple[int, int, int]
) -> None:
    m, k, n = shape
    a, b = integers(m, k, dtype), integers(k, n, dtype)
    garbage = np.nan if dtype is not np.int8 else 77
    c = product(kind, as_l0a(a, c0, garbage), as_l0b(b, c0, garbage), shape)
    assert np.array_equal(c, a.astype(np.float64) @ b.astype(np.float64))


def test_int4_products() -> None:
    m, k, n = 20, 100, 33
    a, b = integers(m, k, np.int8), integers(k, n, np.int8)
    left, right = nibbles(as_l0a(a, 64, 5)), nibbles(as_l0b(b, 64, -3))
    assert np.array_equal(product("s4", left, right, (m, k, n)), a.astype(int) @ b.astype(int))


def test_aligned_k_leaves_a_fractal_unused_between_rows_of_fractals() -> None:
    m, k, n = 32, 24, 16
    a, b = integers(m, k, F32), integers(k, n, F32)
    left = np.full((2, 4, 16, 8), np.nan, F32)  # k of 3 fractals, rounded up to 4
    left[:, :3] = as_l0a(a, 8)
    c = product("f322f32", left, as_l0b(b, 8), (m, k, n), CLEAR | K_ALIGN)
    assert np.array_equal(c, a @ b)


def accumulated(flags: int) -> np.ndarray:
    """C = A B, then another MAD of the same with `flags`."""
    a, b = np.full((16, 16), 3, F16), np.eye(16, dtype=F16)
    c = np.zeros((16, 16), F32)
    program = Cube(3).operands(0, 512, 1, 512).mad("f162f32", 16, 16, 16)
    program.mad("f162f32", 16, 16, 16, flags).do("SET.ND.PARA", word(1))
    program.store("f32", 2, 16, 16, stride=16, rows=16, options=ROWS)
    run(program, a, b, c, core="aic")
    return c


def test_products_accumulate_unless_c_is_cleared() -> None:
    assert (accumulated(0) == 6).all()
    assert (accumulated(CLEAR) == 3).all()


def biased(
    kind: str, a: np.ndarray, b: np.ndarray, bias: np.ndarray, n: int, flags: int, at_bias: int
) -> np.ndarray:
    """A B with a bias row that lies `at_bias` bytes into BT; C lies 4096 bytes into L0C."""
    m, c0 = a.shape[0], 16 if kind == "f162f32" else 32
    c = np.zeros((m, n), F32 if kind == "f162f32" else np.int32)
    left, right = as_l0a(a, c0), as_l0b(b, c0)
    row = np.zeros(-(-n // 32) * 32, bias.dtype)
    row[:n] = bias
    program = Cube(4).operands(0, left.nbytes, 1, right.nbytes).to_l1(2, 65536, row.nbytes)
    convert = 8 if bias.dtype == F16 else 0
    length = -(-row.nbytes // 64)
    program.do("MOV.L1.TO.BT", word(at_bias), at(L1, 65536), word(convert | 1 << 4 | length << 16))
    program.fence(MTE1, M)
    program.mad(kind, m, a.shape[1], n, flags, c=4096 | at_bias << 32)
    program.do("SET.ND.PARA", word(1))
    rows = -(-m // 16) * 16
    shape, options = word(n << 4 | m << 16 | n << 32), word(rows | ROWS)
    name = "FIX.L0C.TO.OUT.f32" if kind == "f162f32" else "FIX.L0C.TO.OUT.s32"
    program.do(name, program.tensor(3), at(L0C, 4096), shape, options)
    run(program, left, right, row, c, core="aic")
    return c


@pytest.mark.parametrize("at_bias", [0, 256])
@pytest.mark.parametrize(
    ("kind", "dtype", "bias_dtype"),
    [("f162f32", F16, F32), ("f162f32", F16, F16), ("s8", np.int8, np.int32)],
)
def test_bias_from_bt_is_added_to_every_row(
    kind: str, dtype: type, bias_dtype: type, at_bias: int
) -> None:
    a, b = integers(19, 40, dtype), integers(40, 37, dtype)
    bias = np.random.randint(-999, 999, 37).astype(bias_dtype)
    c = biased(kind, a, b, bias, 37, BIAS, at_bias)
    assert np.array_equal(c, a.astype(int) @ b.astype(int) + bias.astype(int))


def test_clearing_c_wins_over_a_bias() -> None:
    a, b = integers(16, 16, F16), integers(16, 16, F16)
    c = biased("f162f32", a, b, np.full(16, 50, F32), 16, BIAS | CLEAR, 0)
    assert np.array_equal(c, a.astype(int) @ b.astype(int))


# HF32 has 11 bits of fraction: a step of 2**-11 between 1 and 2.
STEP = 2.0**-11
VALUES = [1 + STEP / 2, 1 + 3 * STEP / 2, 1 + STEP * 0.75, 1 + STEP * 0.25, -1 - 3 * STEP / 2]
EVEN = [1, 1 + 2 * STEP, 1 + STEP, 1, -1 - 2 * STEP]
TO_ZERO = [1, 1 + STEP, 1 + STEP, 1, -1 - STEP]


@pytest.mark.parametrize(
    ("control", "expected"),
    [
        (0, VALUES),
        (1 << 47, VALUES),
        (1 << 46, EVEN),
        (1 << 46 | 1 << 47, TO_ZERO),
        (1 << 49, EVEN),
    ],
)
@pytest.mark.parametrize("side", ["A", "B"])
def test_hf32_rounds_both_operands(control: int, expected: list[float], side: str) -> None:
    values, ones = np.zeros((16, 8), F32), np.zeros((8, 16), F32)
    values[:5, 0], ones[0] = VALUES, 1
    before = Cube().do("SET.CTRL", word(control))
    if side == "A":
        a, b = values, ones
    else:
        a, b = ones.T.copy(), values.T.copy()
    c = product("f322f32", as_l0a(a, 8), as_l0b(b, 8), (16, 8, 16), before=before)
    assert (c[:5, 0] if side == "A" else c[0, :5]).tolist() == expected


def test_unknown_fields_are_refused() -> None:
    for bit in (40, 57, 60):
        program = Cube(1).do("MAD.f162f32", at(L0C, 0), at(L0A, 0), at(L0B, 0), word(1 << bit))
        with pytest.raises(Exception, match="of the configuration are set"):
            run(program, np.zeros(1, F32), core="aic")


def test_operands_have_their_own_addresses() -> None:
    a, b = integers(16, 16, F16), integers(16, 16, F16)
    c = np.zeros((16, 16), F32)
    program = Cube(3).to_l1(0, 0, 512).to_l1(1, 1024, 512)
    program.load("A", 0, 3 * FRACTAL, 1).load("B", 1024, 5 * FRACTAL, 1)
    fields = word(16 | 16 << 12 | 16 << 24 | CLEAR)
    where = [at(L0C, 0), at(L0A, 3 * FRACTAL), at(L0B, 5 * FRACTAL)]
    program.do("MAD.f162f32", *where, fields).fence(M, 10).do("SET.ND.PARA", word(1))
    program.store("f32", 2, 16, 16, stride=16, rows=16, options=ROWS)
    run(program, as_l0a(a, 16), as_l0b(b, 16), c, core="aic")
    assert np.array_equal(c, a.astype(F32) @ b.astype(F32))
