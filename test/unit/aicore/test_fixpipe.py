"""FIX.L0C.TO.OUT: rows and fractals, strides, ReLU, rounding, dequantisation."""

from __future__ import annotations

import numpy as np
import pytest
from assembling import FIX, L0C, L1, MTE2, at, run, word
from cube import ROWS, Cube, as_l0a, as_l0b

F16, F32 = np.float16, np.float32
FB = 7
KIND = {
    "f2h": F16,
    "f322bf16": np.uint16,
    "f32": F32,
    "s32": np.int32,
    "s322f16": F16,
    "s322s8": np.int8,
}
QUANT = {"f2h": 1, "f322bf16": 16, "f32": 0, "s32": 0, "s322f16": 10, "s322s8": 8}
RELU = 1 << 39
SPLIT = 1 << 42


def accumulators(values: np.ndarray, tensor: int = 0) -> tuple[Cube, list[np.ndarray]]:
    """A program that leaves `values` (fp32 or int32, [m][n]) in L0C, and its two tensors."""
    integer = values.dtype == np.int32
    m, n = values.shape
    if integer:  # low and high parts of 7 bits, times 1 and 128 / 2
        a = np.concatenate([values & 63, values >> 6], axis=1).astype(np.int8)
        assert ((values >> 6).astype(np.int8) == values >> 6).all()
        b = np.concatenate([np.eye(n), np.eye(n) * 64]).astype(np.int8)
        left, right, kind = as_l0a(a, 32), as_l0b(b, 32), "s8"
    else:
        left, right, kind = as_l0a(values, 8), as_l0b(np.eye(n, dtype=F32), 8), "f322f32"
    program = Cube(5).operands(tensor, left.nbytes, tensor + 1, right.nbytes)
    program.mad(kind, m, 2 * n if integer else n, n)
    return program, [left, right]


