"""GEMM as the vendor compiles it, on the emulated AI Core, against float64."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from emulating import gemm

from support.comparing import assert_rounded, guarded, product_error, untouched

SHAPES = [(1, 1, 1), (7, 33, 4096), (33, 700, 17), (129, 65, 130), (200, 100, 300)]
TILE = 64


def product(
    kernel: Any, a: torch.Tensor, b: torch.Tensor, out: torch.dtype, order: str = "NN"
) -> torch.Tensor:
    """a @ b on the emulator; also checks that the bytes around the result stay as they were."""
    (m, k), n = a.shape, b.shape[1]
    left = a.t().contiguous() if order[0] == "T" else a.contiguous()
    right = b.t().contiguous() if order[1] == "T" else b.contiguous()
    storage, c = guarded(m, n, dtype=out)
    strides = [m if order[0] == "T" else k, k if order[1] == "T" else n, n]
    kernel.run((-(-m // TILE), -(-n // TILE)), [left, right, c, m, n, k, *strides])
    assert untouched(storage)
    return c


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("kind", ["fp16", "bf16", "fp32"])
def test_random_products(kind: str, shape: tuple[int, int, int]) -> None:
    m, n, k = shape
    dtype = {"fp16": torch.float16, "bf16": torch.bfloat16, "fp32": torch.float32}[kind]
    a, b = torch.randn(m, k).to(dtype), torch.randn(k, n).to(dtype)
    c = product(gemm(kind, kind), a, b, dtype)
    assert_rounded(c, a.double() @ b.double(), product_error(a, b))


@pytest.mark.parametrize("order", ["NN", "TN", "NT", "TT"])
@pytest.mark.parametrize("kind", ["fp16", "fp32"])
def test_small_integers_are_exact_in_every_order(kind: str, order: str) -> None:
    m, n, k = 70, 95, 83
    dtype = torch.float16 if kind == "fp16" else torch.float32
    a, b = torch.randint(-3, 4, (m, k)).to(dtype), torch.randint(-3, 4, (k, n)).to(dtype)
    c = product(gemm(kind, "fp32", order=order), a, b, torch.float32, order)
    assert torch.equal(c, a.float() @ b.float())


@pytest.mark.parametrize("shape", SHAPES)
def test_int8_products_are_exact(shape: tuple[int, int, int]) -> None:
    m, n, k = shape
    a = torch.randint(-128, 128, (m, k), dtype=torch.int8)
    b = torch.randint(-128, 128, (k, n), dtype=torch.int8)
    c = product(gemm("i8", "i32"), a, b, torch.int32)
    assert torch.equal(c, (a.double() @ b.double()).to(torch.int32))


def test_512_cubed_with_two_threads_equals_one() -> None:
    a, b = torch.randn(512, 512).half(), torch.randn(512, 512).half()
    results = []
    for threads in (1, 2):
        storage, c = guarded(512, 512, dtype=torch.float16)
        gemm("fp16", "fp16").run((8, 8), [a, b, c, 512, 512, 512, 512, 512, 512], threads=threads)
        assert untouched(storage)
        results.append(c)
    assert torch.equal(results[0].view(torch.int16), results[1].view(torch.int16))
    assert_rounded(results[0], a.double() @ b.double(), product_error(a, b))
