"""Single instructions: values that a wrong reading of an operand would change."""

from __future__ import annotations

import numpy as np
import pytest
from assembling import L1, MTE1, MTE2, MTE3, UB, Program, at, run, word

UNARY = 0x0100_0808_0001_0001  # block strides 1, repeat strides 8, one repeat
BINARY = 0x0100_0808_0801_0101
TO_WIDE = 1 | 1 << 16 | 8 << 32 | 4 << 40 | 1 << 56  # 16 bits to 32
TO_NARROW = 1 | 1 << 16 | 4 << 32 | 8 << 40 | 1 << 56  # 32 bits to 16
F32, F16 = np.float32, np.float16


def bits(values: list[float], kind: type) -> np.ndarray:
    return np.array(values, kind)


def converted(name: str, values: np.ndarray, kind: type, configuration: int) -> np.ndarray:
    """VCONV of a few values in count mode."""
    out = np.zeros(len(values), kind)
    program = Program().to_ub(0, 0, values.nbytes).count(len(values))
    program.do(f"VCONV.{name}.v220", at(UB, 4096), at(UB, 0), word(configuration))
    run(program.from_ub(1, 4096, out.nbytes), values, out)
    return out


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        ("r", [0, 2, 2, -2, -2, -1, 3]),
        ("a", [1, 2, 3, -2, -3, -1, 3]),
        ("f", [0, 1, 2, -2, -3, -2, 2]),
        ("c", [1, 2, 3, -1, -2, -1, 3]),
        ("z", [0, 1, 2, -1, -2, -1, 2]),
    ],
)
def test_rounding_modes_to_integers(mode: str, expected: list[int]) -> None:
    values = bits([0.5, 1.5, 2.5, -1.5, -2.5, -1.25, 2.75], F32)
    # -1.25: nearest -1, down -2, up -1, to zero -1.
    assert converted(f"f322s32{mode}", values, np.int32, UNARY).tolist() == expected
    assert converted(f"f322f32{mode}", values, F32, UNARY).tolist() == expected
    assert converted(f"f322s16{mode}", values, np.int16, TO_NARROW).tolist() == expected


def test_narrowing_to_half_rounds_as_said() -> None:
    step = 2.0**-10  # of fp16 between 1 and 2
    values = bits([1 + step / 2, 1 + 3 * step / 2, 1 + step / 4, -1 - step / 4], F32)
    one = [1.0, 1 + step, 1 + 2 * step]
    expected = {
        "r": [one[0], one[2], one[0], -one[0]],
        "a": [one[1], one[2], one[0], -one[0]],
        "f": [one[0], one[1], one[0], -one[1]],
        "c": [one[1], one[2], one[1], -one[0]],
        "z": [one[0], one[1], one[0], -one[0]],
        "o": [one[1], one[1], one[1], -one[1]],
    }
    for mode, values_of_mode in expected.items():
        found = converted(f"f322f16{mode}", values, F16, TO_NARROW)
        assert found.tolist() == values_of_mode, mode


def test_narrowing_agrees_with_numpy_everywhere() -> None:
    values = np.array([6e-8, 2.9e-8, 3.1e-8, 65504, 65519, 65520, 1e9, -np.inf, 0.1, -0.0], F32)
    with np.errstate(over="ignore"):
        expected = values.astype(F16)
    found = converted("f322f16r", values, F16, TO_NARROW)
    assert np.array_equal(found.view(np.uint16), expected.view(np.uint16))
    assert np.isnan(converted("f322f16r", bits([np.nan], F32), F16, TO_NARROW)).all()


def test_widening_uses_half_a_repeat_of_the_source() -> None:
    values = np.arange(128, dtype=F16)
    out = np.zeros(128, F32)
    two = TO_WIDE + (1 << 56)
    program = Program().to_ub(0, 0, 256).mask(2**64 - 1)
    program.do("VCONV.f162f32.v220", at(UB, 4096), at(UB, 0), word(two))
    run(program.from_ub(1, 4096, 512), values, out)
    assert np.array_equal(out, values.astype(F32))


