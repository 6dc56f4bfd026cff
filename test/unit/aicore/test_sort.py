"""VBS32 and VMRGSORT: records of (score, index), the largest score first."""

from __future__ import annotations

import numpy as np
import pytest
from assembling import UB, Program, at, load, run, word

F32, F16 = np.float32, np.float16
RECORD = 8


def records(scores: np.ndarray, indices: np.ndarray) -> np.ndarray:
    """Records of `scores` (fp16 or fp32) as bytes, [n][8]."""
    out = np.zeros((len(scores), RECORD), np.uint8)
    out[:, : scores.itemsize] = scores.view(np.uint8).reshape(len(scores), -1)
    out[:, 4:] = indices.astype(np.uint32).view(np.uint8).reshape(-1, 4)
    return out


def by_score(scores: np.ndarray) -> np.ndarray:
    """Positions in the order of the hardware: descending, equal ones as they stand."""
    return np.argsort(-scores.astype(np.float64), kind="stable")


@pytest.mark.parametrize("kind", [F16, F32])
def test_each_repeat_sorts_32_scores(kind: type) -> None:
    random = np.random.default_rng(np.random.randint(2**31))
    scores = random.integers(-8, 8, 64).astype(kind)  # many equal ones
    indices = random.integers(0, 2**32, 64, dtype=np.uint32)
    out = np.zeros((64, RECORD), np.uint8)
    program = Program(3).to_ub(0, 0, scores.nbytes).to_ub(1, 1024, indices.nbytes)
    name = "VBS32.f16" if kind is F16 else "VBS32.f32"
    program.do(name, at(UB, 2048), at(UB, 0), at(UB, 1024), word(2 << 56))
    run(program.from_ub(2, 2048, out.nbytes), scores, indices, out)
    for part in (slice(0, 32), slice(32, 64)):
        order = by_score(scores[part])
        expected = records(scores[part][order], indices[part][order])
        assert np.array_equal(out[part], expected)


def test_nans_come_first_and_with_a_sign_last() -> None:
    scores = np.concatenate(
        [np.array([1, np.nan, -np.inf, -np.nan, np.inf], F32), np.zeros(27, F32)]
    )
    assert np.signbit(scores[3])
    out, indices = np.zeros((32, RECORD), np.uint8), np.arange(32, dtype=np.uint32)
    program = Program(3).to_ub(0, 0, 128).to_ub(1, 1024, 128)
    program.do("VBS32.f32", at(UB, 2048), at(UB, 0), at(UB, 1024), word(1 << 56))
    run(program.from_ub(2, 2048, 256), scores, indices, out)
    order = out[:, 4:].copy().view(np.uint32).ravel()
    assert order[:4].tolist() == [1, 4, 0, 5]
    assert order[-2:].tolist() == [2, 3]


def merge(
    lists: list[np.ndarray],
    kind: str,
    configuration: int,
    out_records: int,
    more: tuple[np.ndarray, ...] = (),
) -> np.ndarray:
    """VMRGSORT of lists of records that lie end to end in UB, `more` behind them."""
    source = np.concatenate([*lists, *more])
    out = np.zeros((out_records, RECORD), np.uint8)
    program = Program().to_ub(0, 0, source.nbytes)
    packed, begin = "0", 0
    for index, part in enumerate(lists):
        # As the library does it: bits 3 to 18 of the address, 16 bits a list.
        program.lines += [
            f"  %b{index} = lshr i64 {begin}, 3",
            f"  %c{index} = and i64 %b{index}, 65535",
            f"  %d{index} = shl i64 %c{index}, {16 * index}",
            f"  %e{index} = or i64 {packed}, %d{index}",
        ]
        packed, begin = f"%e{index}", begin + part.nbytes
    lengths = sum(len(part) << 16 * index for index, part in enumerate(lists))
    operands = [at(UB, 65536), f"i64 {packed}", word(lengths), word(configuration)]
    program.do(f"VMRGSORT.{kind}.V220", *operands)
    run(program.from_ub(1, 65536, out.nbytes), source, out)
    return out


def sorted_lists(kind: type, sizes: list[int]) -> tuple[np.ndarray, list[np.ndarray]]:
    random = np.random.default_rng(np.random.randint(2**31))
    scores = [np.sort(random.integers(-9, 9, size))[::-1].astype(kind) for size in sizes]
    first = np.cumsum([0, *sizes])
    indices = [np.arange(size) + begin for size, begin in zip(sizes, first, strict=False)]
    parts = [records(score, index) for score, index in zip(scores, indices, strict=True)]
    return np.concatenate(scores), parts


@pytest.mark.parametrize("kind", [F16, F32])
@pytest.mark.parametrize("sizes", [[32, 32, 32, 32], [5, 40, 1, 12], [7, 20]])
def test_merges_up_to_four_lists(kind: type, sizes: list[int]) -> None:
    scores, parts = sorted_lists(kind, sizes)
    valid = (1 << len(sizes)) - 1
    name = "f16" if kind is F16 else "f32"
    out = merge(parts, name, 1 | valid << 8, len(scores))
    order = by_score(scores)
    assert np.array_equal(out, records(scores[order], order))


def test_a_list_that_is_not_valid_takes_no_part() -> None:
    scores, parts = sorted_lists(F32, [8, 8, 8])
    kept = [0, 1, 2, 3, 4, 5, 6, 7, *range(16, 24)]
    out = merge(parts, "f32", 1 | 0b101 << 8, 16)
    order = [kept[position] for position in by_score(scores[kept])]
    assert np.array_equal(out, records(scores[order], np.array(order)))


def test_repeats_merge_groups_of_four_lists() -> None:
    scores, parts = sorted_lists(F32, [4] * 8)
    out = merge(parts[:4], "f32", 2 | 0xF << 8, 32, tuple(parts[4:]))
    for group in (slice(0, 16), slice(16, 32)):
        order = by_score(scores[group]) + group.start
        assert np.array_equal(out[group], records(scores[order], order))


def test_stopping_early_ends_with_the_first_list_that_is_used_up() -> None:
    high, low = np.array([9, 8], F32), np.array([8.5, 3, 2], F32)
    parts = [records(high, np.arange(2)), records(low, np.arange(2, 5))]
    out = merge(parts, "f32", 1 | 0b11 << 8 | 1 << 12, 3)
    assert out[:, :4].copy().view(F32).ravel().tolist() == [9, 8.5, 8]
    with pytest.raises(Exception, match="which nothing has written"):
        merge(parts, "f32", 1 | 0b11 << 8 | 1 << 12, 4)


@pytest.mark.parametrize("kind", [F16, F32])
@pytest.mark.parametrize("n", [1, 32, 100, 1000])
@pytest.mark.parametrize("descending", [True, False])
def test_the_library_sorts_with_them(kind: type, n: int, descending: bool) -> None:
    """The library's sort, which builds the operands, against numpy's."""
    x, out = np.random.randn(n).astype(kind), np.zeros(n, kind)
    program = Program().to_ub(0, 0, x.nbytes)
    buffers = [
        program.memref(UB, begin, [size], [1])
        for begin, size in [(0, n), (16384, n), (32768, 16384)]
    ]
    name = "sort_1d_half" if kind is F16 else "sort_1d_float"
    program.library(name, *buffers, f"i1 {int(descending)}").from_ub(1, 16384, x.nbytes)
    load(linked=True, aiv=program).run((1,), [x, out])
    expected = np.sort(x)[::-1] if descending else np.sort(x)
    assert np.array_equal(out, expected)
