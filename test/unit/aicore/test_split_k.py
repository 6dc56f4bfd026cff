"""Dots that are added to memory atomically, on the emulated AI Core, against float64."""

from __future__ import annotations

import aicore_kernels
import pytest
import torch

from flagc.aicore import EmulatedKernel
from flagc.errors import KernelError
from support.emulating import emulated

BLOCK, BLOCK_K, SPLIT = 32, 16, 3
M, N, K = 70, 29, 131


def split_k(kind: str, form: str) -> EmulatedKernel:
    out = "fp16" if form == "half" else "fp32"
    types = {"a": f"*{kind}", "b": f"*{kind}", "c": f"*{out}", "M": "i32", "N": "i32", "K": "i32"}
    constants = {"BLOCK": BLOCK, "BLOCK_K": BLOCK_K, "SPLIT": SPLIT, "FORM": form}
    return emulated(aicore_kernels.split_k, types, constants)


def partial_sums(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """What each program along K adds: SPLIT x M x N."""
    owner = torch.arange(K) // BLOCK_K % SPLIT
    return torch.stack([a[:, owner == part] @ b[owner == part] for part in range(SPLIT)])


def combined(parts: torch.Tensor, form: str) -> torch.Tensor:
    """The result of `form` for the partial products `parts`, starting from zeros."""
    total = parts.sum(0)
    if form == "scaled":
        return total * 1.5
    if form == "rows":
        return total.sum(1)
    if form == "all":
        return total.sum().reshape(1)
    if form == "max":
        return parts.amax(0).clamp_min(0)
    if form == "scattered":
        return torch.stack([total[row::7].sum(0) for row in range(7)])
    return total


FORMS = ("dot", "half", "scaled", "rows", "max", "scattered", "all")


@pytest.mark.parametrize(
    ("kind", "form"), [*(("fp16", form) for form in FORMS), ("fp32", "dot"), ("fp32", "scaled")]
)
def test_each_form_adds_once(kind: str, form: str) -> None:
    dtype = torch.float16 if kind == "fp16" else torch.float32
    a, b = torch.randn(M, K).to(dtype), torch.randn(K, N).to(dtype)
    expected = combined(partial_sums(a.double(), b.double()), form)
    got = torch.zeros(expected.shape, dtype=torch.float16 if form == "half" else torch.float32)
    split_k(kind, form).run((-(-M // BLOCK), SPLIT), [a, b, got, M, N, K])
    # Any order of n additions errs by less than n units of the terms' absolute sum. A fp16 result
    # is rounded at each of the SPLIT additions and at each conversion before them.
    magnitude = combined(partial_sums(a.double().abs(), b.double().abs()), form)
    terms = K * M * N if form == "all" else K * N if form == "rows" else K * M
    unit = 2 * SPLIT * 2.0**-11 if form == "half" else terms * 2.0**-24
    assert bool(((got.double() - expected).abs() <= unit * magnitude).all())


@pytest.mark.parametrize("form", ["exchange", "old"])
def test_what_both_sub_blocks_would_do_is_refused(form: str) -> None:
    with pytest.raises(KernelError, match=r"aicore_kernels.py:\d+.*in a kernel with a dot"):
        split_k("fp16", form)