def test_integers_saturate_and_64_bits_round_once() -> None:
    large = np.array([2**31, -(2**33), 5, 2**53 + 1], np.int64)
    narrow = 1 | 1 << 16 | 4 << 32 | 8 << 40 | 1 << 56
    expected = [2**31 - 1, -(2**31), 5, 2**31 - 1]
    assert converted("s642s32.1", large, np.int32, narrow).tolist() == expected
    values = np.array([2**24 + 1, 2**24 + 3, -(2**24) - 1], np.int32)
    assert converted("s322f32r", values, F32, UNARY).tolist() == [2**24, 2**24 + 4, -(2**24)]
    assert converted("s322f32c", values, F32, UNARY).tolist() == [2**24 + 2, 2**24 + 4, -(2**24)]


def test_mask_mode_leaves_other_elements_alone() -> None:
    x, out = np.arange(64, dtype=F32), np.zeros(64, F32)
    program = Program().to_ub(0, 0, 256).count(64)
    program.do("MOVEV.f32", at(UB, 1024), "float 7.0", word(UNARY)).mask(0xF0F0_0000_0000_0005)
    program.do("VADDS.f32", at(UB, 1024), at(UB, 0), "float 1.0", word(UNARY))
    run(program.from_ub(1, 1024, 256), x, out)
    taken = np.array([0xF0F0_0000_0000_0005 >> lane & 1 for lane in range(64)], bool)
    assert np.array_equal(out, np.where(taken, x + 1, 7))


def test_high_mask_word_covers_the_upper_halves_of_16_bit_repeats() -> None:
    x, out = np.arange(128, dtype=F16), np.full(128, -1, F16)
    program = Program().to_ub(0, 0, 256).to_ub(1, 1024, 256).mask(0, 1 << 63)
    program.do("VADDS.f16", at(UB, 1024), at(UB, 0), "half 1.0", word(UNARY))
    run(program.from_ub(1, 1024, 256), x, out)
    assert out.tolist() == [-1] * 127 + [128]


def test_count_mode_goes_over_repeats() -> None:
    x, out = np.arange(150, dtype=F32), np.full(150, -1, F32)
    program = Program().to_ub(0, 0, 600).to_ub(1, 4096, 600).count(149)
    program.do("VMULS.f32", at(UB, 4096), at(UB, 0), "float 2.0", word(UNARY))
    run(program.from_ub(1, 4096, 600), x, out)
    assert out.tolist() == [*(x[:149] * 2), -1]


def test_strides_of_a_binary_operation() -> None:
    # Source 0 takes every second block, source 1 repeats one block, target is dense.
    x, y = np.arange(128, dtype=F32), np.arange(100, 108, dtype=F32)
    out = np.zeros(64, F32)
    program = Program(3).to_ub(0, 0, 512).to_ub(1, 1024, 32).mask(2**64 - 1)
    fields = 1 | 2 << 8 | 0 << 16 | 8 << 24 | 8 << 32 | 0 << 40 | 1 << 56
    program.do("VSUB.f32", at(UB, 2048), at(UB, 0), at(UB, 1024), word(fields))
    run(program.from_ub(2, 2048, 256), x, y, out)
    blocks = x.reshape(16, 8)[::2]
    assert np.array_equal(out.reshape(8, 8), blocks - y)


def test_repeats_see_what_earlier_repeats_wrote() -> None:
    # Target and source 1 stay where they are: sixteen repeats accumulate.
    x, out = np.arange(1024, dtype=F32), np.zeros(64, F32)
    program = Program().to_ub(0, 0, 4096).count(64)
    program.do("MOVEV.f32", at(UB, 8192), "float 0.0", word(UNARY)).mask(2**64 - 1)
    fields = 1 | 1 << 8 | 1 << 16 | 0 << 24 | 8 << 32 | 0 << 40 | 16 << 56
    program.do("VADD.f32", at(UB, 8192), at(UB, 0), at(UB, 8192), word(fields))
    run(program.from_ub(1, 8192, 256), x, out)
    assert np.array_equal(out, x.reshape(16, 64).sum(0))


