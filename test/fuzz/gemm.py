"""GEMMs with random tiles, orders, dtypes and epilogues."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from fuzz.cases import Sizes, near
from support.gemm_cases import Gemm

KINDS = [
    ("fp16", "fp16"),
    ("fp16", "fp32"),
    ("bf16", "bf16"),
    ("bf16", "fp32"),
    ("fp32", "fp32"),
    ("i8", "i32"),
]
EPILOGUES = ["none", "none", "bias", "bias+relu", "gelu", "residual", "scale"]
TILES = [16, 32, 64, 128]
WORK = 2**22  # multiply-accumulates of a run


@dataclass(frozen=True)
class GemmSpecialisation:
    """A compiled GEMM."""

    gemm: Gemm

    def compile(self) -> None:
        self.gemm.kernel()

    def smaller(self) -> GemmSpecialisation | None:
        m, n, k = self.gemm.tile
        if max(m, n) == TILES[0]:
            return None
        tile = (m // 2, n, k) if m >= n else (m, n // 2, k)
        return GemmSpecialisation(replace(self.gemm, tile=tile))

    def sizes(self, random: np.random.Generator) -> Sizes:
        tile_m, tile_n, tile_k = self.gemm.tile
        m, n = near(random, tile_m, 3 * tile_m), near(random, tile_n, 3 * tile_n)
        k = near(random, tile_k, max(1, min(WORK // (m * n), 24 * tile_k)))
        return {"m": m, "n": n, "k": k, "pad": int(random.choice([0, 0, 1, 7, 16]))}

    def check(self, sizes: Sizes) -> None:
        self.gemm.check(sizes["m"], sizes["n"], sizes["k"], pad=sizes["pad"])


class GemmTemplate:
    """See the module."""

    name = "gemm"

    def specialise(self, random: np.random.Generator) -> GemmSpecialisation:
        kind, out = KINDS[random.integers(len(KINDS))]
        tile = tuple(int(random.choice(TILES)) for _ in range(3))
        epilogue = "none" if kind == "i8" else str(random.choice(EPILOGUES))
        order = "".join(random.choice(["N", "T"], 2))
        if kind == "i8":
            tile = (*tile[:2], max(32, tile[2]))  # Triton asks for that
        return GemmSpecialisation(Gemm(kind, out, order, tile, epilogue))
