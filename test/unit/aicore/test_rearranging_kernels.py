"""Kernels that move elements around: transpose, gather, scatter, sort, argmax, scans, atomics."""

from __future__ import annotations

from typing import Any

import aicore_kernels as own
import pytest
import torch

from support.comparing import assert_rounded, guarded, sum_error, untouched
from support.emulating import DTYPES, emulated, kernels
from support.gemm_cases import random_values


def launch(
    function: Any, kind: str, arguments: list[Any], constants: dict[str, int], blocks: int = 1
) -> None:
    """Pointers are of type `kind`, but for `index`; every tensor is aligned."""
    names = [name for name in function.arg_names if name not in constants]
    types = {
        name: f"*{'i32' if name == 'index' else kind}" if torch.is_tensor(value) else "i32"
        for name, value in zip(names, arguments, strict=True)
    }
    even = " ".join(name for name in names if types[name].startswith("*"))
    kernel = emulated(function, types, constants, even)
    kernel.run((blocks,), arguments, names=names)


@pytest.mark.parametrize("kind", ["fp16", "fp32", "i8"])
def test_transpose(kind: str) -> None:
    x = random_values(kind, 64, 64)
    storage, out = guarded(64, 64, dtype=DTYPES[kind])
    launch(own.transpose, kind, [x, out], {"A": 64, "B": 64})
    assert torch.equal(out, x.t())
    assert untouched(storage, out)


@pytest.mark.parametrize("kind", ["fp16", "fp32"])
def test_gather_within_a_block(kind: str) -> None:
    x, index = random_values(kind, 256), torch.randint(0, 256, (256,), dtype=torch.int32)
    storage, out = guarded(256, dtype=DTYPES[kind])
    launch(own.gather, kind, [x, index, out], {"N": 256})
    assert torch.equal(out, x[index.long()])
    assert untouched(storage, out)


@pytest.mark.parametrize("n", [1, 255, 256, 1000])
@pytest.mark.parametrize("kind", ["fp16", "fp32", "i32"])
def test_gather_and_scatter_of_elements(kind: str, n: int) -> None:
    x, index = random_values(kind, n), torch.randperm(n).int()
    blocks = -(-n // 256)
    for function, expected in (
        (own.gather_elements, x[index.long()]),
        (own.scatter_elements, torch.empty_like(x).scatter_(0, index.long(), x)),
    ):
        storage, out = guarded(n, dtype=DTYPES[kind])
        launch(function, kind, [x, index, out, n], {"BLOCK": 256}, blocks)
        assert torch.equal(out, expected)
        assert untouched(storage, out)


@pytest.mark.parametrize("width", [1, 33, 1000, 1024])
@pytest.mark.parametrize("kind", ["fp16", "fp32", "i8"])
def test_gather_of_rows(kind: str, width: int) -> None:
    x, index = random_values(kind, 20, width), torch.randint(0, 20, (33,), dtype=torch.int32)
    storage, out = guarded(33, width, dtype=DTYPES[kind])
    launch(own.gather_rows, kind, [x, index, out, width], {"BLOCK": 1024}, 33)
    assert torch.equal(out, x[index.long()])
    assert untouched(storage, out)


@pytest.mark.parametrize("n", [1, 50, 256])
def test_shift_by_a_number(n: int) -> None:
    x, out = torch.randint(-(2**31), 2**31, (n,)).int(), torch.zeros(n, dtype=torch.int32)
    types = {"x": "*i32", "out": "*i32", "n": "i32"}
    emulated(own.shift_right, types, {"N": 256}).run((1,), [x, out, n])
    assert torch.equal(out, x >> 7)


def test_places_of_column_extremes() -> None:
    x = torch.randn(16, 64)
    low, high = torch.zeros(2, 64, dtype=torch.int32)
    types = {"x": "*fp32", "low": "*i32", "high": "*i32", "stride": "i32"}
    kernel = emulated(own.column_extremes, types, {"M": 16, "N": 64}, "x low high")
    # Unchecked: vnot reads whole words of masks of which vcmp writes one bit (docs).
    kernel.run((1,), [x, low, high, 64], checks=False)
    assert torch.equal(low.long(), x.argmin(0))
    assert torch.equal(high.long(), x.argmax(0))


def test_one_element_by_an_index_from_memory() -> None:
    x, index = torch.randn(5, 40), torch.randint(0, 40, (5,))
    out = torch.zeros(5)
    types = {"x": "*fp32", "index": "*i64", "out": "*fp32", "N": "i32"}
    emulated(own.pick_one, types, {}).run((5,), [x, index, out, 40])
    assert torch.equal(out, x[torch.arange(5), index])


def test_interleave_and_its_inverse() -> None:
    x, y, both, back = torch.randn(256), torch.randn(256), torch.zeros(512), torch.zeros(256)
    launch(own.interleave, "fp32", [x, y, both], {"N": 256})
    assert torch.equal(both, torch.stack([x, y], 1).flatten())
    launch(own.every_second, "fp32", [both, back], {"N": 256})
    assert torch.equal(back, x)


@pytest.mark.parametrize("n", [16, 32])
def test_sort(n: int) -> None:
    x = torch.randn(n)
    storage, out = guarded(n)
    launch(own.sort, "fp32", [x, out], {"N": n})
    assert torch.equal(out, x.sort().values)
    assert untouched(storage, out)


def test_topk() -> None:
    x = torch.randn(32)
    storage, out = guarded(4)
    launch(own.topk, "fp32", [x, out], {"N": 32, "K": 4})
    assert torch.equal(out, x.topk(4).values)
    assert untouched(storage, out)


@pytest.mark.parametrize("n", [1, 7, 100, 256])
def test_argmax(n: int) -> None:
    x, out = torch.randn(n), torch.zeros(1, dtype=torch.int32)
    types = {"x": "*fp32", "out": "*i32", "n": "i32"}
    emulated(own.argmax, types, {"N": 256}, "x").run((1,), [x, out, n])
    assert int(out) == int(x.numpy().argmax())  # numpy's is the first of equal ones


def test_sums_of_columns() -> None:
    x = torch.randn(32, 64)
    storage, out = guarded(64)
    launch(own.column_sums, "fp32", [x, out], {"A": 32, "B": 64})
    assert_rounded(out, x.double().sum(0), sum_error(32) * x.abs().sum(0))
    assert untouched(storage, out)


@pytest.mark.parametrize("n", [1, 31, 33, 100, 256])
def test_cumsum(n: int) -> None:
    x = torch.randn(2, n)
    storage, out = guarded(2, n)
    types = {"x": "*fp32", "out": "*fp32", "n": "i32"}
    emulated(kernels.cumsum, types, {"BLOCK": 256}).run((2,), [x, out, n])
    assert_rounded(out, x.double().cumsum(1), sum_error(n) * x.abs().cumsum(1))
    assert untouched(storage, out)


@pytest.mark.parametrize("n", [1, 2000, 5000])
def test_rmsnorm_in_a_loop(n: int) -> None:
    x, w = torch.randn(3, n).half(), torch.randn(n).half()
    storage, out = guarded(3, n, dtype=torch.float16)
    types = {**dict.fromkeys(("x", "w", "out"), "*fp16"), "stride": "i32", "n": "i32"}
    kernel = emulated(kernels.rmsnorm_loop, {**types, "eps": "fp32"}, {"BLOCK": 2048})
    kernel.run((3,), [x, w, out, n, n, 1e-5])
    exact = torch.nn.functional.rms_norm(x.double(), (n,), w.double(), 1e-5)
    assert_rounded(out, exact, sum_error(n) * exact.abs())
    assert untouched(storage, out)
