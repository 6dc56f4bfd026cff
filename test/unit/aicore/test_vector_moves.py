"""Moves of the vector core: bursts, gaps, padding, strides, masks; copies and broadcasts in UB."""

from __future__ import annotations

import numpy as np
import pytest
from assembling import MTE2, MTE3, UB, Program, V, at, load, run, word

from flagc.aicore import KernelFault

F32, F16 = np.float32, np.float16
LOAD, STORE = "MOV.OUT.TO.UB.ALIGN.b8.V220", "MOV.UB.TO.OUT.ALIGN.b8.V220"


def test_loads_have_bursts_and_gaps() -> None:
    source, out = np.arange(80, dtype=np.uint8), np.zeros(256, np.uint8)
    program = (
        Program().count(64).do("MOVEV.f32", at(UB, 0), "float 0.0", word(0x0100_0808_0001_0001))
    )
    program.fence(V, MTE2)
    # Three bursts of 20 bytes, 5 bytes apart in global memory, 1 block apart in UB.
    program.do(LOAD, at(UB, 0), program.tensor(0), word(3 << 4 | 20 << 16), word(5 | 1 << 32))
    program.fence(MTE2, MTE3)
    # Only what was loaded is defined: three bursts of 20 bytes out of every second block.
    program.do(STORE, program.tensor(1), at(UB, 0), word(3 << 4 | 20 << 16), word(1 | 12 << 32))
    run(program, source, out)
    for burst in range(3):
        assert out[burst * 32 :][:20].tolist() == source[burst * 25 :][:20].tolist()
        assert (out[burst * 32 + 20 : burst * 32 + 32] == 0).all()


def test_stores_round_the_bursts_in_ub_up_to_blocks() -> None:
    source, out = np.arange(160, dtype=np.uint8), np.zeros(120, np.uint8)
    program = Program().to_ub(0, 0, 160).fence(MTE2, MTE3)
    # Three bursts of 20 bytes: in UB a block each, one between; 10 bytes between in memory.
    program.do(STORE, program.tensor(1), at(UB, 0), word(3 << 4 | 20 << 16), word(1 | 10 << 32))
    run(program, source, out)
    for burst in range(3):
        assert out[burst * 30 :][:20].tolist() == source[burst * 64 :][:20].tolist()
        assert (out[burst * 30 + 20 : burst * 30 + 30] == 0).all()


def test_copies_in_ub_have_bursts_and_gaps() -> None:
    source, out = np.arange(96, dtype=F32), np.full(96, -1, F32)
    program = Program().to_ub(0, 0, 384).to_ub(1, 4096, 384)
    # Two bursts of 2 blocks, 3 blocks between in the source, 1 in the target.
    program.do(
        "MOV.UB.TO.UB.v220", at(UB, 4096), at(UB, 0), word(2 << 4 | 2 << 16 | 3 << 32 | 1 << 48)
    )
    run(program.from_ub(1, 4096, 384), source, out)
    blocks, found = source.reshape(12, 8), out.reshape(12, 8)
    assert np.array_equal(found[[0, 1, 3, 4]], blocks[[0, 1, 5, 6]])
    assert (found[[2, *range(5, 12)]] == -1).all()