def test_integer_operations_wrap_and_shift() -> None:
    x, out = np.array([2**31 - 1, -8, 5], np.int32), np.zeros(3, np.int32)
    for name, operand, rest, expected in [
        ("VADDS.s32", 1, [], [-(2**31), -7, 6]),
        ("VSHR.s32", 1, [word(0)], [2**30 - 1, -4, 2]),
        ("VSHR.u32", 1, [word(0)], [2**30 - 1, 2**31 - 4, 2]),
        ("VSHL.s32", 4, [], [-16, -128, 80]),
        ("VMAXS.s32", -2, [], [2**31 - 1, -2, 5]),
    ]:
        program = Program().to_ub(0, 0, 12).count(3)
        operands = [at(UB, 1024), at(UB, 0), word(operand), word(UNARY), *rest]
        run(program.do(name, *operands).from_ub(1, 1024, 12), x, out)
        assert out.tolist() == expected, name


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("EQ", [0, 1, 0, 0]),
        ("NE", [1, 0, 1, 1]),
        ("LT", [1, 0, 0, 0]),
        ("LE", [1, 1, 0, 0]),
        ("GT", [0, 0, 1, 0]),
        ("GE", [0, 1, 1, 0]),
    ],
)
def test_compares_give_bits_lowest_first(name: str, expected: list[int]) -> None:
    x = np.tile(np.array([1, 2, 3, np.nan], F32), 32)
    out = np.zeros(16, np.uint8)
    program = Program().to_ub(0, 0, 512).mask(0)  # the mask does not matter
    fields = word(1 | 1 << 16 | 8 << 40 | 2 << 56)
    program.do(f"VCMPVS.{name}.f32", at(UB, 1024), at(UB, 0), "float 2.0", fields)
    run(program.from_ub(1, 1024, 16), x, out)
    found = np.unpackbits(out, bitorder="little")
    assert found.tolist() == expected * 32


def select(mode: int, mask_address: int, right: int) -> np.ndarray:
    x, out = np.arange(128, dtype=F32), np.zeros(128, F32)
    mask = np.packbits(np.arange(128) % 3 == 0, bitorder="little")
    register = np.array([mask_address], np.uint64) if mode == 2 else np.array([-5, 0], F32)
    program = Program(4).to_ub(0, 0, 512).to_ub(1, 1024, 16).to_ub(2, 1056, 8).count(128)
    program.do("MOVEV.f32", at(UB, 2048), "float 9.0", word(UNARY))
    program.do("SET.CMPMASK", at(UB, 1056))
    fields = BINARY | mode << 48
    program.do("VSEL.f32.1", at(UB, 4096), at(UB, 0), at(UB, right), word(fields))
    run(program.from_ub(3, 4096, 512), x, mask, register, out)
    return out


def test_select_between_vector_and_scalar() -> None:
    x = np.arange(128)
    assert np.array_equal(select(1, 0, 1024), np.where(x % 3 == 0, x, -5))


def test_select_between_vectors_by_a_mask_whose_address_is_in_cmpmask() -> None:
    x = np.arange(128)
    assert np.array_equal(select(2, 1024, 2048), np.where(x % 3 == 0, x, 9))


@pytest.mark.parametrize(("order", "expected"), [(0, [[9, 5], [7, 63]]), (2, [[9], [7]])])
def test_maximum_of_each_repeat(order: int, expected: list[list[float]]) -> None:
    x = np.zeros((2, 64), F32)
    x[0, [5, 6]], x[1, 63] = 9, 7
    out = np.zeros(2 * len(expected[0]), F32)
    program = Program().to_ub(0, 0, 512).mask(2**64 - 1)
    fields = word(1 | 1 << 16 | 8 << 32 | 2 << 56)
    program.do("VCMAX.f32.order.v220", at(UB, 1024), at(UB, 0), fields, word(order))
    run(program.from_ub(1, 1024, out.nbytes), x, out)
    found = out.reshape(2, -1)
    assert found[:, 0].tolist() == [row[0] for row in expected]
    if order == 0:
        assert found[:, 1].copy().view(np.int32).tolist() == [row[1] for row in expected]


