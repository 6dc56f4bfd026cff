"""Vector and mix kernels as the vendor compiles them, on the emulated AI Core, against float64."""

from __future__ import annotations

from typing import Any

import aicore_kernels as own
import pytest
import torch

from support.comparing import (
    ROUND,
    assert_rounded,
    guarded,
    product_error,
    sum_error,
    untouched,
)
from support.emulating import DTYPES, emulated, kernels
from support.gemm_cases import random_values

WIDTHS = [1, 31, 33, 1000, 4096]
BLOCK = {"BLOCK": 4096}


def pointers(names: str, kind: str) -> dict[str, str]:
    return dict.fromkeys(names.split(), f"*{kind}")


def integers(names: str) -> dict[str, str]:
    return dict.fromkeys(names.split(), "i32")


@pytest.mark.parametrize("n", [1, 31, 1000, 1024, 5000])
@pytest.mark.parametrize("kind", ["fp32", "fp16", "bf16", "i32", "i16", "i8", "i64"])
def test_vector_add_is_exact(kind: str, n: int) -> None:
    types = {**pointers("x y out", kind), "n": "i32"}
    kernel = emulated(kernels.vector_add, types, {"BLOCK": 1024})
    x, y = random_values(kind, n), random_values(kind, n)
    storage, out = guarded(n, dtype=DTYPES[kind])
    kernel.run((-(-n // 1024),), [x, y, out, n])
    assert torch.equal(out, x + y)
    assert untouched(storage, out)


@pytest.mark.parametrize("n", [1, 100, 256, 1000])
def test_a_store_with_a_condition_stays_within_the_tensor(n: int) -> None:
    types = {**pointers("x out", "fp32"), "n": "i32"}
    x = torch.randn(n)
    storage, out = guarded(n)
    kernel = emulated(own.double_every_third, types, {"BLOCK": 256})
    kernel.run((-(-n // 256),), [x, out, n])
    assert torch.equal(out[::3], x[::3] * 2)
    assert untouched(storage, out[::3])


def softmax_reference(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Exact softmax of rows, and what fp32 loses: x less the maximum is rounded, which exp turns
    into a relative error; exp, the sum and the division follow."""
    exact = torch.softmax(x.double(), 1)
    span = x.double().amax(1, keepdim=True) - x
    relative = ROUND * (span + span.amax(1, keepdim=True) + 8) + sum_error(x.shape[1])
    return exact, exact * relative


@pytest.mark.parametrize("n", WIDTHS)
@pytest.mark.parametrize("function", [kernels.softmax, own.softmax_in_a_loop], ids=["row", "loop"])
def test_softmax(function: Any, n: int) -> None:
    block = 4096 if function is kernels.softmax else 1024
    types = {**pointers("x out", "fp32"), **integers("stride n")}
    x = torch.randn(5, n) * 4
    storage, out = guarded(5, n, pad=3)
    # One stride serves both, so the input has the same gaps.
    spaced = guarded(5, n, pad=3)[1].copy_(x)
    emulated(function, types, {"BLOCK": block}).run((5,), [spaced, out, n + 3, n])
    assert_rounded(out, *softmax_reference(x))
    assert untouched(storage, out)


@pytest.mark.parametrize("n", WIDTHS)
def test_layernorm(n: int) -> None:
    types = {**pointers("x w b out", "fp32"), **integers("stride n"), "eps": "fp32"}
    x, w, b = torch.randn(5, n), torch.randn(n), torch.randn(n)
    storage, out = guarded(5, n)
    emulated(kernels.layernorm, types, BLOCK).run((5,), [x, w, b, out, n, n, 1e-5])
    wide = x.double()
    exact = torch.layer_norm(wide, (n,), w.double(), b.double())
    centred = (wide - wide.mean(1, keepdim=True)).abs() + wide.abs().mean(1, keepdim=True)
    scale = w.abs() / (wide.var(1, correction=0, keepdim=True) + 1e-5).sqrt()
    assert_rounded(out, exact, 2 * sum_error(n) * scale * centred + ROUND * b.abs())
    assert untouched(storage, out)


@pytest.mark.parametrize("n", WIDTHS)
@pytest.mark.parametrize("kind", ["fp16", "bf16", "fp32"])
def test_rmsnorm(kind: str, n: int) -> None:
    types = {**pointers("x w out", kind), **integers("stride n"), "eps": "fp32"}
    x, w = random_values(kind, 3, n), random_values(kind, n)
    storage, out = guarded(3, n, dtype=DTYPES[kind])
    emulated(own.rmsnorm, types, BLOCK).run((3,), [x, w, out, n, n, 1e-5])
    exact = torch.nn.functional.rms_norm(x.double(), (n,), w.double(), 1e-5)
    assert_rounded(out, exact, sum_error(n) * exact.abs())
    assert untouched(storage, out)


@pytest.mark.parametrize("n", WIDTHS)
@pytest.mark.parametrize("kind", ["fp16", "fp32"])
def test_cross_entropy(kind: str, n: int) -> None:
    types = {"logits": f"*{kind}", "target": "*i32", "loss": "*fp32", **integers("stride n")}
    x = (torch.randn(7, n) * 4).to(DTYPES[kind])
    target = torch.randint(0, n, (7,), dtype=torch.int32)
    storage, loss = guarded(7)
    emulated(own.cross_entropy, types, BLOCK).run((7,), [x, target, loss, n, n])
    wide = x.double()
    exact = torch.nn.functional.cross_entropy(wide, target.long(), reduction="none")
    # log turns the sum's relative error into an absolute one; log, + top and - right are rounded.
    top, span = wide.amax(1), wide.amax(1) - wide.amin(1)
    right = wide.gather(1, target[:, None].long())[:, 0]
    sizes = wide.logsumexp(1).abs() + top.abs() + right.abs()
    lost = sum_error(n) + ROUND * (span + 8 + 2 * sizes)
    assert_rounded(loss, exact, lost)
    assert untouched(storage, loss)


def attention_reference(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, scale: float, *, causal: bool
) -> tuple[torch.Tensor, torch.Tensor]:
    """Exact attention of (heads, length, width), and what the kernel's fp32 and fp16 may lose.

    Weights are rounded to fp16 relative to the largest so far: 2**-11 of each, or 2**-25 where
    fp16 is subnormal. A score's error, and that of the score less the maximum, are a weight's
    relative error.
    """
    length = q.shape[1]
    hidden = torch.ones(length, length, dtype=torch.bool).triu(1) & causal
    scores = (scale * (q.double() @ k.double().mT)).masked_fill(hidden, -torch.inf)
    weights = torch.softmax(scores, 2)
    span = (scores.amax(2, keepdim=True) - scores).masked_fill(hidden, 0).amax(2, keepdim=True)
    of_score = 2 * scale * product_error(q, k.mT).masked_fill(hidden, 0).amax(2, keepdim=True)
    relative = 2.0**-11 + 2 * of_score + 2 * ROUND * (span + 8) + 2 * sum_error(length)
    size = v.double().abs()
    seen = (~hidden).double()
    return weights @ v.double(), relative * (weights @ size) + 2.0**-25 * (seen @ size)


@pytest.mark.parametrize("length", [1, 2, 33, 64, 65, 130, 300])
@pytest.mark.parametrize("width", [64, 128])
@pytest.mark.parametrize("causal", [False, True])
def test_attention(causal: bool, width: int, length: int) -> None:
    types = {**pointers("q k v out", "fp16"), "scale": "fp32"}
    types |= integers("seq stride_row stride_head")
    constants = {"BLOCK_M": 64, "BLOCK_N": 64, "HEAD": width, "CAUSAL": causal}
    kernel = emulated(own.attention, types, constants, even="stride_row stride_head")
    q, k, v = (torch.randn(2, length, width).half() for _ in range(3))
    storage, out = guarded(2, length, width, dtype=torch.float16)
    sizes = [length, width, length * width]
    kernel.run((-(-length // 64), 2), [q, k, v, out, width**-0.5, *sizes])
    assert_rounded(out, *attention_reference(q, k, v, width**-0.5, causal=causal))
    assert untouched(storage, out)
