"""Modes of vector instructions: rounding shifts, register sums, cut-off conversions, refusals."""

from __future__ import annotations

import numpy as np
import pytest
from assembling import UB, Program, S, V, at, run, word

F32, F16 = np.float32, np.float16
UNARY = 0x0100_0808_0001_0001
BINARY = 0x0100_0808_0801_0101
CUT = 1 << 59


@pytest.mark.parametrize(
    ("kind", "distance", "values", "plain", "rounded"),
    [
        ("s32", 2, [5, 6, -5, -6, 7], [1, 1, -2, -2, 1], [1, 2, -1, -1, 2]),
        ("s16", 1, [5, -5, 4, 3, -1], [2, -3, 2, 1, -1], [3, -2, 2, 2, 0]),
        ("u32", 2, [5, 6, 7, 8, 2**32 - 1], [1, 1, 1, 2, 2**30 - 1], [1, 1, 1, 2, 2**30 - 1]),
        ("s32", 0, [5, 6, -5, -6, 7], [5, 6, -5, -6, 7], [5, 6, -5, -6, 7]),
    ],
)
def test_right_shifts_round_when_asked(
    kind: str, distance: int, values: list[int], plain: list[int], rounded: list[int]
) -> None:
    x = np.array(values, {"s32": np.int32, "s16": np.int16, "u32": np.uint32}[kind])
    for rounds, expected in ((0, plain), (1, rounded)):
        out = np.zeros_like(x)
        program = Program().to_ub(0, 0, x.nbytes).count(len(x))
        where = [at(UB, 1024), at(UB, 0), word(distance), word(UNARY), word(rounds)]
        program.do(f"VSHR.{kind}", *where)
        run(program.from_ub(1, 1024, x.nbytes), x, out)
        assert out.tolist() == expected


def register(program: Program, name: str, index: int) -> None:
    """Stores the value of a register instruction at word `index` of parameter 1."""
    program.fence(V, S)
    program.declared[name] = f'declare i64 @"hivm.{name}"()'
    value = f"%r{len(program.lines)}"
    program.lines.append(f'  {value} = call i64 @"hivm.{name}"()')
    pointer = program.tensor(1, index * 8)
    program.lines.append(f"  store i64 {value}, {pointer}")


@pytest.mark.parametrize("kind", [F32, F16])
def test_sums_of_all_repeats_go_to_a_register_only(kind: type) -> None:
    width = 256 // np.dtype(kind).itemsize
    x = np.random.randint(-8, 8, (3, width)).astype(kind)
    sums, name = np.zeros(3, np.uint64), "VCADD.f32.order" if kind is F32 else "VCADD.f16.order"
    fields = 1 | 1 << 16 | 8 << 32
    program = Program().to_ub(0, 0, x.nbytes).mask(2**64 - 1, 2**64 - 1)
    # The target is not written: it may lie outside of UB.
    program.do(name, at(UB, 1 << 20), at(UB, 0), word(fields | 3 << 56), word(1))
    register(program, "GET.ACC.VAL", 0)
    program.do(name, at(UB, 4096), at(UB, 0), word(fields | 2 << 56), word(0))
    register(program, "GET.ACC.VAL", 1)  # as before
    program.do(name, at(UB, 1 << 20), at(UB, 0), word(fields | 1 << 56), word(1))
    register(program, "GET.ACC.VAL", 2)
    run(program, x, sums)
    found = sums.astype(np.uint32).view(F32) if kind is F32 else sums.astype(np.uint16).view(F16)
    assert found.tolist() == [x.sum(), x.sum(), x[0].sum()]


def test_extremes_of_all_repeats_are_in_a_register() -> None:
    x, out = np.zeros((2, 64), F32), np.zeros(2, np.uint64)
    x[1, 7], x[0, 9] = 5, -3
    fields = word(1 | 1 << 16 | 8 << 32 | 2 << 56)
    program = Program().to_ub(0, 0, x.nbytes).mask(2**64 - 1)
    for index, name in enumerate(("VCMAX", "VCMIN")):
        program.do(f"{name}.f32.order.v220", at(UB, 4096), at(UB, 0), fields, word(0))
        register(program, "GET.MAX.MIN.CNT", index)
    run(program, x, out)
    assert (out & 0xFFFFFFFF).astype(np.uint32).view(F32).tolist() == [5, -3]
    assert (out >> 32).tolist() == [64 + 7, 9]