def test_sum_of_each_repeat_with_a_mask() -> None:
    x, out = np.arange(128, dtype=F32), np.zeros(2, F32)
    program = Program().to_ub(0, 0, 512).mask(0b1011)
    fields = word(1 | 1 << 16 | 8 << 32 | 2 << 56)
    program.do("VCADD.f32.order", at(UB, 1024), at(UB, 0), fields, word(0))
    run(program.from_ub(1, 1024, 8), x, out)
    assert out.tolist() == [0 + 1 + 3, 64 + 65 + 67]


def test_reductions_of_blocks_and_pairs() -> None:
    x = np.random.default_rng(0).integers(-9, 9, 64).astype(F32)
    blocks = x.reshape(8, 8)
    for name, expected in [
        ("VCGADD.f32", blocks.sum(1)),
        ("VCGMAX.f32", blocks.max(1)),
        ("VCGMIN.f32", blocks.min(1)),
        ("VCPADD.f32", x.reshape(32, 2).sum(1)),
    ]:
        out = np.zeros(len(expected), F32)
        program = Program().to_ub(0, 0, 256).mask(2**64 - 1)
        fields = word(1 | 1 << 16 | 8 << 32 | 1 << 56)
        program.do(name, at(UB, 1024), at(UB, 0), fields).from_ub(1, 1024, out.nbytes)
        run(program, x, out)
        assert np.array_equal(out, expected), name


def test_padding_on_the_way_to_ub() -> None:
    x, out = np.arange(10, dtype=np.int32), np.zeros(24, np.int32)
    program = Program().do("SET.MOV.PAD.VAL", word(2**32 - 7))
    # Two bursts of 5 elements, one of padding before and two after; a block of gap in UB.
    fields = 2 << 4 | 20 << 16 | 1 << 48 | 2 << 54
    program.do(
        "MOV.OUT.TO.UB.ALIGN.b32.V220", at(UB, 0), program.tensor(0), word(fields), word(1 << 32)
    )
    program.fence(MTE2, MTE3)
    move = word(2 << 4 | 32 << 16)
    program.do(
        "MOV.UB.TO.OUT.ALIGN.b32.V220", program.tensor(1), at(UB, 0), move, word(1 | 32 << 32)
    )
    run(program, x, out)
    assert out[:8].tolist() == [-7, 0, 1, 2, 3, 4, -7, -7]
    assert out[8:16].tolist() == [0] * 8  # the gap of 32 bytes in global memory
    assert out[16:].tolist() == [-7, 5, 6, 7, 8, 9, -7, -7]


def test_broadcast_of_elements_to_blocks() -> None:
    x, out = np.arange(8, dtype=F32), np.zeros(64, F32)
    program = Program().to_ub(0, 0, 32)
    program.do("VBRCB.b32", at(UB, 1024), at(UB, 0), word(1 | 8 << 32 | 1 << 56))
    run(program.from_ub(1, 1024, 256), x, out)
    assert np.array_equal(out, np.repeat(x, 8))


def test_nd2nz_places_rows_and_fills_the_tail_of_a_block() -> None:
    # 3 rows of 20 halves, of a matrix with rows of 24, to L1 with 16 rows a fractal column.
    source = np.arange(1, 73, dtype=F16).reshape(3, 24)
    program = Program(1)
    shape = 1 << 4 | 3 << 16 | 20 << 32
    strides = 24 | 16 << 16 | 1 << 32
    name = "MOV.OUT.TO.L1.MULTI.ND2NZ.f16"
    program.do(name, at(L1, 0), program.tensor(0), word(shape), word(strides))
    program.fence(MTE2, MTE1)
    # Row 2 of the second fractal column: elements 16..19, then zeros up to the block's end.
    for offset, ok in [(16 * 32 + 64, True), (16 * 32 + 96, False)]:
        trial = Program(1)
        trial.declared, trial.lines = dict(program.declared), list(program.lines)
        trial.do("MOV.L1.TO.BT", word(0), at(L1, offset - 32), word(1 << 4 | 1 << 16))
        if ok:
            run(trial, source, core="aic")
        else:
            with pytest.raises(Exception, match="which nothing has written"):
                run(trial, source, core="aic")
