"""Epilogues on vector cores, through flagc's lowering, on the emulated AI Core with all checks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
import torch
import triton.language as tl

from kernels.epilogue_kernels import product
from support.comparing import assert_rounded, guarded, product_error, untouched
from support.emulating import DTYPES, OURS, Lowering, emulated
from support.error_bounds import Bounded, choose
from support.gemm_cases import Gemm, random_values

ALPHA = 0.375
# One element; ends inside fractals; ends on them; several blocks each way.
SHAPES = [(1, 1, 1), (50, 101, 37), (64, 64, 64), (129, 272, 136), (300, 7, 33)]
_SIDES = ("d", "x", "row", "column")
_EXP = 2.0  # half units that an exponential is allowed


def _sigmoid(x: Bounded) -> Bounded:
    return 1.0 / (1.0 + (-x).apply(torch.exp, _EXP))


@dataclass(frozen=True)
class Epilogue:
    """One kind: which arguments it takes, and what it is."""

    arguments: str
    function: Callable[..., Bounded]
    stored: Callable[..., Bounded] | None = field(default=None)


EPILOGUES = {
    "alpha": Epilogue("alpha", lambda s: s * ALPHA),
    "silu": Epilogue("", lambda s: s * _sigmoid(s)),
    "swiglu": Epilogue("x", lambda s, x: s * _sigmoid(s) * x),
    "rows": Epilogue("row column", lambda s, row, column: s * column + row),
    "dequantise": Epilogue("row column", lambda s, row, column: s * (column * row)),
    "leaky": Epilogue("", lambda s: choose(s, 0.0, s, s * 0.01)),
    "halves": Epilogue("x", lambda s, x: ((s.to(torch.float16) * 0.5) + x).to(torch.float16)),
    "clamp": Epilogue(
        "alpha", lambda s: choose(Bounded.of(ALPHA) - s, 0.0, choose(s, -1.0, s, -1.0), ALPHA)
    ),
    # See test_rational_functions.py.
    "tanh": Epilogue("", lambda s: (s * 0.125).apply(torch.tanh, 8.0)),
    "roots": Epilogue(
        "",
        lambda s: s.abs().apply(_root, 1.0) - (s.abs() + 1.0).apply(lambda x: 1 / x.sqrt(), 3.0),
    ),
    "both": Epilogue("d", lambda s: s + 1.0, lambda s: s * 2.0),
    "in-place": Epilogue("", lambda s, c: s * 0.5 + c),
    "quotient": Epilogue("", lambda s: s / (1.0 + s.abs())),
    "power": Epilogue("column", lambda s, column: _exp2(column - s.abs())),
    "bands": Epilogue("", lambda s: choose(s, 1.0, choose(s, 2.0, s, 0.0), _above(s))),
}


def _root(x: torch.Tensor) -> torch.Tensor:
    return x.clamp(min=0).sqrt()


def _exp2(x: Bounded) -> Bounded:
    return (x * float(torch.log(torch.tensor(2.0, dtype=torch.float64)))).apply(torch.exp, _EXP)


def _above(s: Bounded) -> Bounded:
    """s above -1, else 0."""
    return choose(s, -1.0, s, 0.0)


@dataclass(frozen=True)
class Case:
    kind: str
    element: str
    out: str
    side: str = "fp32"
    tile: tuple[int, int, int] = (64, 64, 64)

    def kernel(self, how: Lowering = OURS) -> Any:
        epilogue = EPILOGUES[self.kind]
        types = {"a": f"*{self.element}", "b": f"*{self.element}", "c": f"*{self.out}"}
        types |= dict.fromkeys("MNK", "i32") | {"alpha": "fp32"}
        constants: dict[str, Any] = dict(
            zip(("BLOCK_M", "BLOCK_N", "BLOCK_K"), self.tile, strict=True)
        )
        constants |= {"KIND": self.kind, "SUM": tl.int32 if self.element == "i8" else tl.float32}
        kinds = {"d": self.out, "x": self.side, "row": self.side, "column": self.side}
        if self.kind == "swiglu":
            kinds["x"] = self.element
        for name, kind in kinds.items():
            if name in epilogue.arguments.split():
                types[name] = f"*{kind}"
            else:
                constants[name] = None
        return emulated(product, types, constants, how=how)

    def check(self, m: int, n: int, k: int, how: Lowering = OURS) -> Any:
        epilogue = EPILOGUES[self.kind]
        a, b = random_values(self.element, m, k), random_values(self.element, k, n)
        storage, c = guarded(m, n, dtype=DTYPES[self.out])
        sides = {"row": random_values(self.side, n), "column": random_values(self.side, m)}
        sides["x"] = random_values(self.side, m, n)
        if self.kind == "swiglu":
            sides["x"] = random_values(self.element, k, n)
        guard, sides["d"] = guarded(m, n, dtype=DTYPES[self.out])
        if self.kind == "in-place":
            c.copy_(random_values(self.out, m, n))
        before = c.clone()
        given = [sides[name] for name in _SIDES if name in epilogue.arguments.split()]
        grid = (-(-m // self.tile[0]), -(-n // self.tile[1]))
        report = self.kernel(how).run(grid, [a, b, c, *given, ALPHA, m, n, k])
        sums = _sum(a, b)
        values = self._values(epilogue, sides, a, before)
        exact = epilogue.function(sums, *values)
        assert untouched(storage, c)
        assert untouched(guard, sides["d"]) or not epilogue.stored
        assert_rounded(c, exact.exact, exact.lost)
        if epilogue.stored is not None:
            also = epilogue.stored(sums)
            assert_rounded(sides["d"], also.exact, also.lost)
        return report

    def _values(
        self, epilogue: Epilogue, sides: dict[str, Any], a: torch.Tensor, before: torch.Tensor
    ) -> list[Bounded]:
        if self.kind == "in-place":
            return [Bounded.of(before.double())]
        if self.kind == "swiglu":
            return [_sum(a, sides["x"])]
        shaped = {"x": sides["x"], "row": sides["row"][None, :], "column": sides["column"][:, None]}
        return [
            Bounded.of(value.double()) for name, value in shaped.items()
            if name in epilogue.arguments.split()
        ]  # fmt: skip


def _sum(a: torch.Tensor, b: torch.Tensor) -> Bounded:
    exact = a.double() @ b.double()
    if not a.is_floating_point():
        # Exact, and then a float.
        return Bounded.of(exact).rounded()
    return Bounded(exact, product_error(a, b))


CASES = [
    *(Case("alpha", "fp16", "fp16"), Case("alpha", "fp32", "fp32", "fp32", (32, 16, 32))),
    *(Case("silu", "bf16", "bf16"), Case("silu", "fp16", "fp32", "fp32", (16, 256, 64))),
    *(Case("swiglu", "fp16", "fp16"), Case("rows", "fp16", "bf16", "fp16", (128, 128, 32))),
    *(Case("rows", "bf16", "fp32", "fp32", (32, 32, 32)), Case("rows", "fp32", "fp32", "bf16")),
    Case("dequantise", "i8", "fp32", "fp16"),
    *(Case("leaky", "fp16", "fp16", "fp32", (16, 16, 16)), Case("halves", "fp16", "fp16", "fp16")),
    *(Case("clamp", "fp16", "fp32"), Case("roots", "bf16", "fp32")),
    *(Case("both", "fp16", "fp32"), Case("in-place", "fp16", "bf16", "fp32", (128, 64, 64))),
    *(Case("quotient", "fp16", "fp32"), Case("power", "fp16", "fp16", "fp32")),
    *(Case("bands", "fp16", "fp32"), Case("tanh", "fp16", "fp32")),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.kind} {case.element} {case.out}")
def test_epilogues(case: Case) -> None:
    for shape in SHAPES:
        case.check(*shape)


@pytest.mark.parametrize("epilogue", ["gelu", "residual", "scale", "bias+relu"])
def test_epilogues_of_the_template(epilogue: str) -> None:
    """The Cube takes no bias of bf16. Rows are further apart than they are long."""
    for m, n, k in ((50, 101, 37), (129, 72, 136)):
        Gemm("bf16", "bf16", epilogue=epilogue, how=OURS).check(m, n, k, pad=3)


def test_integers_stay_integers() -> None:
    types = {"a": "*i8", "b": "*i8", "c": "*i32", "row": "*i32", "alpha": "fp32"}
    types |= dict.fromkeys("MNK", "i32")
    constants: dict[str, Any] = {"BLOCK_M": 32, "BLOCK_N": 64, "BLOCK_K": 32, "KIND": "int bias"}
    constants |= {"SUM": tl.int32, "d": None, "x": None, "column": None}
    kernel = emulated(product, types, constants, how=OURS)
    a, b, row = random_values("i8", 50, 70), random_values("i8", 70, 90), random_values("i32", 90)
    c = torch.zeros(50, 90, dtype=torch.int32)
    kernel.run((2, 2), [a, b, c, row, ALPHA, 50, 90, 70])
    assert torch.equal(c, (a.int() @ b.int()) + row * 3)


def test_atomic_additions() -> None:
    types = {"a": "*fp16", "b": "*fp16", "c": "*fp32", "alpha": "fp32"}
    types |= dict.fromkeys("MNK", "i32")
    constants: dict[str, Any] = {"BLOCK_M": 32, "BLOCK_N": 64, "BLOCK_K": 32, "KIND": "add"}
    constants |= {"SUM": tl.float32} | dict.fromkeys(("d", "x", "row", "column"))
    kernel = emulated(product, types, constants, how=OURS)
    a, b = random_values("fp16", 50, 70), random_values("fp16", 70, 90)
    storage, c = guarded(50, 90)
    before = c.copy_(torch.randn(50, 90)).clone()
    kernel.run((2, 2), [a, b, c, ALPHA, 50, 90, 70])
    exact = _sum(a, b) * 0.5 + before.double()
    assert untouched(storage, c)
    assert_rounded(c, exact.exact, exact.lost)


@pytest.mark.parametrize(("kind", "expected"), [("clamp", -1.0), ("leaky", float("nan"))])
def test_what_is_no_number(kind: str, expected: float) -> None:
    """tl.maximum gives the other one; a comparison is false, and 0.01 * NaN is taken."""
    a, b = random_values("fp16", 40, 32), random_values("fp16", 32, 64)
    a[7] = float("nan")
    c = torch.zeros(40, 64)
    Case(kind, "fp16", "fp32").kernel().run((1, 1), [a, b, c, ALPHA, 40, 64, 32])
    torch.testing.assert_close(c[7], torch.full((64,), expected), rtol=0, atol=0, equal_nan=True)
    assert not c[torch.arange(40) != 7].isnan().any()


def test_tiles_take_turns_in_the_workspace() -> None:
    """Both cores go on with the next tile: 60 tiles on 20 blocks, with two slots each."""
    report = Case("alpha", "fp16", "fp16").check(64 * 6, 64 * 10, 64)
    assert report.blocks == 20


@pytest.mark.parametrize(
    "how",
    [
        Lowering("flagc", without=("persistent-blocks",)),
        Lowering("flagc", without=("multi-buffer", "pack-k")),
        Lowering("flagc", passes="stage-epilogue{rows=16},multi-buffer{ub=1 gm=1}"),
        Lowering("flagc", passes="persistent-blocks{cores=2},multi-buffer{gm=5}"),
        Lowering("flagc", passes="insert-sync{unit-flag=true}"),
    ],
    ids=str,
)
def test_other_schedules(how: Lowering) -> None:
    Case("rows", "fp16", "fp16").check(150, 333, 70, how)


def test_auto_takes_vector_cores() -> None:
    assert Case("silu", "fp16", "fp16").kernel(Lowering("auto")).facts.task_type == 32
    names = Case("silu", "fp16", "fp16").kernel(Lowering("auto")).facts.entries
    assert names == {"aic": "product_mix_aic", "aiv": "product_mix_aiv"}
