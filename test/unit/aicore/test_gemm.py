"""GEMM as the vendor compiles it, on the emulated AI Core, against float64."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from emulating import gemm

SHAPES = [(1, 1, 1), (7, 33, 4096), (33, 700, 17), (129, 65, 130), (200, 100, 300)]
GUARD = 97  # elements before and after an output that nothing may touch
TILE = 64


def product(
    kernel: Any, a: torch.Tensor, b: torch.Tensor, out: torch.dtype, order: str = "NN"
) -> torch.Tensor:
    """a @ b on the emulator; also checks that the bytes around the result stay as they were."""
    (m, k), n = a.shape, b.shape[1]
    left = a.t().contiguous() if order[0] == "T" else a.contiguous()
    right = b.t().contiguous() if order[1] == "T" else b.contiguous()
    fill = 77 if out == torch.int32 else float("nan")
    storage = torch.full((m * n + 2 * GUARD,), fill, dtype=out)
    before = storage.clone()
    c = storage[GUARD : GUARD + m * n].view(m, n)
    strides = [m if order[0] == "T" else k, k if order[1] == "T" else n, n]
    kernel.run((-(-m // TILE), -(-n // TILE)), [left, right, c, m, n, k, *strides])
    for part in (slice(None, GUARD), slice(GUARD + m * n, None)):
        assert torch.equal(storage[part].view(torch.uint8), before[part].view(torch.uint8))
    return c


def check_floats(c: torch.Tensor, a: torch.Tensor, b: torch.Tensor, accumulate: float) -> None:
    """Within one unit in the last place of the rounded result, or what fp32 sums can do."""
    exact = a.double() @ b.double()
    rounded = exact.to(c.dtype)
    above = torch.nextafter(rounded.abs(), torch.full_like(rounded, torch.inf))
    unit = (above - rounded.abs()).double()
    sums = a.double().abs() @ b.double().abs()
    error = (c.double() - rounded.double()).abs()
    assert bool((error <= torch.maximum(unit, accumulate * sums)).all())


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("kind", ["fp16", "bf16", "fp32"])
def test_random_products(kind: str, shape: tuple[int, int, int]) -> None:
    m, n, k = shape
    dtype = {"fp16": torch.float16, "bf16": torch.bfloat16, "fp32": torch.float32}[kind]
    random = torch.Generator().manual_seed(m * n + k)
    a = torch.randn(m, k, generator=random).to(dtype)
    b = torch.randn(k, n, generator=random).to(dtype)
    c = product(gemm(kind, kind), a, b, dtype)
    check_floats(c, a, b, 2.0**-24 * max(8, k**0.5))


@pytest.mark.parametrize("order", ["NN", "TN", "NT", "TT"])
@pytest.mark.parametrize("kind", ["fp16", "fp32"])
def test_small_integers_are_exact_in_every_order(kind: str, order: str) -> None:
    m, n, k = 70, 95, 83
    dtype = torch.float16 if kind == "fp16" else torch.float32
    random = torch.Generator().manual_seed(3)
    a = torch.randint(-3, 4, (m, k), generator=random).to(dtype)
    b = torch.randint(-3, 4, (k, n), generator=random).to(dtype)
    c = product(gemm(kind, "fp32", order=order), a, b, torch.float32, order)
    assert torch.equal(c, a.float() @ b.float())


@pytest.mark.parametrize("shape", SHAPES)
def test_int8_products_are_exact(shape: tuple[int, int, int]) -> None:
    m, n, k = shape
    random = torch.Generator().manual_seed(m)
    a = torch.randint(-128, 128, (m, k), generator=random, dtype=torch.int8)
    b = torch.randint(-128, 128, (k, n), generator=random, dtype=torch.int8)
    c = product(gemm("i8", "i32"), a, b, torch.int32)
    assert torch.equal(c, (a.double() @ b.double()).to(torch.int32))


def test_512_cubed_with_two_threads_equals_one() -> None:
    random = np.random.default_rng(5)
    a, b = (random.standard_normal((512, 512)).astype(np.float16) for _ in range(2))
    results = []
    for threads in (1, 2):
        c = np.full((512, 512), np.nan, np.float16)
        gemm("fp16", "fp16").run((8, 8), [a, b, c, 512, 512, 512, 512, 512, 512], threads=threads)
        results.append(c)
    assert np.array_equal(results[0].view(np.uint16), results[1].view(np.uint16))
    check_floats(*(torch.from_numpy(part) for part in (results[0], a, b)), 2.0**-24 * 23)
