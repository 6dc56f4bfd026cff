"""What the reference interpreter saw of a launch besides its results."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import torch


@dataclass(frozen=True)
class OutputEvidence:
    """How one argument's elements came about.

    Attributes:
        terms: the longest sum, in terms, that a program had formed before it stored here.
        additions: the most atomic additions that one element received.
        nonzero_start: index and value of an element that was added to atomically and did not hold
            zero before; None when there is none.
        stored_by: linear id of the program that stored each element, -1 for none.
    """

    terms: int
    additions: int
    nonzero_start: tuple[tuple[int, ...], float] | None
    stored_by: torch.Tensor


@dataclass(frozen=True)
class Reference:
    """What the interpreter says a launch does.

    Attributes:
        tensors: each tensor argument as the launch leaves it; floats in float64 if `wide`.
        wide: whether floating point was computed in float64.
        why_not_wide: why it was not.
        outputs: evidence by argument.
        roundings: by type name (`fp16`, `bf16`), how many lines of the kernel compute in that
            type, or round a dot's operand to it.
        unfilled: `file:line` of loads that read masked lanes without giving `other`.
        tails: (load, dimension) whose lanes from the given one on are masked, and reach an output.
        depends_on_unfilled: by output, how many elements depend on such lanes.
    """

    tensors: Mapping[str, torch.Tensor]
    wide: bool
    outputs: Mapping[str, OutputEvidence]
    why_not_wide: str = ""
    roundings: Mapping[str, int] = field(default_factory=dict)
    unfilled: tuple[str, ...] = ()
    tails: Mapping[tuple[str, int], int] = field(default_factory=dict)
    depends_on_unfilled: Mapping[str, int] = field(default_factory=dict)

    def __str__(self) -> str:
        if self.wide:
            return "Triton's interpreter in float64"
        return f"Triton's interpreter in the kernel's own types ({self.why_not_wide})"
