"""Reductions and scans with random operations, dtypes, axes, layouts and masks."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
import triton.language as tl

from fuzz.cases import Sizes, near
from support import templates
from support.comparing import assert_rounded, guarded, sum_error, untouched
from support.emulating import DTYPES, emulated
from support.gemm_cases import random_values

TYPES = {"fp32": tl.float32, "i32": tl.int32}
WIDER = {"fp16": "fp32", "bf16": "fp32", "i8": "i32", "i16": "i32"}
OPERATIONS = ["sum", "max", "min", "argmax", "argmin", "cumsum"]
MASKS = ["none", "none", "triangle", "every third", "positive"]
TILE = 8192  # elements of a tile at most, which leaves room for temporaries in UB


@dataclass(frozen=True)
class Reduction:
    """A compiled reduction; `contiguous` says along which dimension the input lies."""

    kind: str
    operation: str
    axis: int
    mask: str
    loop: bool
    tile: tuple[int, int]  # kept, along
    contiguous: str

    @property
    def wide(self) -> str:
        return WIDER.get(self.kind, self.kind)

    @property
    def out(self) -> str:
        return "i32" if self.operation.startswith("arg") else self.wide

    @property
    def neutral(self) -> float | int:
        if self.operation.endswith(("max", "min")):
            low = self.operation.endswith("max")
            if self.wide == "fp32":
                return -float("inf") if low else float("inf")
            return -128 if low else 127  # of the values that `random_values` gives
        return 0.0 if self.wide == "fp32" else 0

    def compile(self) -> None:
        self._kernel()

    def smaller(self) -> Reduction | None:
        kept, along = self.tile
        if kept == along == 1:
            return None
        tile = (kept // 2, along) if kept > 1 else (kept, along // 2)
        return replace(self, tile=tile)

    def sizes(self, random: np.random.Generator) -> Sizes:
        kept = near(random, self.tile[0], min(4 * self.tile[0], 300))
        along = near(random, self.tile[1], self.tile[1] * (3 if self.loop else 1))
        return {"kept": kept, "along": along, "pad": int(random.choice([0, 0, 1, 5]))}

    def check(self, sizes: Sizes) -> None:
        kept, along = sizes["kept"], sizes["along"]
        shape = (kept, along) if self.contiguous == "along" else (along, kept)
        x = guarded(*shape, dtype=DTYPES[self.kind], pad=sizes["pad"])[1]
        x.copy_(random_values(self.kind, *shape))
        if self.contiguous == "kept":
            x = x.t()
        result = (kept, along) if self.operation == "cumsum" else (kept,)
        storage, out = guarded(*result, dtype=DTYPES[self.out])
        stride = x.stride(0) if self.contiguous == "along" else x.stride(1)
        self._kernel().run((-(-kept // self.tile[0]),), [x, out, kept, along, stride])
        assert_rounded(out, *self._reference(x))
        assert untouched(storage, out)

    def _kernel(self) -> Any:
        types = {"x": f"*{self.kind}", "out": f"*{self.out}", "KEPT": "i32", "LENGTH": "i32"}
        one, free = "stride_along", "stride_kept"
        if self.contiguous == "kept":
            one, free = free, one
        constants = {
            one: 1,
            "BLOCK_KEPT": self.tile[0],
            "BLOCK": self.tile[1],
            "AXIS": self.axis,
            "OP": self.operation,
            "MASK": self.mask,
            "NEUTRAL": self.neutral,
            "TYPE": TYPES[self.wide],
            "LOOP": self.loop,
        }
        return emulated(templates.reduce, {**types, free: "i32"}, constants)

    def _reference(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor | float]:
        values = x.double()
        kept = torch.arange(x.shape[0])[:, None]
        along = torch.arange(x.shape[1])[None, :]
        seen = {
            "none": torch.ones_like(values, dtype=torch.bool),
            "triangle": along <= kept,
            "every third": (along + kept) % 3 == 0,
            "positive": values > 0,
        }[self.mask]
        values = torch.where(seen, values, self.neutral)
        if self.operation.startswith("arg"):
            find = values.numpy().argmax if self.operation == "argmax" else values.numpy().argmin
            return torch.from_numpy(find(1)), 0.0  # numpy's is the first of equal ones
        if self.operation in ("max", "min"):
            return (values.amax(1) if self.operation == "max" else values.amin(1)), 0.0
        if self.operation == "sum":
            return values.sum(1), sum_error(x.shape[1]) * values.abs().sum(1)
        return values.cumsum(1), sum_error(x.shape[1]) * values.abs().cumsum(1)


class ReductionTemplate:
    """See the module."""

    name = "reduction"

    def specialise(self, random: np.random.Generator) -> Reduction:
        operation = str(random.choice(OPERATIONS))
        kept = int(2 ** random.integers(0, 7))
        along = int(2 ** random.integers(3, 12))
        while kept * along > TILE:
            kept, along = max(1, kept // 2), along // 2
        return Reduction(
            kind=str(random.choice(["fp32", "fp16", "bf16", "i32", "i16", "i8"])),
            operation=operation,
            axis=int(random.integers(2)),
            mask=str(random.choice(MASKS)),
            loop=bool(random.integers(2)) and operation in ("sum", "max", "min"),
            tile=(kept, along),
            contiguous=str(random.choice(["along", "along", "kept"])),
        )
