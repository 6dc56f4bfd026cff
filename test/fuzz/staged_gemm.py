"""GEMMs through flagc's own lowering, with its passes on and off and with random options.

Sizes are 1 to 300, tiles 16 to 256, `num_stages` 1 to 5.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from fuzz.cases import Sizes, near
from fuzz.gemm import KINDS, GemmSpecialisation
from support.emulating import Lowering
from support.gemm_cases import Gemm

EPILOGUES = ["none", "none", "none", "bias", "bias+relu", "gelu", "residual", "scale"]
TILES = [16, 32, 64, 128, 256]
LARGEST = 300
OPTIONAL = ("pack-k", "persistent-blocks", "multi-buffer")


@dataclass(frozen=True)
class StagedGemmSpecialisation(GemmSpecialisation):
    """A GEMM that was compiled with `--pipeline flagc`."""

    def smaller(self) -> StagedGemmSpecialisation | None:
        found = super().smaller()
        return StagedGemmSpecialisation(found.gemm) if found is not None else None

    def sizes(self, random: np.random.Generator) -> Sizes:
        m, n, k = (near(random, step, LARGEST) for step in self.gemm.tile)
        return {"m": m, "n": n, "k": k, "pad": int(random.choice([0, 0, 1, 7, 16]))}


class StagedGemmTemplate:
    """See the module."""

    name = "staged-gemm"

    def specialise(self, random: np.random.Generator) -> StagedGemmSpecialisation:
        kind, out = KINDS[random.integers(len(KINDS))]
        m, n, k = (int(random.choice(TILES)) for _ in range(3))
        if kind == "i8":
            k = max(32, k)  # Triton asks for that
        epilogue = str(random.choice(EPILOGUES))
        if kind == "i8":
            epilogue = "none"
        order = "".join(random.choice(["N", "T"], 2))
        gemm = Gemm(kind, out, order, (m, n, k), epilogue, how=_lowering(random))
        return StagedGemmSpecialisation(gemm)


def _lowering(random: np.random.Generator) -> Lowering:
    """Leave passes out, or give them options."""
    without, passes = [], []
    for name in OPTIONAL:
        choice = random.integers(4)
        if choice == 0:
            without.append(name)
        elif choice == 1:
            passes.append(_with_options(random, name))
    if random.integers(4) == 0:
        passes.append("insert-sync{unit-flag=true}")
    how = Lowering("flagc", ",".join(passes), tuple(without))
    return replace(how, num_stages=int(random.integers(1, 6)))


def _with_options(random: np.random.Generator, name: str) -> str:
    if name == "pack-k":
        return f"pack-k{{steps={random.integers(1, 7)}}}"
    if name == "persistent-blocks":
        cores, group = random.choice([1, 3, 20]), random.choice([0, 1, 2, 3, 8])
        return f"persistent-blocks{{cores={cores} group-m={group}}}"
    l0, ub, gm = (random.integers(1, 4) for _ in range(3))
    return f"multi-buffer{{l0={l0} ub={ub} gm={gm}}}"
