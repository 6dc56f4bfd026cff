"""Products whose depth cores share, on the emulated AI Core with all checks."""

from __future__ import annotations

import pytest
import torch

from support.comparing import assert_rounded, guarded, product_error, untouched
from support.emulating import Lowering
from support.gemm_cases import Gemm, random_values

KINDS = [("fp16", "fp16"), ("bf16", "fp32"), ("fp32", "fp32"), ("i8", "i32")]
# M, N, K in tiles of 64: one element; K of one block; of fewer blocks than ways; ends inside
# fractals; K of more blocks than ways, which do not divide them; several tiles.
SHAPES = [(1, 1, 1), (7, 70, 64), (50, 101, 100), (64, 64, 192), (129, 72, 460), (7, 300, 700)]


def split(ways: int, more: str = "", **options: int) -> Lowering:
    text = " ".join(f"{name}={value}" for name, value in {"ways": ways, **options}.items())
    return Lowering(
        "flagc",
        f"stage-epilogue{{always=true}},staged@before(pack-k):split-k-on-cores{{{text}}}{more}",
    )


def check(case: Gemm, *shapes: tuple[int, int, int], pad: int = 0) -> None:
    """The kernel is split, and right."""
    assert case.kernel().facts.blocks_per_program > 1
    for shape in shapes:
        case.check(*shape, pad=pad and shape[0] % pad)


@pytest.mark.parametrize("kinds", KINDS, ids=lambda kinds: kinds[0])
@pytest.mark.parametrize("ways", [2, 5])
def test_products(kinds: tuple[str, str], ways: int) -> None:
    check(Gemm(*kinds, how=split(ways)), *SHAPES, pad=3)


@pytest.mark.parametrize("order", ["TN", "NT", "TT"])
def test_transposed(order: str) -> None:
    check(Gemm("fp16", "fp16", order, how=split(3)), *SHAPES[2:])


@pytest.mark.parametrize("epilogue", ["bias", "bias+relu", "scale", "residual", "gelu"])
def test_epilogues(epilogue: str) -> None:
    check(Gemm("fp16", "fp32", epilogue=epilogue, how=split(3)), *SHAPES)


def test_nothing_to_add() -> None:
    """Without K there is one part, of zeros."""
    storage, c = guarded(70, 130)
    Gemm("fp16", "fp32", how=split(4)).run(torch.empty(70, 0).half(), torch.empty(0, 130).half(), c)
    assert untouched(storage, c)
    assert torch.equal(c, torch.zeros(70, 130))


@pytest.mark.parametrize("options", [{"slots": 1}, {"cores": 3, "slots": 1}, {"slots": 2}])
def test_rounds(options: dict[str, int]) -> None:
    """More tiles than there is room for parts of: the barriers keep rounds apart."""
    case = Gemm("fp16", "fp16", tile=(32, 32, 32), how=split(3, **options))
    check(case, (200, 300, 150))


@pytest.mark.parametrize(
    "more",
    [
        ",pack-k{steps=3}",
        ",multi-buffer{l1=1 l0=1 l0c=1 ub=1}",
        ",multi-buffer{l1=3 l0=2 l0c=2 ub=3}",
        ",insert-sync{unit-flag=true}",
        ",skip-empty-tiles",
    ],
)
def test_with_other_passes(more: str) -> None:
    check(Gemm("fp16", "fp16", how=split(3, more)), *SHAPES[2:])


def test_the_same_each_time() -> None:
    """Bits do not depend on the number of blocks that share the parts, nor on threads."""
    a, b = random_values("fp16", 100, 700), random_values("fp16", 700, 130)
    found = []
    for options in ({}, {"cores": 3}, {"cores": 7, "slots": 1}):
        for threads in (1, 4):
            c = torch.empty(100, 130)
            Gemm("fp16", "fp32", how=split(3, **options)).run(a, b, c, threads=threads)
            found.append(c)
    assert all(torch.equal(c, found[0]) for c in found)
    assert_rounded(found[0], a.double() @ b.double(), product_error(a, b))


def test_order_of_the_sum() -> None:
    """Parts are added from the first to the last: 1 is lost beside 2**24, and then there is 0."""
    a, b = torch.zeros(16, 192), torch.zeros(192, 16)
    for part, value in enumerate((1.0, 2.0**24, -(2.0**24))):
        a[:, part * 64] = value
        b[part * 64] = 1.0
    case, c = Gemm("fp32", "fp32", how=split(3)), torch.empty(16, 16)
    case.run(a, b, c)
    assert torch.equal(c, torch.zeros(16, 16))
    # With 1 in the last part, it counts.
    case.run(a.roll(-64, 1), b.roll(-64, 0), c)
    assert torch.equal(c, torch.ones(16, 16))


def test_launches_more_blocks_than_the_grid_has() -> None:
    kernel = Gemm("fp16", "fp16", how=split(5)).kernel()
    assert [kernel.facts.blocks_of(grid) for grid in ((1, 1), (1, 3), (4, 2))] == [5, 15, 20]
