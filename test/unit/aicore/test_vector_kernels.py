"""Vector and mix kernels as the vendor compiles them, on the emulated AI Core."""

from __future__ import annotations

import pytest
import torch
from emulating import emulated, kernels

I32 = "i32"
WIDTHS = [1, 31, 33, 1000, 1024]
POINTER = "*fp32"


def guarded(*shape: int, dtype: torch.dtype = torch.float32) -> tuple[torch.Tensor, torch.Tensor]:
    """A NaN-filled tensor inside a larger one, and the larger one."""
    size = int(torch.tensor(shape).prod())
    storage = torch.full((size + 64,), float("nan"), dtype=dtype)
    return storage, storage[32 : 32 + size].view(*shape)


def untouched(storage: torch.Tensor) -> bool:
    return bool(storage[:32].isnan().all() and storage[-32:].isnan().all())


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
    torch.testing.assert_close(out.double(), torch.softmax(x.double(), 1), rtol=2e-6, atol=1e-9)
    assert untouched(storage)


@pytest.mark.parametrize("n", WIDTHS)
def test_layernorm(n: int) -> None:
    types = {**dict.fromkeys(("x", "w", "b", "out"), POINTER), "stride": I32, "n": I32}
    kernel = emulated(kernels.layernorm, {**types, "eps": "fp32"}, {"BLOCK": 1024})
    x, w, b = torch.randn(5, n), torch.randn(n), torch.randn(n)
    storage, out = guarded(5, n)
    kernel.run((5,), [x, w, b, out, n, n, 1e-5])
    expected = torch.layer_norm(x.double(), (n,), w.double(), b.double())
    torch.testing.assert_close(out.double(), expected, rtol=1e-5, atol=3e-6)
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
    expected = torch.relu(a.double() @ b.double() + bias.double())
    torch.testing.assert_close(c.double(), expected, rtol=2**-11, atol=1e-5)
    assert untouched(storage)


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
    expected = torch.nn.functional.scaled_dot_product_attention(
        q.double(), k.double(), v.double(), scale=0.125
    )
    torch.testing.assert_close(out.double(), expected, rtol=2e-3, atol=1e-3)
    assert untouched(storage)
