"""Staged IR, emitted and run on the emulated AI Core with all checks."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import torch

from flagc.aicore import EmulatedKernel
from flagc.ir.module import Module
from flagc.targets.ascend.chips import chip
from flagc.targets.ascend.emission import emit
from flagc.targets.ascend.llvm_stage import final_to_llvm
from flagc.targets.ascend.stages import FinalStage
from support.comparing import ROUND, assert_rounded, guarded, product_error, untouched
from support.emulating import DTYPES
from support.staged_gemm import StagedGemm

CHIP = chip("910B3")
_NAMES = {"f16": "fp16", "bf16": "bf16", "f32": "fp32", "i8": "i8", "i32": "i32"}


def final_text(staged: str) -> str:
    """Return the final module, as bishengir-opt reads, verifies and prints it."""
    module = emit(Module.parse(staged, "staged"), CHIP)
    return FinalStage(CHIP, {}, []).import_module(module).text


@lru_cache(maxsize=64)
def compiled(staged: str) -> EmulatedKernel:
    """Return the kernel of a staged module."""
    return EmulatedKernel(final_to_llvm(final_text(staged), note_lines=True), CHIP)


def dtype(element: str) -> torch.dtype:
    """Return torch's type for MLIR's."""
    return DTYPES[_NAMES[element]]


def values(element: str, *shape: int) -> torch.Tensor:
    """Normal numbers, or all the values of i8."""
    if element == "i8":
        return torch.randint(-128, 128, shape).to(torch.int8)
    if element == "i32":
        return torch.randint(-1000, 1000, shape).to(torch.int32)
    return torch.randn(shape).to(dtype(element))


def apart(matrix: torch.Tensor, pad: int) -> torch.Tensor:
    """The same matrix with `pad` elements between rows that must not count."""
    return guarded(*matrix.shape, dtype=matrix.dtype, pad=pad)[1].copy_(matrix)


def check(case: StagedGemm, m: int, n: int, k: int, *, pad: int = 0, **options: Any) -> Any:
    """Multiply random matrices of these sizes; returns the emulator's report."""
    a, b = values(case.element, m, k), values(case.element, k, n)
    storage, c = guarded(m, n, dtype=dtype(case.out), pad=pad)
    before = torch.zeros(())
    if case.atomic:
        before = c.copy_(values(case.out, m, n)).clone().double()
    left = apart(a if case.order[0] == "N" else a.t().contiguous(), pad)
    right = apart(b if case.order[1] == "N" else b.t().contiguous(), pad)
    bias = [values(case.bias, n)] if case.bias else []
    strides = [left.stride(0), right.stride(0), c.stride(0)]
    grid = (-(-m // case.tile[0]), -(-n // case.tile[1]))
    arguments = [left, right, c, *bias, m, n, k, *strides]
    report = compiled(case.text()).run(grid, arguments, **options)
    exact = a.double() @ b.double()
    lost: torch.Tensor | float = 0.0 if case.element == "i8" else product_error(a, b)
    if bias:
        exact = exact + bias[0].double()
        lost = lost + ROUND * exact.abs()
    if case.relu:
        exact = exact.relu()
    if case.atomic:
        # The product is rounded to the result's type, then the sum.
        lost = lost + (exact.abs() + lost) * torch.finfo(c.dtype).eps / 2
        exact = exact + before
    assert untouched(storage, c)
    assert_rounded(c, exact, lost)
    return report
