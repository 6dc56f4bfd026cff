"""The tensors of which a launch plan has the launcher make descriptors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch

from flagc.ir.launch_plan import DescribedTensor, LaunchPlan

# Of one element, at most 8 bytes; torch aligns it by more than the 16 bytes that descriptors need.
_ONE_ELEMENT = 16


def described_tensors(plan: LaunchPlan, arguments: Sequence[Any]) -> list[DescribedTensor]:
    """Return them for a launch with `arguments`, constexprs left out."""
    return [_not_empty(planned.tensor(arguments)) for planned in plan.descriptors]


def _not_empty(tensor: DescribedTensor) -> DescribedTensor:
    """Return, for an empty tensor, a single zero in its place.

    The driver makes no descriptors of empty tensors, whose address may be null. All that a kernel
    loads of one lies outside, and is the padding; what it stores goes nowhere.
    """
    if all(tensor.shape):
        return tensor
    rank = len(tensor.shape)
    zero = torch.zeros(_ONE_ELEMENT, dtype=torch.uint8, device="cuda")
    strides = [*[_ONE_ELEMENT] * (rank - 1), 1]
    return replace(tensor, base=zero, shape=[1] * rank, strides=strides)
