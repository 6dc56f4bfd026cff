"""How far an output may be from a float64 reference, from its type and how it came about.

The bound of one element is

    own * |expected| + shared * max(|expected|, rms of the output)

with, u(t) being the unit roundoff of type t (half a unit in the last place, relative):

    own    = 2 u(output)
    shared = u(fp32) * (FUNCTIONS + CONFIDENCE * sqrt(terms)) + 2 u(t) for each narrow rounding
             + 2 u(output) * min(n, CONFIDENCE / 2 * sqrt(n)) for n atomic additions

* own: the result is rounded to the output's type once; the factor 2 is for results close to the
  middle of two values, which an error of the shared part may push to the other one.
* sqrt(terms): the rounding errors of a sum of n terms grow like sqrt(n) u rather than n u when they
  are independent (Higham & Mary, "A New Approach to Probabilistic Rounding Error Analysis", SIAM J.
  Sci. Comput. 41 (2019), theorem 2.4: with probability 1 - 2 n exp(-l^2/2) the error is below
  l sqrt(n) u times the sum of magnitudes, here that of the result or of the whole output). l is
  CONFIDENCE = 8: one failure in 10^13 sums of 10^4 terms. Sums are formed in fp32.
* FUNCTIONS: exponentials, divisions and their arguments, each a few units, some of them of numbers
  larger than the result.
* narrow roundings: lines of the kernel that compute in fp16 or bf16, or round a dot's operand to
  it, as the interpreter saw them; a line in a loop counts once, so that an accumulator which is
  rounded in each step stays an error. Casts that nothing is computed from do not count.
* atomic additions: each rounds what it adds and the sum so far to the output's type. The sum so far
  may be larger than the result, hence the part in `shared`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import torch

from flagc.check.evidence import Reference
from flagc.check.shadow import FLOATS

CONFIDENCE = 8.0
FUNCTIONS = 256.0
# Terms of sums where nobody could count them: the interpreter cannot run the kernel.
UNKNOWN_TERMS = 65536

# Unit roundoffs: 2^-(mantissa bits + 1).
ROUNDOFF = {
    torch.float64: 2.0**-53,
    torch.float32: 2.0**-24,
    torch.float16: 2.0**-11,
    torch.bfloat16: 2.0**-8,
    torch.float8_e5m2: 2.0**-3,
    torch.float8_e5m2fnuz: 2.0**-3,
    torch.float8_e4m3fn: 2.0**-4,
    torch.float8_e4m3fnuz: 2.0**-4,
}


@dataclass(frozen=True)
class Bound:
    """The bound's two factors, and where they come from."""

    own: float
    shared: float
    why: str

    def __str__(self) -> str:
        return self.why


def given(tolerance: float) -> Bound:
    """Return the bound that `--tolerance` stands for."""
    return Bound(0.0, tolerance, f"{tolerance:g} (--tolerance)")


def bound(
    dtype: torch.dtype,
    *,
    terms: int = UNKNOWN_TERMS,
    additions: int = 0,
    roundings: Mapping[str, int] | None = None,
) -> Bound:
    """Return the bound of an output of type `dtype`; integers are exact.

    Args:
        terms: the longest sum in the output's elements.
        additions: atomic additions to one element.
        roundings: lines that round to a narrow type, by Triton's name of it.
    """
    if not dtype.is_floating_point:
        return Bound(0.0, 0.0, "integers are exact")
    unit = ROUNDOFF[dtype]
    work = min(ROUNDOFF[torch.float32], unit)  # fp16 kernels sum in fp32, fp64 ones in fp64
    own = 2 * unit
    shared = work * (FUNCTIONS + CONFIDENCE * math.sqrt(terms))
    name = str(dtype).removeprefix("torch.")
    why = f"{own:.2g} of the element ({name})"
    why += f" + {shared:.2g} of its output's size (sums of {terms} terms)"
    if additions:
        growth = min(additions, CONFIDENCE / 2 * math.sqrt(additions))
        shared += 2 * unit * growth
        why += f" + {2 * unit * growth:.2g} ({additions} atomic additions, each rounded to {name})"
    for narrow_type, lines in (roundings or {}).items():
        narrow = 2 * ROUNDOFF[FLOATS[narrow_type]] * lines
        shared += narrow
        plural = "line rounds" if lines == 1 else "lines round"
        why += f" + {narrow:.2g} ({lines} {plural} to {narrow_type})"
    return Bound(own, shared, why)


def bound_by(reference: Reference, name: str, dtype: torch.dtype) -> Bound:
    """Return the bound of output `name` by what the interpreter saw."""
    evidence = reference.outputs[name]
    return bound(
        dtype,
        terms=max(1, evidence.terms),
        additions=evidence.additions,
        roundings=reference.roundings,
    )
