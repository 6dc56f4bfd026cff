"""FlagGems' attention with torch's as reference."""

# ruff: noqa: E731 - argument builders and references read best as one-line lambdas

from __future__ import annotations

import functools
from typing import Any

import torch
import torch.nn.functional as F
from cases import args
from flaggems_operator import Operator

HALF = (torch.float16,)
BATCH, HEADS, ROWS, WIDTH = 1, 2, 100, 64


def attention() -> list[Operator]:
    """Dense and packed, causal and not; an odd number of rows."""
    heads = lambda d: [torch.randn(BATCH, HEADS, ROWS, WIDTH).to(d) for _ in range(3)]
    rows = lambda d: [torch.randn(BATCH, ROWS, HEADS, WIDTH).to(d) for _ in range(3)]
    operators = []
    for causal in (False, True):
        on = functools.partial(
            Operator, dtypes=HALF, compared=1, note="causal" if causal else "", loose=2.0
        )
        operators += [
            on(
                "scaled_dot_product_attention_forward",
                lambda d, causal=causal: args(*heads(d), is_causal=causal),
                lambda q, k, v, is_causal: (
                    F.scaled_dot_product_attention(q, k, v, is_causal=is_causal),
                ),
            ),
            on(
                "flash_attention_forward",
                lambda d, causal=causal: args(*rows(d), None, None, ROWS, ROWS, 0.0, causal, False),
                rows_attention,
            ),
        ]
    return operators


def rows_attention(q: Any, k: Any, v: Any, *rest: Any) -> Any:
    """Attention of tensors that hold the heads of a row side by side."""
    *_, is_causal, _ = rest
    swapped = (value.transpose(1, 2) for value in (q, k, v))
    return (F.scaled_dot_product_attention(*swapped, is_causal=is_causal).transpose(1, 2),)
