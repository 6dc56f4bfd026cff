"""Specialisations of the GEMM template, run on the emulated AI Core against float64."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
import triton.language as tl

from flagc.aicore import EmulatedKernel
from support import templates
from support.comparing import ROUND, assert_rounded, guarded, product_error, untouched
from support.emulating import DTYPES, VENDOR, Lowering, emulated


@dataclass(frozen=True)
class Gemm:
    """One way to compile the template; `order` has T for a tensor that is stored transposed."""

    kind: str
    out: str
    order: str = "NN"
    tile: tuple[int, int, int] = (64, 64, 64)
    epilogue: str = "none"
    precision: str = "ieee"
    how: Lowering = VENDOR

    def kernel(self) -> EmulatedKernel:
        ones = {
            "sam" if self.order[0] == "T" else "sak": 1,
            "sbk" if self.order[1] == "T" else "sbn": 1,
            "scn": 1,
        }
        free = [name for name in ("sam", "sak", "sbk", "sbn", "scm") if name not in ones]
        types = {"a": f"*{self.kind}", "b": f"*{self.kind}", "c": f"*{self.out}"}
        types |= dict.fromkeys(["M", "N", "K", *free], "i32")
        constants: dict[str, Any] = dict(
            zip(("BLOCK_M", "BLOCK_N", "BLOCK_K"), self.tile, strict=True)
        )
        constants |= {**ones, "EPILOGUE": self.epilogue, "PRECISION": self.precision}
        constants["SUM"] = tl.int32 if self.kind == "i8" else tl.float32
        for name in ("bias", "residual"):
            if name in self.epilogue:
                types[name] = f"*{self.out}"
            else:
                constants[name] = None
        return emulated(templates.gemm, types, constants, how=self.how)

    def run(
        self,
        a: torch.Tensor,
        b: torch.Tensor,
        c: torch.Tensor,
        *more: torch.Tensor,
        **options: Any,
    ) -> None:
        """c = epilogue(a @ b); `more` is the bias, or the residual, which must lie as c does."""
        (m, k), n = a.shape, b.shape[1]
        left = self._stored(a, transposed=self.order[0] == "T")
        right = self._stored(b, transposed=self.order[1] == "T")
        strides = [left.stride(0), right.stride(0), c.stride(0)]
        grid = (-(-m // self.tile[0]), -(-n // self.tile[1]))
        self.kernel().run(grid, [left, right, c, *more, m, n, k, *strides], **options)

    def check(self, m: int, n: int, k: int, *, pad: int = 0) -> None:
        """Random operands of these sizes, rows `pad` elements apart."""
        a, b = random_values(self.kind, m, k), random_values(self.kind, k, n)
        storage, c = guarded(m, n, dtype=DTYPES[self.out], pad=pad)
        more = []
        if "bias" in self.epilogue:
            more = [random_values(self.out, n)]
        elif self.epilogue == "residual":
            more = [_padded(random_values(self.out, m, n), pad)]
        self.run(_padded(a, pad), _padded(b, pad), c, *more)
        exact, lost = self._reference(a, b, *more)
        assert untouched(storage, c)
        assert_rounded(c, exact, lost)

    def _stored(self, matrix: torch.Tensor, *, transposed: bool) -> torch.Tensor:
        if not transposed:
            return matrix
        pad = matrix.stride(0) - matrix.shape[1]
        return _padded(matrix.t().contiguous(), pad)

    def _reference(
        self, a: torch.Tensor, b: torch.Tensor, *more: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor | float]:
        """The exact result, and what fp32 arithmetic before its rounding may lose."""
        exact = a.double() @ b.double()
        if self.kind == "i8":
            return exact, 0.0
        lost = product_error(a, b)
        if more:
            exact = exact + more[0].double()
            lost = lost + ROUND * exact.abs()
        if self.epilogue == "bias+relu":
            exact = exact.relu()
        elif self.epilogue == "gelu":
            # Its slope is below 1.13. 1 + erf cancels for negative numbers: eight roundings of 1.
            lost = 1.13 * lost + 8 * ROUND * exact.abs()
            exact = torch.nn.functional.gelu(exact)
        elif self.epilogue == "scale":
            exact, lost = exact / 2, lost / 2
        return exact, lost


def random_values(kind: str, *shape: int) -> torch.Tensor:
    """Normal numbers, or all the values of a small integer."""
    if kind.startswith("i"):
        return torch.randint(-128, 128, shape).to(DTYPES[kind])
    return torch.randn(shape).to(DTYPES[kind])


def _padded(values: torch.Tensor, pad: int) -> torch.Tensor:
    """The same matrix with something between its rows that must not count."""
    inside = guarded(*values.shape, dtype=values.dtype, pad=pad)[1]
    return inside.copy_(values)