def converted(name: str, values: np.ndarray, kind: type, fields: int, control: int) -> list[int]:
    out = np.zeros(len(values), kind)
    program = Program().to_ub(0, 0, values.nbytes)
    program.do("SET.CTRL", word(control | 1 << 56)).do("MOVEMASK", word(0), word(len(values)))
    program.do(f"VCONV.{name}.v220", at(UB, 4096), at(UB, 0), word(fields))
    run(program.from_ub(1, 4096, out.nbytes), values, out)
    return list(out.tolist())


def test_conversions_saturate_or_cut_off() -> None:
    narrow = 1 | 1 << 16 | 4 << 32 | 8 << 40 | 1 << 56
    wide = np.array([70000, -70000, 5], np.int32)
    assert converted("s322s16", wide, np.int16, narrow, 0) == [32767, -32768, 5]
    assert converted("s322s16", wide, np.int16, narrow, CUT) == [70000 - 65536, 65536 - 70000, 5]
    long = np.array([2**40 + 3, -(2**40) - 3], np.int64)
    assert converted("s642s32.1", long, np.int32, narrow, 0) == [2**31 - 1, -(2**31)]
    assert converted("s642s32.1", long, np.int32, narrow, CUT) == [3, -3]
    floats = np.array([70001, -70001, 2.0**40, np.inf], F32)
    expected = [70001 - 65536, 65536 - 70001, 0, 32767]
    assert converted("f322s16r", floats, np.int16, narrow, CUT) == expected


def test_unknown_control_bits_are_refused() -> None:
    for bit in (0, 12, 45, 50, 57, 61):
        with pytest.raises(Exception, match="of the register CTRL"):
            run(Program().do("SET.CTRL", word(1 << bit)), np.zeros(1), np.zeros(1))


X, Y = at(UB, 1024), at(UB, 0)


@pytest.mark.parametrize(
    ("name", "operands"),
    [
        ("VADD.f32", [X, Y, Y, word(BINARY | 1 << 48)]),
        ("VADD.f32", [X, Y, Y, word(BINARY | 1 << 55)]),
        ("VSEL.f32.1", [X, Y, Y, word(BINARY | 3 << 48)]),
        ("VSEL.f32.1", [X, Y, Y, word(BINARY | 1 << 50)]),
        ("VSHR.s32", [X, Y, word(1), word(UNARY), word(2)]),
        ("VCADD.f32.order", [X, Y, word(1 << 56), word(2)]),
        ("VCADD.f32.order", [X, Y, word(1 << 48), word(0)]),
        ("VCMAX.f32.order.v220", [X, Y, word(1 << 56), word(4)]),
        ("VBRCB.b32", [X, Y, word(1 | 1 << 16 | 1 << 56)]),
        ("VREDUCEv2.b32", [X, Y, Y, word(8 << 16 | 1)]),
        ("VGATHER.b32", [X, Y, word(1 << 44)]),
        ("S.VNCHWCONV.b16", [word(0), word(2), word(1 << 32)]),
        ("VBS32.f32", [X, Y, Y, word(1)]),
        ("VMRGSORT.f32.V220", [X, word(0), word(0), word(1 << 13)]),
        ("MOV.UB.TO.UB.v220", [X, Y, word(1)]),
        ("BARRIER", [word(11)]),
    ],
)
def test_fields_without_a_known_meaning_are_refused(name: str, operands: list[str]) -> None:
    with pytest.raises(Exception, match="refused: field"):
        run(Program().do(name, *operands), np.zeros(1), np.zeros(1))


def test_a_repeat_of_a_conversion_is_256_bytes_of_the_wider_type() -> None:
    # 128 halves in count mode: two repeats of 64 floats, 10 blocks apart; their sources 4 blocks.
    x, out = np.arange(128, dtype=F16), np.full(160, -1, F32)
    program = Program().to_ub(0, 0, 256).to_ub(1, 4096, 640).count(128)
    fields = 1 | 1 << 16 | 10 << 32 | 4 << 40 | 2 << 56
    program.do("VCONV.f162f32.v220", at(UB, 4096), at(UB, 0), word(fields))
    run(program.from_ub(1, 4096, 640), x, out)
    assert out.tolist() == [*range(64), *[-1] * 16, *range(64, 128), *[-1] * 16]


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        ("r", [np.inf, -np.inf]),
        ("z", [65504, -65504]),
        ("f", [65504, -np.inf]),
        ("c", [np.inf, -65504]),
    ],
)
def test_overflow_goes_where_the_rounding_goes(mode: str, expected: list[float]) -> None:
    narrow = 1 | 1 << 16 | 4 << 32 | 8 << 40 | 1 << 56
    assert converted(f"f322f16{mode}", np.array([1e9, -1e9], F32), F16, narrow, 0) == expected
