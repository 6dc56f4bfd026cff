"""Transposition, gather, compaction: addresses, halves, strides, patterns."""

from __future__ import annotations

import numpy as np
import pytest
from assembling import UB, Program, S, V, at, run, word

F32, F16 = np.float32, np.float16
TARGET = 8192


def addressed(program: Program, register: int, addresses: list[int]) -> None:
    """Sixteen addresses to two neighbouring vector address registers."""
    for index in range(0, 16, 2):
        pair = [word(address) for address in addresses[index : index + 2]]
        program.do("MOVEVA", word(register + index // 8), word(index % 8), *pair)


def transposed(
    name: str, x: np.ndarray, source: list[int], target: list[int], fields: int, *halves: int
) -> np.ndarray:
    """VNCHWCONV of `x` in UB, over an image of the target that was filled with 99."""
    out = np.full(4096 // x.itemsize, 99, x.dtype)
    program = Program().to_ub(0, 0, x.nbytes).to_ub(1, TARGET, out.nbytes)
    addressed(program, 0, [TARGET + address for address in target])
    addressed(program, 2, source)
    program.do(f"S.VNCHWCONV.{name}", word(0), word(2), word(fields), *map(word, halves))
    run(program.from_ub(1, TARGET, out.nbytes), x, out)
    return out


def test_transposition_of_16_bits() -> None:
    # Source blocks 2 apart, the second repeat 1 further; target blocks 64 bytes apart, repeats 32.
    x = np.arange(16 * 32, dtype=np.uint16)
    where = [64 * block for block in range(16)]
    out = transposed("b16", x, where, where, 1 | 1 << 16 | 2 << 56).reshape(-1, 32)
    source = x.reshape(16, 2, 16)
    assert np.array_equal(out[:16], np.concatenate([source[:, 0].T, source[:, 1].T], axis=1))


def test_transposition_has_strides_of_its_own() -> None:
    x = np.arange(16 * 64, dtype=np.uint16)
    source = [128 * block for block in range(16)]
    target = [32 * block for block in range(16)]
    out = transposed("b16", x, source, target, 20 | 3 << 16 | 2 << 56).reshape(-1, 16)
    rows = x.reshape(16, 4, 16)
    assert np.array_equal(out[:16], rows[:, 0].T)
    assert np.array_equal(out[20:36], rows[:, 3].T)
    assert (out[16:20] == 99).all()


def test_transposition_of_32_bits() -> None:
    x = np.arange(16 * 8, dtype=np.uint32)
    where = [32 * block for block in range(16)]
    out = transposed("b32", x, where, where, 1 << 56).reshape(-1, 8)
    # Position p of the blocks goes to target blocks 2p and 2p + 1.
    assert np.array_equal(out[:16].reshape(8, 16), x.reshape(16, 8).T)


@pytest.mark.parametrize(("to_half", "from_half"), [(0, 0), (0, 1), (1, 0), (1, 1)])
def test_transposition_of_bytes_takes_halves(to_half: int, from_half: int) -> None:
    x = np.random.randint(0, 90, 16 * 32).astype(np.uint8)
    where = [32 * block for block in range(16)]
    out = transposed("b8", x, where, where, 1 << 56, to_half, from_half).reshape(-1, 2, 16)[:16]
    part = x.reshape(16, 2, 16)[:, from_half]
    assert np.array_equal(out[:, to_half], part.T)
    assert (out[:, 1 - to_half] == 99).all()


@pytest.mark.parametrize(("kind", "name"), [(F32, "VGATHER.b32"), (np.uint16, "VGATHER.b16")])
def test_gather(kind: type, name: str) -> None:
    width = 256 // np.dtype(kind).itemsize
    x = np.random.randint(0, 999, 512).astype(kind)
    chosen = np.random.randint(0, 256, 2 * width)
    offsets = (chosen * x.itemsize).astype(np.uint32)
    out = np.full(3 * width, 7, kind)
    program = Program(3).to_ub(0, 4096, x.nbytes).to_ub(1, 8192, offsets.nbytes)
    program.to_ub(2, 16384, out.nbytes).mask(2**64 - 1, 2**64 - 1)
    # Offsets count from 64 bytes into the source; the second repeat lands 16 blocks further.
    fields = 4096 + 64 | 16 << 32 | 2 << 56
    program.do(name, at(UB, 16384), at(UB, 8192), word(fields))
    run(program.from_ub(2, 16384, out.nbytes), x, offsets, out)
    moved = x[64 // x.itemsize :]
    expected = np.full_like(out, 7)
    expected[:width] = moved[chosen[:width]]
    expected[2 * width :] = moved[chosen[width:]]
    assert np.array_equal(out, expected)


def compacted(fields: int, mask: np.ndarray, prepare: Program) -> tuple[list[int], int]:
    """VREDUCEv2.b32 of 0, 1, 2, ...: what it kept, and how much the register says."""
    x, out = np.arange(1024, dtype=np.uint32), np.full(512, 9999, np.uint32)
    kept = np.zeros(1, np.uint64)
    program = Program(4).to_ub(0, 0, x.nbytes).to_ub(1, 8192, out.nbytes)
    program.to_ub(2, 16384, mask.nbytes)
    program.lines += prepare.lines
    program.declared |= prepare.declared
    program.do("VREDUCEv2.b32", at(UB, 8192), at(UB, 0), at(UB, 16384), word(fields))
    program.fence(V, S)
    program.declared["kept"] = 'declare i64 @"hivm.GET.RSVD.CNT"()'
    program.lines.append('  %kept = call i64 @"hivm.GET.RSVD.CNT"()')
    pointer = program.tensor(3)
    program.lines.append(f"  store i64 %kept, {pointer}")
    run(program.from_ub(1, 8192, out.nbytes), x, out, mask, kept)
    count = int(kept[0])
    assert (out[count:] == 9999).all()
    return list(out[:count].tolist()), count


NO_BITS = np.zeros(32, np.uint8)


@pytest.mark.parametrize(
    ("pattern", "step", "first"),
    [(1, 2, 0), (2, 2, 1), (3, 4, 0), (4, 4, 1), (5, 4, 2), (6, 4, 3), (7, 1, 0)],
)
def test_compaction_by_a_pattern(pattern: int, step: int, first: int) -> None:
    # Two repeats of 8 blocks, blocks 2 apart, repeats 24 blocks apart.
    fields = 2 | 2 << 8 | pattern << 16 | 24 << 24
    found, count = compacted(fields, NO_BITS, Program().mask(2**64 - 1))
    blocks = np.arange(1024).reshape(-1, 8)
    expected = [*blocks[0:16:2].ravel()[first::step], *blocks[24:40:2].ravel()[first::step]]
    assert found == expected
    assert count == 128 // step


def test_compaction_by_bits_with_a_stride() -> None:
    mask = np.random.randint(0, 256, 128).astype(np.uint8)
    fields = 2 | 1 << 8 | 0 << 16 | 8 << 24 | 3 << 40
    found, _count = compacted(fields, mask, Program().mask(2**64 - 1))
    bits = np.unpackbits(mask, bitorder="little")
    expected = [*np.flatnonzero(bits[:64]), *(64 + np.flatnonzero(bits[768:832]))]
    assert found == expected


def test_a_count_is_that_of_each_repeat_and_repeats_have_16_bits() -> None:
    found, _count = compacted(3 | 1 << 8 | 1 << 16 | 2 << 24, NO_BITS, Program().count(10))
    assert found == [*range(0, 10, 2), *range(16, 26, 2), *range(32, 42, 2)]
    # 257 repeats of one element each, all from the same place.
    one = 1 | 1 << 8 | 7 << 16 | 0 << 24 | 1 << 56
    assert compacted(one, NO_BITS, Program().count(1)) == ([0] * 257, 257)
