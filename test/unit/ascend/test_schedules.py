"""Passes that schedule staged IR: hand-written GEMMs through them, on the emulated AI Core.

All checks are on: races, flags left over, memory that nobody wrote.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache

import pytest
import torch

from flagc.ir.module import Module
from flagc.ir.staged.verify import find_problem
from flagc.passes.ascend.insert_sync import InsertSync
from flagc.passes.ascend.multi_buffer import MultiBuffer
from flagc.passes.ascend.pack_k import PackK
from flagc.passes.ascend.persistent_blocks import PersistentBlocks
from flagc.passes.ascend.plan_memory import PlanMemory
from flagc.pipeline.context import PassContext
from flagc.pipeline.diagnostics import Findings
from flagc.pipeline.passes import Pass
from support.comparing import assert_rounded, product_error
from support.staged_gemm import StagedGemm
from support.staged_running import CHIP, check, compiled, values

NEEDED = (PlanMemory(), InsertSync())


@dataclass(frozen=True)
class Scheduled(StagedGemm):
    """A GEMM that passes place in memory and order.

    `replaced` holds what to write otherwise in the module's text.
    """

    addresses: bool = field(default=False, init=False)
    flags: bool = field(default=False, init=False)
    passes: tuple[Pass, ...] = NEEDED
    replaced: tuple[tuple[str, str], ...] = ()

    def text(self) -> str:
        """Return the module after the passes."""
        text = super().text()
        for old, new in self.replaced:
            assert old in text
            text = text.replace(old, new)
        return _transformed(text, self.passes)


@cache
def _transformed(text: str, passes: tuple[Pass, ...]) -> str:
    module = Module.parse(text, "staged")
    for instance in passes:
        context = PassContext(module, instance.name, "staged", CHIP, {}, Findings())
        with module.context:
            instance.run(module, context)
        assert find_problem(module) is None
    return module.text(debug=False)


SCHEDULES = {
    "least": NEEDED,
    "buffers": (MultiBuffer(l1=3, l0=2), *NEEDED),
    "packs": (PackK(steps=2), MultiBuffer(), *NEEDED),
    "packs of A and B": (PackK(steps_a=4, steps_b=2), MultiBuffer(l1=3), *NEEDED),
    "packs of B": (PackK(steps_a=1, steps_b=3), *NEEDED),
    "blocks": (PersistentBlocks(cores=3, group_m=2), MultiBuffer(), *NEEDED),
    "all": (PackK(), PersistentBlocks(cores=2), MultiBuffer(l1=2), *NEEDED),
}
# M, N, K: ends inside of packs, packs that end with the loop, one step, several blocks.
SHAPES = [(1, 1, 1), (50, 101, 300), (64, 64, 256), (129, 150, 130)]


@pytest.mark.parametrize("order", ["NN", "TT"])
@pytest.mark.parametrize("name", SCHEDULES)
def test_products(name: str, order: str) -> None:
    case = Scheduled("f16", "f16", order, passes=SCHEDULES[name])
    for shape in SHAPES:
        check(case, *shape, pad=shape[0] % 3)


@pytest.mark.parametrize(
    "case",
    [
        Scheduled("f32", "f32", "NT", passes=SCHEDULES["all"]),
        Scheduled("bf16", "f32", "TN", bias="f32", relu=True, passes=SCHEDULES["packs of A and B"]),
        Scheduled("i8", "i32", "NN", bias="i32", passes=SCHEDULES["all"]),
        Scheduled("f16", "f32", atomic=True, passes=SCHEDULES["blocks"]),
    ],
    ids=lambda case: f"{case.element}-{case.order}",
)
def test_other_products(case: Scheduled) -> None:
    for shape in SHAPES[1:]:
        check(case, *shape)


LOOP = '"scf.for"(%zero, %K, %bk) ({\n    ^bb1(%start: i32):'
# A loop that counts blocks of K instead of K itself.
COUNTING = (
    LOOP,
    """%one1 = "arith.constant"() <{value = 1 : i32}> : () -> i32
    %most = "arith.addi"(%K, %bk) : (i32, i32) -> i32
    %last = "arith.subi"(%most, %one1) : (i32, i32) -> i32
    %blocks = "arith.divsi"(%last, %bk) : (i32, i32) -> i32
    "scf.for"(%zero, %blocks, %one1) ({
    ^bb1(%number: i32):
      %start = "arith.muli"(%number, %bk) : (i32, i32) -> i32""",
)
# Tiles without a mask along K: K is whole blocks.
UNMASKED = (
    ("%saw, %m, %k, %ta)", "%saw, %m, %bk, %ta)"),
    ("%sbw, %k, %n, %tb)", "%sbw, %bk, %n, %tb)"),
)


@pytest.mark.parametrize("replaced", [(COUNTING,), UNMASKED, (COUNTING, *UNMASKED)])
@pytest.mark.parametrize("name", ["packs", "packs of A and B", "packs of B"])
def test_other_loops(name: str, replaced: tuple[tuple[str, str], ...]) -> None:
    case = Scheduled(passes=SCHEDULES[name], replaced=replaced)
    assert moves(case, 64 * 4) < 8
    for k in (64, 192, 320):
        check(case, 50, 101, k)


@pytest.mark.parametrize("first", [64, 70])
def test_a_loop_that_starts_later(first: int) -> None:
    """As with split K: a block adds up from `first` to `first` + 200."""
    start = f'%begin = "arith.constant"() <{{value = {first} : i32}}> : () -> i32\n    '
    bounds = '%end = "arith.addi"(%begin, %part) : (i32, i32) -> i32\n    '
    part = '%part = "arith.constant"() <{value = 192 : i32}> : () -> i32\n    '
    replaced = (
        ('"scf.for"(%zero, %K, %bk)', start + part + bounds + '"scf.for"(%begin, %end, %bk)'),
        ("(%so_far, %zero)", "(%so_far, %begin)"),
    )
    case = Scheduled(out="f32", passes=SCHEDULES["packs of A and B"], replaced=replaced)
    a, b = values("f16", 50, 500), values("f16", 500, 64)
    c = torch.empty(50, 64)
    compiled(case.text()).run((1, 1), [a, b, c, 50, 64, 500, 500, 64, 64])
    a, b = a[:, first : first + 192], b[first : first + 192]
    assert_rounded(c, a.double() @ b.double(), product_error(a, b))


def moves(case: Scheduled, k: int) -> int:
    """Count the moves from global memory that one block makes."""
    report = check(case, 64, 64, k, trace=True)
    return len([record for record in report.trace if "ND2NZ" in record.name])


def test_packs_move_less_often() -> None:
    assert moves(Scheduled(), 512) == 16
    assert moves(Scheduled(passes=SCHEDULES["packs"]), 512) == 8
    assert moves(Scheduled(passes=(PackK(steps_a=8, steps_b=2), *NEEDED)), 512) == 1 + 4
    assert moves(Scheduled(passes=(PackK(steps=4), *NEEDED)), 300) == 4


def test_as_many_blocks_as_cores() -> None:
    report = check(Scheduled(passes=SCHEDULES["blocks"]), 200, 200, 70, trace=True)
    assert {record.block for record in report.trace} == {0, 1, 2}
