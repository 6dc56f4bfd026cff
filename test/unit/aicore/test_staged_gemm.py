"""GEMM through flagc's own lowering, on the emulated AI Core with all of its checks."""

from __future__ import annotations

import pytest
import torch

from support.emulating import DTYPES, Lowering
from support.gemm_cases import Gemm, random_values

# M, N, K
SHAPES = [
    (1, 1, 1),
    (7, 33, 4096),
    (33, 700, 17),
    (129, 65, 130),
    (200, 100, 300),
    (512, 512, 512),
    pytest.param((1000, 1001, 999), marks=pytest.mark.slow),
]
ORDERS = ["NN", "TN", "NT", "TT"]
KINDS = [("fp16", "fp16"), ("bf16", "bf16"), ("fp32", "fp32"), ("i8", "i32")]
OURS = Lowering("flagc")


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("kinds", KINDS, ids=lambda kinds: kinds[0])
def test_products(kinds: tuple[str, str], order: str, shape: tuple[int, int, int]) -> None:
    Gemm(*kinds, order, how=OURS).check(*shape)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("kinds", KINDS, ids=lambda kinds: kinds[0])
def test_rows_that_lie_apart(kinds: tuple[str, str], order: str) -> None:
    Gemm(*kinds, order, how=OURS).check(70, 95, 83, pad=13)


@pytest.mark.parametrize("tile", [(256, 256, 64), (16, 256, 256), (256, 16, 32), (128, 256, 16)])
def test_tiles(tile: tuple[int, int, int]) -> None:
    """256x256 does not fit L0C; the others are at the ends of what Triton takes."""
    gemm = Gemm("fp16", "fp16", "NT", tile, how=OURS)
    for shape in [(1, 300, 17), (257, 255, 130), (300, 300, 300)]:
        gemm.check(*shape)


@pytest.mark.parametrize("epilogue", ["bias", "bias+relu"])
@pytest.mark.parametrize("kind", ["fp16", "fp32"])
def test_epilogues_of_the_fixpipe(kind: str, epilogue: str) -> None:
    gemm = Gemm(kind, kind, epilogue=epilogue, tile=(64, 128, 64), how=OURS)
    for shape in [(1, 1, 1), (33, 17, 70), (129, 65, 130), (200, 100, 300)]:
        gemm.check(*shape)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("kinds", [*KINDS, ("fp16", "fp32")], ids="-".join)
def test_numbers_are_those_of_the_vendors_pipeline(kinds: tuple[str, str], order: str) -> None:
    """Both add products in the order of K, whatever the parts in which they load them."""
    m, n, k = 100, 90, 300
    kind, out = kinds
    a, b = random_values(kind, m, k), random_values(kind, k, n)
    results = []
    for pipeline in ("vendor", "flagc"):
        c = torch.empty(m, n, dtype=DTYPES[out])
        Gemm(kind, out, order, (64, 64, 64), how=Lowering(pipeline)).run(a, b, c)
        results.append(c)
    assert torch.equal(*results)
