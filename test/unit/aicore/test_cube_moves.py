"""Moves into L1 and on to L0A, L0B: strides, tails, transposition, windows."""

from __future__ import annotations

import numpy as np
import pytest
from assembling import L0A, L0B, L1, MTE1, MTE2, M, Program, at, run, word
from cube import CLEAR, FRACTAL, ROWS, Cube, as_l0a, as_l0b, as_l1, c0_of, nibbles

F16, F32 = np.float16, np.float32
MAD = {F16: "f162f32", F32: "f322f32", np.int8: "s8"}


def l1_after(program: Cube, tensors: list[np.ndarray], size: int, kind: type) -> np.ndarray:
    """Runs `program`, of `len(tensors)` tensors, and returns the first `size` bytes of L1."""
    out = np.zeros(size // np.dtype(kind).itemsize, kind)
    program.tensors = len(tensors) + 1
    run(program.from_l1(len(tensors), 0, size), *tensors, out, core="aic")
    return out


def test_nd2nz_of_several_matrices() -> None:
    # Two matrices of 3 rows and 20 columns, rows 24 apart, matrices 100; in L1 fractal columns of 8
    # blocks, rows 2 blocks apart, matrices 512 elements apart.
    source = np.arange(1, 201).astype(F16)
    program = Cube()
    shape = 2 << 4 | 3 << 16 | 20 << 32 | 100 << 48
    strides = 24 | 8 << 16 | 2 << 32 | 512 << 48
    name = "MOV.OUT.TO.L1.MULTI.ND2NZ.f16"
    fill = word(1 | 64 << 16)
    program.do("CREATE.CBUF.MATRIX.f16.h", at(L1, 0), fill, "half -1.0")
    program.do(name, at(L1, 0), program.tensor(0), word(shape), word(strides))
    found = l1_after(program, [source], 2048, F16).reshape(2, 32, 16)
    expected = np.full((2, 32, 16), -1, F16)
    for matrix in range(2):
        rows = source[matrix * 100 :][:72].reshape(3, 24)[:, :20]
        for row in range(3):
            expected[matrix, row * 2] = rows[row, :16]
            expected[matrix, 8 + row * 2] = [*rows[row, 16:], *[0] * 12]
    assert np.array_equal(found, expected)


@pytest.mark.parametrize(
    ("name", "value", "kind", "expected"),
    [
        ("f16.h", "half 2.5", F16, 2.5),
        ("bf16.ori", "bfloat 2.5", np.uint16, 0x4020),
        ("v2.u16", "i64 77", np.uint16, 77),
        ("f32.h", "half 0.0", F32, 0),
    ],
)
def test_fill_has_runs_and_gaps(name: str, value: str, kind: type, expected: float) -> None:
    before = np.arange(512).astype(kind)
    program = Cube().to_l1(0, 0, before.nbytes)
    fields = word(3 | 2 << 16 | 1 << 32)  # three runs of two blocks, one block between
    program.do(f"CREATE.CBUF.MATRIX.{name}", at(L1, 64), fields, value)
    found = l1_after(program, [before], before.nbytes, kind).reshape(-1, c0_of(kind))
    filled = [2, 3, 5, 6, 8, 9]
    assert (found[filled] == expected).all()
    others = [block for block in range(len(found)) if block not in filled]
    assert np.array_equal(found[others], before.reshape(-1, c0_of(kind))[others])


def test_plain_moves_have_bursts_and_gaps() -> None:
    source, out = np.arange(64, dtype=F32), np.full(96, -1, F32)
    program = Cube(2)
    program.do("CREATE.CBUF.MATRIX.f32.h", at(L1, 0), word(1 | 16 << 16), "half 0.0")
    # Three bursts of 2 blocks; gaps of 1 block in global memory, 3 in L1.
    fields = word(3 << 4 | 2 << 16 | 1 << 32 | 3 << 48)
    program.do("MOV.OUT.TO.L1.v220", at(L1, 0), program.tensor(0), fields, word(0))
    program.fence(MTE2, 5)
    # Back in two bursts of 3 blocks, 2 blocks between in L1, 1 in global memory.
    fields = word(2 << 4 | 3 << 16 | 2 << 32 | 1 << 48)
    program.do("MOV.L1.TO.OUT.V220.CUBE", program.tensor(1), at(L1, 0), fields)
    run(program, source, out, core="aic")
    blocks = source.reshape(8, 8)
    l1 = np.zeros((16, 8), F32)
    for burst in range(3):
        l1[burst * 5 : burst * 5 + 2] = blocks[burst * 3 : burst * 3 + 2]
    found = out.reshape(12, 8)
    assert np.array_equal(found[:3], l1[:3])
    assert np.array_equal(found[4:7], l1[5:8])
    assert (found[[3, 7, 8, 9, 10, 11]] == -1).all()


def product_of(
    program: Cube, kind: type, tensors: list[np.ndarray], shape: tuple[int, int, int]
) -> np.ndarray:
    """C of what `program` has brought to L0A and L0B."""
    m, k, n = shape
    integer = kind is np.int8 or kind is np.uint8
    c = np.zeros((m, n), np.int32 if integer else F32)
    program.tensors = len(tensors) + 1
    program.fence(MTE1, M).mad("s4" if kind is np.uint8 else MAD[kind], m, k, n, CLEAR)
    program.do("SET.ND.PARA", word(1))
    rows, store = -(-m // 16) * 16, "s32" if integer else "f32"
    program.store(store, len(tensors), m, n, stride=n, rows=rows, options=ROWS)
    run(program, *tensors, c, core="aic")
    return c


def test_2d_loads_pick_fractals() -> None:
    # Fractals 3, 5 and 7 of L1 go to L0A with one fractal between: k fractals 0, 2 and 4 of A.
    parts = np.random.randint(-8, 8, (9, 16, 16)).astype(F16)
    b = np.random.randint(-8, 8, (80, 16)).astype(F16)
    program = Cube().to_l1(0, 0, parts.nbytes).to_l1(1, 65536, b.nbytes)
    zero = word(1 | 160 << 16)
    program.do("CREATE.CBUF.MATRIX.f16.h", at(L1, 131072), zero, "half 0.0").fence(MTE2, MTE1)
    program.load("A", 131072, 0, 5).load("B", 65536, 0, 5)
    fields = word(3 | 3 << 16 | 2 << 24 | 1 << 44)
    name = "LOAD.L1.TO.L0A.2D.V220.f16.addr"
    program.do(name, at(L0A, 0), at(L1, 0), fields, word(0), word(0))
    c = product_of(program, F16, [parts, as_l0b(b, 16)], (16, 80, 16))
    a = np.zeros((16, 80), F16)
    for target, source in ((0, 3), (2, 5), (4, 7)):
        a[:, target * 16 : target * 16 + 16] = parts[source]
    assert np.array_equal(c, a.astype(F32) @ b.astype(F32))


@pytest.mark.parametrize("side", ["A", "B"])
def test_2d_loads_transpose_each_fractal(side: str) -> None:
    """Fractals of A are 16 rows of k, of B 16 columns of k: what lies the other way is turned."""
    a, b = (np.random.randint(-8, 8, (16, 16)).astype(F16) for _ in range(2))
    left = a.T if side == "A" else a
    right = b if side == "B" else b.T  # L0B holds columns
    program = Cube().to_l1(0, 0, FRACTAL).to_l1(1, 65536, FRACTAL)
    for name, space, source in (("A", L0A, 0), ("B", L0B, 65536)):
        turned = word(1 if name == side else 0)
        load = f"LOAD.L1.TO.L0{name}.2D.V220.f16.addr"
        program.do(load, at(space, 0), at(L1, source), word(1 << 16 | 1 << 24), turned, word(0))
    program.fence(MTE1, M)
    c = product_of(
        program, F16, [np.ascontiguousarray(left), np.ascontiguousarray(right)], (16,) * 3
    )
    assert np.array_equal(c, a.astype(F32) @ b.astype(F32))


@pytest.mark.parametrize("kind", [np.int8, np.uint8])
def test_transposing_loads_turn_squares_into_fractals(kind: type) -> None:
    """B in L1 as squares [k][n] (k and n 32 bytes each); n of 2 squares, one of them left out."""
    four_bits = kind is np.uint8
    side = 64 if four_bits else 32
    squares = np.random.randint(-8, 8, (4, side, side)).astype(np.int8)
    a = np.random.randint(-8, 8, (16, side)).astype(np.int8)
    left, stored = as_l0a(a, side), squares
    if four_bits:
        left, stored = nibbles(left), nibbles(squares)
    program = Cube().to_l1(0, 0, left.nbytes).to_l1(1, 65536, stored.nbytes)
    program.load("A", 0, 0, 1)
    # Squares 1 and 3; fractals of one square two apart, the squares one: they interleave.
    fields = word(1 | 2 << 16 | 2 << 24 | 0 << 44)
    name = f"LOAD.L1.TO.L0B.2D.TRANSPOSE.{'s4' if four_bits else 's8'}"
    program.do(name, at(L0B, 0), at(L1, 65536), fields, word(1))
    n = 2 * side
    c = product_of(program, kind, [left, stored], (16, side, n))
    groups = [squares[1 + 2 * (g % 2)][:, g // 2 * 16 : g // 2 * 16 + 16] for g in range(n // 16)]
    assert np.array_equal(c, a.astype(int) @ np.concatenate(groups, axis=1).astype(int))


def test_transposing_loads_leave_gaps_between_squares() -> None:
    square = np.random.randint(-8, 8, (2, 32, 32)).astype(np.int8)
    a = np.random.randint(-8, 8, (16, 32)).astype(np.int8)
    left = as_l0a(a, 32)
    program = Cube().to_l1(0, 0, left.nbytes).to_l1(1, 65536, square.nbytes)
    program.load("A", 0, 0, 1)
    fields = word(2 << 16 | 1 << 24 | 1 << 44)
    program.do("LOAD.L1.TO.L0B.2D.TRANSPOSE.s8", at(L0B, 0), at(L1, 65536), fields, word(3))
    # Fractals 0 and 4 of the first square, 2 and 6 of the second.
    for fractal in (1, 3, 5):
        program.load("B", 65536, fractal * FRACTAL, 1)
    c = product_of(program, np.int8, [left, square], (16, 32, 112))
    for fractal, (index, half) in {0: (0, 0), 4: (0, 1), 2: (1, 0), 6: (1, 1)}.items():
        part = square[index][:, half * 16 : half * 16 + 16]
        found = c[:, fractal * 16 : fractal * 16 + 16]
        assert np.array_equal(found, a.astype(int) @ part.astype(int))


PLAIN = 1 | 1 << 6 | 1 << 12 | 1 << 20 | 1 << 28 | 1 << 36  # kernel, strides, dilations of 1
TRANSPOSE, OF_B = 1 << 46, 1 << 47


def window(k: int, m: int, at_k: int, at_m: int) -> str:
    return word(k | m << 16 | at_k << 32 | at_m << 48)


@pytest.mark.parametrize("kind", [F16, F32])
@pytest.mark.parametrize("side", ["A", "B"])
@pytest.mark.parametrize("transpose", [False, True])
def test_windows_of_a_feature_map(kind: type, side: str, transpose: bool) -> None:
    """A window of 32 rows and 32 columns, 16 rows down and 16 columns in, of a map of 64 x 64."""
    c0 = c0_of(kind)
    whole = np.random.randint(-8, 8, (64, 64)).astype(kind)
    other = np.random.randint(-8, 8, (32, 32)).astype(kind)
    part = whole[16:48, 16:48].astype(F32)
    tensors = [as_l1(whole, c0), as_l0b(other, c0) if side == "A" else as_l0a(other, c0)]
    program = Cube().to_l1(0, 0, tensors[0].nbytes).to_l1(1, 65536, tensors[1].nbytes)
    program.load("B" if side == "A" else "A", 65536, 0, tensors[1].nbytes // FRACTAL)
    # The other side's map is too small: it must not be the one that counts.
    program.do("SET.FMATRIX" if side == "A" else "SET.FMATRIX.B", word(64 | 1 << 16))
    program.do("SET.FMATRIX.B" if side == "A" else "SET.FMATRIX", word(1 | 1 << 16))
    fields = PLAIN | 64 << 48 | (TRANSPOSE if transpose else 0) | (OF_B if side == "B" else 0)
    name = f"LOAD.L1.TO.L0{side}.3DV2.{'f16' if kind is F16 else 'f32'}"
    where = at(L0A if side == "A" else L0B, 0)
    program.do(name, where, at(L1, 0), window(32, 32, 16, 16), word(fields))
    c = product_of(program, kind, tensors, (32, 32, 32))
    if side == "A":
        expected = (part.T if transpose else part) @ other.astype(F32)
    else:
        expected = other.astype(F32) @ (part if transpose else part.T)
    assert np.array_equal(c, expected)


@pytest.mark.parametrize(
    ("extent", "fields", "message"),
    [
        (window(16, 16, 0, 0), PLAIN + 1, "as a convolution"),
        (window(32, 16, 16, 0), PLAIN, "field channels = 32"),
        (window(16, 32, 0, 16), PLAIN, "field rows of the feature map = 32"),
    ],
)
def test_windows_beyond_the_map_are_refused(extent: str, fields: int, message: str) -> None:
    program = Cube(1).to_l1(0, 0, 4096).do("SET.FMATRIX", word(32 | 1 << 16))
    where = [at(L0A, 0), at(L1, 0), extent, word(fields | 32 << 48)]
    program.do("LOAD.L1.TO.L0A.3DV2.f16", *where)
    with pytest.raises(Exception, match=message):
        run(program, np.zeros(2048, F16), core="aic")


@pytest.mark.parametrize(
    ("name", "operands"),
    [
        ("MOV.OUT.TO.L1.v220", [1, 0]),
        ("MOV.OUT.TO.L1.v220", [1 << 4 | 1 << 16, 1]),
        ("MOV.OUT.TO.L1.MULTI.ND2NZ.f16", [1, 0]),
    ],
)
def test_fields_without_a_known_meaning_are_refused(name: str, operands: list[int]) -> None:
    program = Program(1)
    program.do(name, at(L1, 0), program.tensor(0), *(word(value) for value in operands))
    with pytest.raises(Exception, match="refused: field"):
        run(program, np.zeros(64, F32), core="aic")
    for operands in ([1 << 40, 0, 0], [1 << 63, 0, 0], [1 << 16, 2, 0], [1 << 16, 0, 1]):
        program = Program(1)
        load = "LOAD.L1.TO.L0A.2D.V220.f16.addr"
        program.do(load, at(L0A, 0), at(L1, 0), *(word(value) for value in operands))
        with pytest.raises(Exception, match="refused: field"):
            run(program, np.zeros(64, F32), core="aic")
