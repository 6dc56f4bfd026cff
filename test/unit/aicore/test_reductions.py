"""Reductions of repeats, blocks and pairs; compares and selects: strides, orders, ties."""

from __future__ import annotations

import numpy as np
import pytest
from assembling import UB, Program, at, run, word

F32, F16 = np.float32, np.float16
UNARY = 0x0100_0808_0001_0001


def reduced(name: str, x: np.ndarray, fields: int, size: int, *more: int) -> np.ndarray:
    """A reduction of `x` in UB with all lanes, over `size` elements that were 99."""
    out = np.full(size, 99, x.dtype)
    program = Program().to_ub(0, 0, x.nbytes).to_ub(1, 16384, out.nbytes)
    program.mask(2**64 - 1, 2**64 - 1)
    program.do(name, at(UB, 16384), at(UB, 0), word(fields), *map(word, more))
    run(program.from_ub(1, 16384, out.nbytes), x, out)
    return out


# Source blocks 2 apart, repeats 20 blocks apart; two repeats.
SOURCE = 2 << 16 | 20 << 32 | 2 << 56


def source(kind: type = F32) -> tuple[np.ndarray, np.ndarray]:
    """Values in UB, and the two repeats that SOURCE takes of them, [2][8 blocks][...]."""
    x = np.random.permutation(36 * 32 // np.dtype(kind).itemsize).astype(kind)
    blocks = x.reshape(36, -1)
    return x, np.stack([blocks[0:16:2], blocks[20:36:2]])


def test_sums_have_strides() -> None:
    x, parts = source()
    out = reduced("VCADD.f32.order", x, SOURCE | 3, 8, 0)
    expected = np.full(8, 99, F32)
    expected[[0, 3]] = parts.sum((1, 2))
    assert np.array_equal(out, expected)


@pytest.mark.parametrize(("name", "pick"), [("VCMAX", np.argmax), ("VCMIN", np.argmin)])
@pytest.mark.parametrize("order", [0, 1, 2, 3])
def test_extremes_come_with_an_index_in_any_order(name: str, pick: object, order: int) -> None:
    x, parts = source()
    out = reduced(f"{name}.f32.order.v220", x, SOURCE | 3, 16, order)
    width = 2 if order < 2 else 1
    expected = np.full(16, 99, F32).view(np.uint32)
    for repeat in range(2):
        values = parts[repeat].ravel()
        index = int(pick(values))  # type: ignore[operator]
        both = [values[index : index + 1].view(np.uint32)[0], index]
        words = {0: both, 1: both[::-1], 2: both[:1], 3: both[1:]}[order]
        expected[repeat * 3 * width :][:width] = words
    assert np.array_equal(out.view(np.uint32), expected)


def test_the_first_of_equal_extremes_is_taken() -> None:
    x = np.zeros(64, F32)
    x[[9, 30]], x[[5, 40]] = 4, -4
    assert reduced("VCMAX.f32.order.v220", x, 1 | 1 << 16 | 1 << 56, 8, 3).view(np.int32)[0] == 9
    assert reduced("VCMIN.f32.order.v220", x, 1 | 1 << 16 | 1 << 56, 8, 3).view(np.int32)[0] == 5


@pytest.mark.parametrize("kind", [F32, F16])
def test_block_reductions_have_strides(kind: type) -> None:
    x, parts = source(kind)
    suffix = "f32" if kind is F32 else "f16"
    for name, expected in (("VCGMAX", parts.max(2)), ("VCGMIN", parts.min(2))):
        out = reduced(f"{name}.{suffix}", x, SOURCE | 2, 32)
        assert np.array_equal(out[:8], expected[0])
        assert np.array_equal(out[16:24], expected[1])
        assert (out[8:16] == 99).all()


def test_pair_sums_have_strides() -> None:
    x, parts = source()
    out = reduced("VCPADD.f32", x, SOURCE | 2, 96)
    assert np.array_equal(out[:32], parts[0].reshape(32, 2).sum(1))
    assert np.array_equal(out[64:], parts[1].reshape(32, 2).sum(1))
    assert (out[32:64] == 99).all()


def test_selects_read_their_mask_on() -> None:
    """Two repeats of each mode, with masks that differ between the repeats."""
    mask = np.random.randint(0, 256, 16).astype(np.uint8)
    bits = np.unpackbits(mask, bitorder="little").astype(bool)
    x, y = np.arange(128, dtype=F32), np.arange(128, dtype=F32) + 1000
    register = np.array([8192], np.uint64)  # the mask's address
    scalar = np.array([-7, 0], F32)
    fields = 1 | 1 << 8 | 1 << 16 | 8 << 24 | 8 << 32 | 8 << 40 | 2 << 56
    out = np.zeros((2, 128), F32)
    program = Program(6).to_ub(0, 0, 512).to_ub(1, 1024, 512).to_ub(2, 8192, 16)
    program.to_ub(3, 8224, 8).to_ub(4, 8256, 8).mask(2**64 - 1)
    program.do("SET.CMPMASK", at(UB, 8224))
    program.do("VSEL.f32.1", at(UB, 4096), at(UB, 0), at(UB, 1024), word(fields | 2 << 48))
    program.do("SET.CMPMASK", at(UB, 8256))
    program.do("VSEL.f32.1", at(UB, 4608), at(UB, 0), at(UB, 8192), word(fields | 1 << 48))
    run(program.from_ub(5, 4096, 1024), x, y, mask, register, scalar, out)
    assert np.array_equal(out[0], np.where(bits, x, y))
    assert np.array_equal(out[1], np.where(bits, x, -7))


def test_a_mask_in_the_register_serves_every_repeat() -> None:
    bits = np.random.randint(0, 2, 64).astype(bool)
    register = np.packbits(bits, bitorder="little")
    x, y = np.arange(128, dtype=F32), np.arange(128, dtype=F32) + 1000
    fields = 1 | 1 << 8 | 1 << 16 | 8 << 24 | 8 << 32 | 8 << 40 | 2 << 56
    out = np.zeros(128, F32)
    program = Program(4).to_ub(0, 0, 512).to_ub(1, 1024, 512).to_ub(2, 8192, 8).mask(2**64 - 1)
    program.do("SET.CMPMASK", at(UB, 8192))
    program.do("VSEL.f32.1", at(UB, 4096), at(UB, 0), at(UB, 1024), word(fields))
    run(program.from_ub(3, 4096, 512), x, y, register, out)
    assert np.array_equal(out, np.where(np.tile(bits, 2), x, y))


def test_operations_on_nan_and_halves() -> None:
    x, out = np.array([np.nan, -2, 3], F32), np.zeros(3, F32)
    program = Program().to_ub(0, 0, 12).count(3)
    run(program.do("VRELU.f32", at(UB, 64), at(UB, 0), word(UNARY)).from_ub(1, 64, 12), x, out)
    assert np.isnan(out[0])
    assert out[1:].tolist() == [0, 3]
    halves, summed = np.array([1, 2, 3], F16), np.zeros(3, F16)
    program = Program().to_ub(0, 0, 6).count(3)
    program.do("VADDS.f16", at(UB, 64), at(UB, 0), "half 1.5", word(UNARY))
    run(program.from_ub(1, 64, 6), halves, summed)
    assert summed.tolist() == [2.5, 3.5, 4.5]
