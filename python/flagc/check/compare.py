"""Compare a launch's outputs with what they should be, and say where and how they differ."""

from __future__ import annotations

from typing import Any

import torch

from flagc.check.outcome import Mismatch

# Relative tolerance by dtype. A result that was rounded once from an exact value is off by half a
# unit in the last place (2**-11 for fp16, 2**-8 for bf16, 2**-24 for fp32); kernels round a few
# times, and sums of fp32 lose some bits, so each is given four to a thousand units.
TOLERANCES = {
    torch.float16: 4 * 2.0**-11,
    torch.bfloat16: 4 * 2.0**-8,
    torch.float32: 1000 * 2.0**-24,
    torch.float64: 1000 * 2.0**-53,
}


def compare(
    argument: str, found: torch.Tensor, expected: Any, tolerance: float | None = None
) -> Mismatch | None:
    """Return how `found` differs from `expected`, or None.

    An element is right when it is within `tolerance` (default: by dtype) times the larger of its
    expected magnitude and the output's root mean square. NaN and infinities must be the same.
    Integers must be equal.
    """
    wanted = torch.as_tensor(expected).double()
    got = found.double()
    if wanted.shape != got.shape:
        raise ValueError(
            f"the reference of '{argument}' has shape {tuple(wanted.shape)}, the output "
            f"{tuple(got.shape)}"
        )
    limit = TOLERANCES.get(found.dtype, 0.0) if tolerance is None else tolerance
    finite = torch.isfinite(wanted)
    scale = wanted[finite].square().mean().sqrt() if finite.any() else torch.tensor(0.0)
    allowed = limit * torch.maximum(wanted.abs(), scale)
    error = (got - wanted).abs()
    same = (got == wanted) | (got.isnan() & wanted.isnan())
    wrong = ~(same | (finite & (error <= allowed)))
    if not wrong.any():
        return None
    places = wrong.nonzero() if wrong.dim() else torch.zeros((1, 0), dtype=torch.long)
    first = tuple(int(index) for index in places[0])
    measured = error[wrong & torch.isfinite(error)]
    return Mismatch(
        argument,
        int(wrong.sum()),
        wrong.numel(),
        first,
        float(got[first]),
        float(wanted[first]),
        tuple(int(index) for index in places.min(0).values) if first else (),
        tuple(int(index) for index in places.max(0).values) if first else (),
        float(measured.max()) if measured.numel() else float("nan"),
        tuple(found.shape),
    )
