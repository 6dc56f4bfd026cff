"""Kernels that move elements around: transpose, gather, interleave, sort, argmax, scans."""

from __future__ import annotations

from typing import Any

import aicore_kernels as own
import pytest
import torch
from emulating import emulated, kernels

from support.comparing import assert_rounded, sum_error

TYPES = {"*fp16": torch.float16, "*fp32": torch.float32, "*i8": torch.int8}


def launch(function: Any, kind: str, tensors: list[Any], constants: dict[str, int]) -> None:
    """One block; pointers are of type `kind`, but for `index`."""
    names = [name for name in function.arg_names if name not in constants]
    types = {name: "*i32" if name == "index" else "i32" if name == "n" else kind for name in names}
    even = " ".join(name for name in names if name != "n")
    emulated(function, types, constants, even).run((1,), tensors, names=names)


@pytest.mark.parametrize("kind", list(TYPES))
def test_transpose(kind: str) -> None:
    x = (torch.randn(64, 64) * 50).to(TYPES[kind])
    out = torch.zeros_like(x)
    launch(own.transpose, kind, [x, out], {"A": 64, "B": 64})
    assert torch.equal(out, x.t())


@pytest.mark.parametrize("kind", ["*fp16", "*fp32"])
def test_gather(kind: str) -> None:
    x, index = torch.randn(256).to(TYPES[kind]), torch.randint(0, 256, (256,), dtype=torch.int32)
    out = torch.zeros_like(x)
    launch(own.gather, kind, [x, index, out], {"N": 256})
    assert torch.equal(out, x[index.long()])


def test_interleave_and_its_inverse() -> None:
    x, y, both, back = torch.randn(256), torch.randn(256), torch.zeros(512), torch.zeros(256)
    launch(own.interleave, "*fp32", [x, y, both], {"N": 256})
    assert torch.equal(both, torch.stack([x, y], 1).flatten())
    launch(own.every_second, "*fp32", [both, back], {"N": 256})
    assert torch.equal(back, x)


def test_sort() -> None:
    x, out = torch.randn(64), torch.zeros(64)
    launch(own.sort, "*fp32", [x, out], {"N": 64})
    assert torch.equal(out, x.sort().values)


@pytest.mark.parametrize("n", [1, 7, 100, 256])
def test_argmax(n: int) -> None:
    x, out = torch.randn(n), torch.zeros(1, dtype=torch.int32)
    types = {"x": "*fp32", "out": "*i32", "n": "i32"}
    emulated(own.argmax, types, {"N": 256}, "x").run((1,), [x, out, n])
    assert int(out) == int(x.numpy().argmax())  # numpy's is the first of equal ones


def test_sums_of_columns() -> None:
    x, out = torch.randn(32, 64), torch.zeros(64)
    launch(own.column_sums, "*fp32", [x, out], {"A": 32, "B": 64})
    assert_rounded(out, x.double().sum(0), sum_error(32) * x.abs().sum(0))


@pytest.mark.parametrize("n", [1, 100, 256])
def test_cumsum(n: int) -> None:
    x, out = torch.randn(2, n), torch.zeros(2, n)
    types = {"x": "*fp32", "out": "*fp32", "n": "i32"}
    emulated(kernels.cumsum, types, {"BLOCK": 256}).run((2,), [x, out, n])
    assert_rounded(out, x.double().cumsum(1), sum_error(n) * x.abs().cumsum(1))


@pytest.mark.parametrize("n", [1, 2000, 5000])
def test_rmsnorm_in_a_loop(n: int) -> None:
    x, w = torch.randn(3, n).half(), torch.randn(n).half()
    out = torch.zeros(3, n).half()
    types = {**dict.fromkeys(("x", "w", "out"), "*fp16"), "stride": "i32", "n": "i32"}
    kernel = emulated(kernels.rmsnorm_loop, {**types, "eps": "fp32"}, {"BLOCK": 2048})
    kernel.run((3,), [x, w, out, n, n, 1e-5])
    exact = torch.nn.functional.rms_norm(x.double(), (n,), w.double(), 1e-5)
    assert_rounded(out, exact, sum_error(n) * exact.abs())