@pytest.mark.parametrize(("kind", "name"), [(F32, "VBRCB.b32"), (F16, "VBRCB.b16")])
def test_broadcasts_have_strides(kind: type, name: str) -> None:
    x = np.arange(1, 17).astype(kind)
    per_block = 32 // x.itemsize
    out = np.zeros((64, per_block), kind)
    program = Program().to_ub(0, 0, x.nbytes).to_ub(1, 4096, out.nbytes)
    # Two repeats of 8 elements; target blocks 2 apart, repeats 20 blocks apart.
    program.do(name, at(UB, 4096), at(UB, 0), word(2 | 20 << 32 | 2 << 56))
    run(program.from_ub(1, 4096, out.nbytes), x, out)
    expected = np.zeros_like(out)
    for element in range(16):
        expected[element // 8 * 20 + element % 8 * 2] = x[element]
    assert np.array_equal(out, expected)


def copied(fields: int, prepare: Program, size: int) -> np.ndarray:
    """VCOPY.u32 of 0, 1, 2, ... in UB to `size` words that were 999; `prepare` sets the mask."""
    x, out = np.arange(512, dtype=np.uint32), np.full(size, 999, np.uint32)
    program = Program().to_ub(0, 0, x.nbytes).to_ub(1, 8192, out.nbytes)
    program.lines += prepare.lines
    program.declared |= prepare.declared
    program.do("VCOPY.u32", at(UB, 8192), at(UB, 0), word(fields))
    run(program.from_ub(1, 8192, out.nbytes), x, out)
    return out


def test_copies_of_repeats_have_strides_and_a_mask() -> None:
    # Source blocks 2 apart, target blocks 1; repeats 16 and 9 blocks apart; two repeats; 60 lanes.
    fields = 1 | 2 << 16 | 9 << 32 | 16 << 40 | 2 << 56
    found = copied(fields, Program().mask(2**60 - 1), 160)
    x, expected = np.arange(512), np.full(160, 999)
    for repeat in range(2):
        source = x[repeat * 128 :][:128].reshape(16, 8)[::2].ravel()[:60]
        expected[repeat * 72 :][:60] = source
    assert found.tolist() == expected.tolist()


def test_a_count_of_a_copy_may_exceed_a_repeat() -> None:
    fields = 1 | 1 << 16 | 0 << 32 | 0 << 40 | 1 << 56
    found = copied(fields, Program().count(100), 128)
    assert found.tolist() == [*range(100), *[999] * 28]


def test_repeat_strides_of_more_than_eight_bits() -> None:
    # 300 blocks from repeat to repeat, in the target and in the source.
    x, out = np.arange(64 * 2, dtype=F32), np.full(64 * 2, -1, F32)
    program = Program().to_ub(0, 0, 256)
    source = program.tensor(0, 256)
    program.do(LOAD, at(UB, 9600), source, word(1 << 4 | 256 << 16), word(0)).fence(MTE2, V)
    program.mask(2**64 - 1)
    fields = 1 | 1 << 16 | (300 & 255) << 32 | 300 << 40 | (300 >> 8) << 52 | 2 << 56
    program.do("VADDS.f32", at(UB, 32768), at(UB, 0), "float 1.0", word(fields))
    program.from_ub(1, 32768, 256)
    move = word(1 << 4 | 256 << 16)
    program.do(STORE, program.tensor(1, 256), at(UB, 32768 + 9600), move, word(0))
    run(program, x, out)
    assert np.array_equal(out, x + 1)


def test_block_strides_of_a_unary_operation() -> None:
    x, out = np.arange(256, dtype=F32), np.full(256, -1, F32)
    program = Program().to_ub(0, 0, 1024).to_ub(1, 4096, 1024).mask(2**64 - 1)
    fields = 3 | 4 << 16 | 0 << 32 | 0 << 40 | 1 << 56
    program.do("VADDS.f32", at(UB, 4096), at(UB, 0), "float 1.0", word(fields))
    run(program.from_ub(1, 4096, 1024), x, out)
    expected = np.full((32, 8), -1, F32)
    expected[: 3 * 8 : 3] = x.reshape(32, 8)[::4] + 1
    assert np.array_equal(out.reshape(32, 8), expected)


def test_block_and_repeat_strides_of_a_binary_operation() -> None:
    x, y = (
        np.random.randint(-99, 99, 1024).astype(F32),
        np.random.randint(-99, 99, 1024).astype(F32),
    )
    out = np.full(1024, 7, F32)
    program = Program(3).to_ub(0, 0, 4096).to_ub(1, 4096, 4096).to_ub(2, 8192, 4096).mask(2**64 - 1)
    # Blocks 2, 3 and 4 apart; repeats 33, 26 and 40 blocks apart; three repeats.
    fields = 2 | 3 << 8 | 4 << 16 | 33 << 24 | 26 << 32 | 40 << 40 | 3 << 56
    program.do("VSUB.f32", at(UB, 8192), at(UB, 0), at(UB, 4096), word(fields))
    run(program.from_ub(2, 8192, 4096), x, y, out)
    expected, left, right = np.full((128, 8), 7, F32), x.reshape(128, 8), y.reshape(128, 8)
    for repeat in range(3):
        for block in range(8):
            value = left[repeat * 26 + block * 3] - right[repeat * 40 + block * 4]
            expected[repeat * 33 + block * 2] = value
    assert np.array_equal(out.reshape(128, 8), expected)


def test_all_255_repeats() -> None:
    x = np.arange(8 * 254 + 64, dtype=F32)
    out = np.zeros_like(x)
    program = Program().to_ub(0, 0, x.nbytes).mask(0xFF)
    fields = 1 | 1 << 16 | 1 << 32 | 1 << 40 | 255 << 56  # a block each
    program.do("VMULS.f32", at(UB, 16384), at(UB, 0), "float 2.0", word(fields))
    run(program.from_ub(1, 16384, 255 * 32), x, out)
    assert np.array_equal(out[: 255 * 8], x[: 255 * 8] * 2)


@pytest.mark.parametrize(
    ("type_bits", "kind"), [(1, F32), (2, F16), (3, np.int16), (4, np.int32), (5, np.int8)]
)
@pytest.mark.parametrize("operation", [0, 1, 2])
def test_atomic_stores(type_bits: int, kind: type, operation: int) -> None:
    x, there = (np.random.randint(-50, 50, 64).astype(kind) for _ in range(2))
    out = there.copy()
    program = Program().to_ub(0, 0, x.nbytes).fence(MTE2, MTE3)
    program.do("SET.CTRL", word(type_bits << 6 | operation << 9))
    program.do(STORE, program.tensor(1), at(UB, 0), word(1 << 4 | x.nbytes << 16), word(0))
    run(program, x, out)
    expected = [there + x, np.maximum(there, x), np.minimum(there, x)][operation]
    assert np.array_equal(out, expected)


def test_bits_of_a_word() -> None:
    out = np.zeros(2, np.uint64)
    program = Program()
    for name in ("SBITSET0", "SBITSET1"):
        program.declared[name] = f'declare i64 @"hivm.{name}"(i64, i64)'
    program.lines += [
        '  %a = call i64 @"hivm.SBITSET1"(i64 1, i64 40)',
        '  %b = call i64 @"hivm.SBITSET0"(i64 -1, i64 40)',
    ]
    for index, value in enumerate(("%a", "%b")):
        pointer = program.tensor(1, 8 * index)
        program.lines.append(f"  store i64 {value}, {pointer}")
    run(program, np.zeros(1), out)
    assert out.tolist() == [1 | 1 << 40, 2**64 - 1 - (1 << 40)]


def test_flags_have_events_and_a_direction() -> None:
    flags = Program().do("SET.FLAG.IMM", word(MTE2), word(V), word(3))
    flags.do("SET.FLAG.IMM", word(V), word(MTE2), word(1))
    flags.do("WAIT.FLAG.IMM", word(V), word(MTE2), word(1))
    run(flags.do("WAIT.FLAG.IMM", word(MTE2), word(V), word(3)), np.zeros(1), np.zeros(1))
    for wrong in ((MTE2, V, 2), (V, MTE2, 3)):
        program = Program().do("SET.FLAG.IMM", word(MTE2), word(V), word(3))
        program.do("WAIT.FLAG.IMM", *(word(value) for value in wrong))
        with pytest.raises(KernelFault, match="which nothing before it sets"):
            run(program, np.zeros(1), np.zeros(1))


@pytest.mark.parametrize(("pipe", "orders"), [(6, True), (V, False)])
def test_only_a_barrier_of_all_pipes_orders_them(pipe: int, orders: bool) -> None:
    x, out = np.zeros(64, F32), np.zeros(64, F32)
    program = Program().count(64)
    program.do(LOAD, at(UB, 0), program.tensor(0), word(1 << 4 | 256 << 16), word(0))
    program.do("BARRIER", word(pipe))
    program.do("VADDS.f32", at(UB, 1024), at(UB, 0), "float 1.0", word(0x0100_0808_0001_0001))
    program.from_ub(1, 1024, 256)
    if orders:
        run(program, x, out)
        assert (out == 1).all()
        return
    with pytest.raises(KernelFault) as caught:
        load(aiv=program).run((1,), [x, out])
    assert caught.value.fault.kind == "race"


@pytest.mark.parametrize(("high", "taken"), [(0, range(64)), (2, [*range(64), 65])])
def test_a_full_low_mask_word_leaves_the_upper_lanes_to_the_high_one(
    high: int, taken: list[int]
) -> None:
    x, out = np.arange(128, dtype=F16), np.full(128, -1, F16)
    program = Program().to_ub(0, 0, 256).to_ub(1, 1024, 256).mask(2**64 - 1, high)
    program.do("VADDS.f16", at(UB, 1024), at(UB, 0), "half 1.0", word(0x0100_0808_0001_0001))
    run(program.from_ub(1, 1024, 256), x, out)
    expected = np.full(128, -1, F16)
    expected[list(taken)] = x[list(taken)] + 1
    assert np.array_equal(out, expected)
