"""Tolerances that hold for any input, because they follow from the computation; guarded outputs.

A result may differ from the exact value by half a unit in its last place (the final rounding) plus
what fp32 arithmetic before it can lose. fp32 sums of n terms lose at most n * 2**-24 times the sum
of the terms' magnitudes; rounding errors of random terms cancel, so that max(8, sqrt(n)) in place
of n is more than ten standard deviations for random inputs and a proof up to eight terms.
"""

from __future__ import annotations

import torch

ROUND = 2.0**-24  # half a unit in the last place of fp32, relative
GUARD = 97  # elements before and after an output that nothing may touch


def sum_error(terms: int) -> float:
    """Error of an fp32 sum relative to the sum of the magnitudes of its `terms`."""
    return ROUND * max(8.0, terms**0.5)


def product_error(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """What fp32 accumulation can lose in each element of a @ b."""
    return sum_error(a.shape[-1]) * (a.double().abs() @ b.double().abs())


def unit(values: torch.Tensor) -> torch.Tensor:
    """The distance to the next larger magnitude in the dtype of `values`, as float64."""
    size = values.abs()
    return torch.nextafter(size, torch.full_like(size, torch.inf)).double() - size.double()


def assert_rounded(
    found: torch.Tensor, exact: torch.Tensor, lost: torch.Tensor | float = 0.0
) -> None:
    """`found` is `exact` (float64), give or take `lost`, rounded to its dtype.

    Integers must equal. Infinities and NaNs must be where `exact`, rounded, has them.
    """
    rounded = exact.to(found.dtype)
    if not found.is_floating_point():
        wrong = found != rounded
        allowed = torch.zeros(())
    else:
        allowed = torch.maximum(unit(rounded), unit(found)) / 2 + lost
        allowed = torch.where(rounded.isfinite() & found.isfinite(), allowed, 0.0)
        error = (found.double() - exact.double()).abs()
        same = (found == rounded) | (found.isnan() & rounded.isnan())
        wrong = ~(same | (error <= allowed))
    if bool(wrong.any()):
        at = tuple(wrong.nonzero()[0].tolist())
        limit = f"{float(allowed.expand(wrong.shape)[at]):.3g}"
        raise AssertionError(
            f"{int(wrong.sum())} of {wrong.numel()} wrong, first at {at}: "
            f"found {found[at].item()}, exact {exact[at].item()}, allowed difference {limit}"
        )


def guarded(
    *shape: int, dtype: torch.dtype = torch.float32, pad: int = 0
) -> tuple[torch.Tensor, torch.Tensor]:
    """A larger tensor filled with NaN (integers: 77), and one of `shape` in its middle.

    Between two rows lie `pad` further elements.
    """
    row = shape[-1] + pad
    size = torch.Size(shape[:-1]).numel() * row
    storage = torch.full((size + 2 * GUARD,), _fill(dtype), dtype=dtype)
    inside = storage[GUARD : GUARD + size].view(*shape[:-1], row)
    return storage, inside[..., : shape[-1]]


def untouched(storage: torch.Tensor, inside: torch.Tensor) -> bool:
    """All bytes that `guarded` made, but for those of `inside`, are as they were."""
    outside = torch.ones(storage.shape, dtype=torch.bool)
    outside.as_strided(inside.shape, inside.stride(), inside.storage_offset()).fill_(False)
    return unwritten(storage[outside])


def unwritten(values: torch.Tensor) -> bool:
    """Whether a list of elements consists of the bytes that `guarded` fills in."""
    filled = torch.full(values.shape, _fill(values.dtype), dtype=values.dtype)
    return torch.equal(values.clone().view(torch.uint8), filled.view(torch.uint8))


def _fill(dtype: torch.dtype) -> float | int:
    return float("nan") if dtype.is_floating_point else 77