def stored(
    kind: str,
    values: np.ndarray,
    shape: tuple[int, int],
    size: int,
    *,
    stride: int,
    options: int = ROWS,
    nd: int = 1,
    parameters: np.ndarray | None = None,
) -> np.ndarray:
    """What the fixpipe makes of accumulators [m][n], as `size` elements that were 77 before."""
    program, tensors = accumulators(values)
    out = np.full(size, 77, KIND[kind])
    if parameters is None:
        parameters = np.zeros(1, np.uint64)
    else:
        program.to_l1(3, 65536, parameters.nbytes).fence(MTE2, FIX)
        move = word(1 << 4 | parameters.nbytes // 128 << 16)
        program.do("MOV.L1.TO.FB.v220", at(FB, 0), at(L1, 65536), move)
    program.do("SET.ND.PARA", word(nd))
    rows = -(-values.shape[0] // 16) * 16
    options |= QUANT[kind] << 34
    program.store(kind, 2, *shape, stride=stride, rows=rows, options=options)
    run(program, *tensors, out, parameters, np.zeros(1), core="aic")
    return out


def random(m: int, n: int) -> np.ndarray:
    return np.random.randint(-3000, 3000, (m, n)).astype(F32)


def test_rows_with_a_stride_and_tails() -> None:
    values = random(37, 40)
    out = stored("f32", values, (21, 35), 21 * 50, stride=50).reshape(21, 50)
    assert np.array_equal(out[:, :35], values[:21, :35])
    assert (out[:, 35:] == 77).all()


def test_source_stride_counts_rows_of_a_fractal_column() -> None:
    values = random(48, 32)
    program, tensors = accumulators(values)
    out = np.zeros((16, 32), F32)
    # Every second group of 16 rows: from row 16 on, as if a fractal column had 48 rows.
    shape, options = word(32 << 4 | 16 << 16 | 32 << 32), word(48 | ROWS)
    program.do("SET.ND.PARA", word(1))
    program.do("FIX.L0C.TO.OUT.f32", program.tensor(2), at(L0C, 16 * 64), shape, options)
    run(program, *tensors, out, out, out, core="aic")
    assert np.array_equal(out, values[16:32])


def test_results_round_to_nearest_even() -> None:
    values = np.full((16, 16), 1 + 2.0**-11, F32)  # between two fp16 values
    values[0, 1] = 1 + 3 * 2.0**-11
    values[0, 2], values[0, 3] = 1 + 2.0**-8, 1 + 3 * 2.0**-8  # between two bf16 values
    half = stored("f2h", values, (1, 4), 4, stride=4)
    assert half[:2].tolist() == [1, 1 + 2.0**-9]
    brain = stored("f322bf16", values, (1, 4), 4, stride=4)
    assert brain[2:].tolist() == [0x3F80, 0x3F82]


@pytest.mark.parametrize("kind", ["f32", "f2h", "s32"])
def test_relu(kind: str) -> None:
    values = random(16, 16).astype(np.int32 if kind == "s32" else F32)
    out = stored(kind, values, (16, 16), 256, stride=16, options=ROWS | RELU)
    assert np.array_equal(out.reshape(16, 16), np.maximum(values, 0).astype(KIND[kind]))
    plain = stored(kind, values, (16, 16), 256, stride=16)
    assert np.array_equal(plain.reshape(16, 16), values.astype(KIND[kind]))


def test_several_matrices() -> None:
    values = random(16, 48)  # three matrices of one fractal column
    nd = 2 | 2 << 16 | 300 << 32  # two of them, the first and the third
    out = stored("f32", values, (16, 10), 700, stride=12, nd=nd)
    for matrix, first in ((0, 0), (1, 32)):
        part = out[matrix * 300 :][: 16 * 12].reshape(16, 12)
        assert np.array_equal(part[:, :10], values[:, first : first + 10])
        assert (part[:, 10:] == 77).all()
    assert (out[192:300] == 77).all()


@pytest.mark.parametrize(
    ("kind", "columns", "options"),
    [("f32", 16, 0), ("f2h", 16, 0), ("s32", 16, 0), ("f32", 8, SPLIT)],
)
def test_fractals_are_kept_without_nz2nd(kind: str, columns: int, options: int) -> None:
    values = random(21, 48).astype(np.int32 if kind == "s32" else F32)
    width = columns * np.dtype(KIND[kind]).itemsize
    stride = 25 * width // 32  # 25 rows from group to group, of which 21 are stored
    out = stored(kind, values, (21, 48), 25 * 48, stride=stride, options=options)
    groups = out.reshape(48 // columns, 25, columns)
    expected = values.reshape(21, -1, columns).transpose(1, 0, 2).astype(KIND[kind])
    assert np.array_equal(groups[:, :21], expected)
    assert (groups[:, 21:] == 77).all()


def parameter(scale: float, offset: int = 0, *, signed: bool = True) -> int:
    """One column's word: scale in 13:32, offset in 37:46, sign in 46; below 13 is noise."""
    bits = int(np.array(scale, F32).view(np.uint32)) | 0x1FFF
    return bits | (offset & 511) << 37 | int(signed) << 46


def test_int32_to_fp16_by_a_scale_for_each_column() -> None:
    values = np.random.randint(-4000, 4000, (16, 32)).astype(np.int32)
    scales = 2.0 ** np.random.randint(-6, 3, 32)
    words = np.array([parameter(scale) for scale in scales], np.uint64)
    out = stored("s322f16", values, (16, 32), 512, stride=32, parameters=words)
    assert np.array_equal(out.reshape(16, 32), (values * scales).astype(F16))
    out = stored("s322f16", values, (16, 32), 512, stride=32, options=ROWS | RELU, parameters=words)
    assert np.array_equal(out.reshape(16, 32), (np.maximum(values, 0) * scales).astype(F16))


def test_int32_to_8_bits_rounds_offsets_and_saturates() -> None:
    values = np.zeros((16, 32), np.int32)
    values[0, :8] = [5, 7, -5, 300, 2000, -2000, 2000, -2000]
    words = np.full(32, parameter(0.5, 0), np.uint64)
    words[3] = parameter(0.5, -60)
    words[4], words[5] = parameter(1, -200), parameter(1, 200)  # 9 bits saturate before the offset
    words[6], words[7] = parameter(1, 10, signed=False), parameter(1, 10, signed=False)
    out = stored("s322s8", values, (1, 32), 32, stride=32, parameters=words)
    assert out[:6].tolist() == [2, 4, -2, 90, 55, -56]
    assert out.view(np.uint8)[6:8].tolist() == [255, 0]


def test_8_bit_fractals_have_32_columns() -> None:
    values = np.random.randint(-100, 100, (5, 64)).astype(np.int32)
    words = np.full(64, parameter(1), np.uint64)
    out = stored("s322s8", values, (5, 64), 64 * 6, stride=6, options=0, parameters=words)
    groups = out.reshape(2, 6, 32)
    assert np.array_equal(groups[:, :5], values.reshape(5, 2, 32).transpose(1, 0, 2))
    assert (groups[:, 5] == 77).all()


@pytest.mark.parametrize(
    ("kind", "options", "message"),
    [
        ("f32", ROWS | 2 << 39, "field ReLU = 2"),
        ("f32", ROWS | SPLIT, "field channel split = 1"),
        ("f2h", SPLIT, "field channel split = 1"),
        ("f32", ROWS | 1 << 34, "field quantisation = 1"),
        ("f32", ROWS | 1 << 20, "bits 0x100000 of the options"),
        ("f32", 0, "field n = 20"),
    ],
)
def test_what_is_not_understood_is_refused(kind: str, options: int, message: str) -> None:
    with pytest.raises(Exception, match=message):
        stored(kind, random(16, 32), (16, 20), 512, stride=32, options=options)


def test_scalar_quantisation_and_ambiguous_relu_are_refused() -> None:
    values = np.ones((16, 32), np.int32)
    words = np.full(32, parameter(1, 3), np.uint64)
    with pytest.raises(Exception, match="field quantisation = 11"):
        stored("s322f16", values, (1, 32), 32, stride=32, options=ROWS | 1 << 34, parameters=words)
    with pytest.raises(Exception, match="field ReLU = 1"):
        stored("s322s8", values, (1, 32), 32, stride=32, options=ROWS | RELU, parameters=words)
    with pytest.raises(Exception, match=r"SET\.ND\.PARA"):
        stored("s322s8", values, (1, 32), 32, stride=32, nd=0, parameters=words)
