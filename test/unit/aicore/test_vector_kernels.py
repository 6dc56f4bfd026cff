"""Vector and mix kernels as the vendor compiles them, on the emulated AI Core."""

from __future__ import annotations

import pytest
import torch
from emulating import emulated, kernels

from support.comparing import (
    ROUND,
    assert_rounded,
    guarded,
    product_error,
    sum_error,
    untouched,
)

I32 = "i32"
WIDTHS = [1, 31, 33, 1000, 1024]
POINTER = "*fp32"


@pytest.mark.parametrize("n", [1, 31, 1000, 1024, 5000])
def test_vector_add_is_exact(n: int) -> None:
    kernel = emulated(
        kernels.vector_add, {**dict.fromkeys(("x", "y", "out"), POINTER), "n": I32}, {"BLOCK": 1024}
    )
    x, y = torch.randn(n), torch.randn(n)
    storage, out = guarded(n)
    kernel.run((-(-n // 1024),), [x, y, out, n])
    assert torch.equal(out, x + y)
    assert untouched(storage)


@pytest.mark.parametrize("n", WIDTHS)
def test_softmax(n: int) -> None:
    types = {"x": POINTER, "out": POINTER, "stride": I32, "n": I32}
    kernel = emulated(kernels.softmax, types, {"BLOCK": 1024})
    x = torch.randn(5, n) * 4
    storage, out = guarded(5, n)
    kernel.run((5,), [x, out, n, n])
    exact = torch.softmax(x.double(), 1)
    # x - max is rounded, which exp turns into a relative error; exp, sum and division follow.
    span = x.double().amax(1, keepdim=True) - x
    lost = exact * (ROUND * (span + span.amax(1, keepdim=True) + 8) + sum_error(n))
    assert_rounded(out, exact, lost)
    assert untouched(storage)


@pytest.mark.parametrize("n", WIDTHS)
def test_layernorm(n: int) -> None:
    types = {**dict.fromkeys(("x", "w", "b", "out"), POINTER), "stride": I32, "n": I32}
    kernel = emulated(kernels.layernorm, {**types, "eps": "fp32"}, {"BLOCK": 1024})
    x, w, b = torch.randn(5, n), torch.randn(n), torch.randn(n)
    storage, out = guarded(5, n)
    kernel.run((5,), [x, w, b, out, n, n, 1e-5])
    wide = x.double()
    exact = torch.layer_norm(wide, (n,), w.double(), b.double())
    centred = (wide - wide.mean(1, keepdim=True)).abs() + wide.abs().mean(1, keepdim=True)
    scale = w.abs() / (wide.var(1, correction=0, keepdim=True) + 1e-5).sqrt()
    assert_rounded(out, exact, 2 * sum_error(n) * scale * centred + ROUND * b.abs())
    assert untouched(storage)


@pytest.mark.parametrize("shape", [(1, 1, 1), (128, 128, 64), (200, 100, 300), (33, 17, 70)])
def test_gemm_with_bias_and_relu(shape: tuple[int, int, int]) -> None:
    m, n, k = shape
    sizes = dict.fromkeys(("M", "N", "K", "sam", "sbk", "scm"), I32)
    kernel = emulated(
        kernels.gemm_bias_relu,
        {**dict.fromkeys(("a", "b", "bias", "c"), "*fp16"), **sizes},
        {"sak": 1, "sbn": 1, "scn": 1, "BLOCK_M": 128, "BLOCK_N": 128, "BLOCK_K": 64},
    )
    a, b, bias = (torch.randn(*size).half() for size in ((m, k), (k, n), (n,)))
    storage, c = guarded(m, n, dtype=torch.float16)
    kernel.run((-(-m // 128), -(-n // 128)), [a, b, bias, c, m, n, k, k, n, n])
    exact = torch.relu(a.double() @ b.double() + bias.double())
    assert_rounded(c, exact, product_error(a, b) + ROUND * exact)
    assert untouched(storage)


def attention_reference(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, scale: float, *, causal: bool = False
) -> tuple[torch.Tensor, torch.Tensor]:
    """Exact attention of (heads, length, width), and what the kernel's fp32 and fp16 may lose.

    Weights are rounded to fp16 relative to the largest so far: 2**-11 of each, or 2**-25 where
    fp16 is subnormal. A score's error, and that of the score less the maximum, are a weight's
    relative error.
    """
    length = q.shape[1]
    scores = scale * (q.double() @ k.double().mT)
    hidden = torch.ones(length, length, dtype=torch.bool).triu(1) & causal
    scores = scores.masked_fill(hidden, -torch.inf)
    weights = torch.softmax(scores, 2)
    span = (scores.amax(2, keepdim=True) - scores).masked_fill(hidden, 0).amax(2, keepdim=True)
    of_score = 2 * scale * product_error(q, k.mT).masked_fill(hidden, 0).amax(2, keepdim=True)
    relative = 2.0**-11 + 2 * of_score + 2 * ROUND * (span + 8) + 2 * sum_error(length)
    size = v.double().abs()
    lost = relative * (weights @ size) + 2.0**-25 * size.sum(1, keepdim=True)
    return weights @ v.double(), lost


@pytest.mark.parametrize("length", [1, 33, 64, 300])
def test_attention(length: int) -> None:
    types = {**dict.fromkeys(("q", "k", "v", "out"), "*fp16"), "scale": "fp32"}
    kernel = emulated(
        kernels.attention,
        {**types, **dict.fromkeys(("seq", "sq", "sh"), I32)},
        {"BLOCK_M": 64, "BLOCK_N": 64, "HEAD": 64},
        even="sq sh",
    )
    q, k, v = (torch.randn(3, length, 64).half() for _ in range(3))
    storage, out = guarded(3, length, 64, dtype=torch.float16)
    kernel.run((-(-length // 64), 3), [q, k, v, out, 0.125, length, 64, length * 64])
    exact, lost = attention_reference(q, k, v, 0.125)
    assert_rounded(out, exact, lost)
    assert untouched(storage)
