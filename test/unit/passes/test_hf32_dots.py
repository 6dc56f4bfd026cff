"""hf32-dots: the device library's HF32 product, seen in the numbers."""

from __future__ import annotations

import numpy as np
import pytest
import torch
import triton
import triton.language as tl

import flagc
from support.comparing import product_error


@triton.jit
def product(a, b, c, M, N, K, TILE: tl.constexpr, DEPTH: tl.constexpr):
    rows = tl.program_id(0) * TILE + tl.arange(0, TILE)
    columns = tl.program_id(1) * TILE + tl.arange(0, TILE)
    total = tl.zeros((TILE, TILE), tl.float32)
    for start in range(0, K, DEPTH):
        inner = start + tl.arange(0, DEPTH)
        left = (rows[:, None] < M) & (inner[None, :] < K)
        right = (inner[:, None] < K) & (columns[None, :] < N)
        x = tl.load(a + rows[:, None] * K + inner[None, :], mask=left, other=0.0)
        y = tl.load(b + inner[:, None] * N + columns[None, :], mask=right, other=0.0)
        total = tl.dot(x, y, total)
    inside = (rows[:, None] < M) & (columns[None, :] < N)
    tl.store(c + rows[:, None] * N + columns[None, :], total, mask=inside)


def to_hf32(values: torch.Tensor) -> torch.Tensor:
    """11 bits of fraction, to nearest, ties to even; float64."""
    words = values.numpy().view(np.uint32).astype(np.uint64)
    kept = (words + 0x7FF + (words >> np.uint64(12) & np.uint64(1))) & np.uint64(0xFFFFF000)
    return torch.from_numpy(kept.astype(np.uint32).view(np.float32)).double()


@pytest.mark.parametrize("shape", [(1, 1, 1), (70, 95, 83), (33, 17, 300)])
def test_products_of_operands_rounded_to_hf32(shape: tuple[int, int, int]) -> None:
    m, n, k = shape
    a, b = torch.randn(m, k), torch.randn(k, n)
    results = []
    for passes in ("hf32-dots", ""):
        c = torch.full((m, n), float("nan"))
        with flagc.use("ascend:910B3", passes):
            product[(-(-m // 64), -(-n // 64))](a, b, c, m, n, k, TILE=64, DEPTH=32)
        results.append(c.double())
    rounded, plain = results
    lost = product_error(a, b)
    assert bool(((rounded - to_hf32(a) @ to_hf32(b)).abs() <= lost).all())
    assert bool(((plain - a.double() @ b.double()).abs() <= lost).all())
    assert not torch.equal(rounded, plain)


@triton.jit
def half_product(a, b, c, TILE: tl.constexpr):
    at = tl.arange(0, TILE)[:, None] * TILE + tl.arange(0, TILE)[None, :]
    tl.store(c + at, tl.dot(tl.load(a + at), tl.load(b + at)))


def test_other_products_stay_as_they_are() -> None:
    a, b = torch.randn(32, 32).half(), torch.randn(32, 32).half()
    c = torch.empty(32, 32)
    with flagc.use("ascend:910B3", "hf32-dots") as session:
        half_product[(1,)](a, b, c, TILE=32)
    assert bool(((c.double() - a.double() @ b.double()).abs() <= product_error(a, b)).all())
    assert len(session.recorder.launches) == 1
