"""Elementwise operations and casts against torch, on a length that ends inside a block."""

from __future__ import annotations

from typing import Any

import aicore_kernels as own
import pytest
import torch

from support.comparing import ROUND, assert_rounded, guarded, untouched
from support.emulating import DTYPES, emulated

EXPECTED: dict[str, Any] = {
    "add": lambda a, b: a + b,
    "div": lambda a, b: a / b,
    "where": lambda a, b: torch.where(a > b, a, b * 2),
    "lt": lambda a, b: a < b,
    "xor": lambda a, b: a ^ b,
    "shr": lambda a, b: a >> (b & 7),
    "idiv": lambda a, b: torch.div(a, b, rounding_mode="trunc"),
    "log": lambda a, b: a.abs().log(),
    "rsqrt": lambda a, b: a.abs().rsqrt(),
    "erf": lambda a, b: torch.erf(a),
    "cast": lambda a, b: a,
}
# Half units that are lost before the last rounding; erf is the vendor's polynomial in fp32.
APPROXIMATE = {"log": 2, "rsqrt": 2, "erf": 8}
N = 1000


def values(dtype: torch.dtype) -> torch.Tensor:
    if dtype.is_floating_point:
        return (torch.randn(N) * 3).to(dtype)
    found = torch.randint(-100, 100, (N,))
    return torch.where(found == 0, 1, found).to(dtype)


@pytest.mark.parametrize(
    ("operation", "source", "target"),
    [
        *[(name, "fp32", "fp32") for name in ("div", "where", "lt", "log", "rsqrt", "erf")],
        *[("add", kind, kind) for kind in ("fp16", "bf16", "i64", "i16", "i8")],
        *[(name, "i32", "i32") for name in ("where", "lt", "xor", "shr", "idiv")],
        *[("cast", "fp32", kind) for kind in ("bf16", "i64", "i16", "i8")],
        *[("cast", kind, "fp32") for kind in ("i64", "i16", "i8")],
        *[("cast", "i64", "i32"), ("cast", "bf16", "i32"), ("cast", "fp16", "i8")],
    ],
)
def test_agrees_with_torch(operation: str, source: str, target: str) -> None:
    types = {"x": f"*{source}", "y": f"*{source}", "out": f"*{target}", "n": "i32"}
    kernel = emulated(own.pointwise, types, {"OP": operation, "N": 512}, "x y out")
    a, b = values(DTYPES[source]), values(DTYPES[source])
    storage, out = guarded(N, dtype=DTYPES[target])
    kernel.run((2,), [a, b, out, N])
    wide = [t.double() if t.is_floating_point() else t for t in (a, b)]
    exact = EXPECTED[operation](*wide)
    lost = APPROXIMATE.get(operation, 0) * ROUND * exact.double().abs()
    assert_rounded(out, exact, lost)
    assert untouched(storage, out)
