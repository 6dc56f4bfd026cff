"""GEMM as the vendor and as flagc compile it, on the emulated AI Core, against float64."""

from __future__ import annotations

import aicore_kernels as own
import pytest
import torch

from flagc.errors import KernelError
from support.comparing import assert_rounded, guarded, product_error, unit, untouched
from support.emulating import DTYPES, Lowering, emulated
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
PIPELINES = ["vendor", "flagc"]
KINDS = [("fp16", "fp16"), ("bf16", "bf16"), ("fp32", "fp32"), ("i8", "i32")]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("kinds", KINDS, ids=lambda kinds: kinds[0])
@pytest.mark.parametrize("pipeline", PIPELINES)
def test_products(
    pipeline: str, kinds: tuple[str, str], order: str, shape: tuple[int, int, int]
) -> None:
    Gemm(*kinds, order, how=Lowering(pipeline)).check(*shape)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("kinds", KINDS, ids=lambda kinds: kinds[0])
@pytest.mark.parametrize("pipeline", PIPELINES)
def test_rows_that_lie_apart(pipeline: str, kinds: tuple[str, str], order: str) -> None:
    Gemm(*kinds, order, how=Lowering(pipeline)).check(70, 95, 83, pad=13)


@pytest.mark.parametrize(
    "tile", [(16, 16, 32), (256, 256, 64), (128, 256, 64), (128, 64, 256), (32, 256, 128)]
)
@pytest.mark.parametrize("kinds", KINDS, ids=lambda kinds: kinds[0])
@pytest.mark.parametrize("order", ["NN", "TT"])
def test_tiles(kinds: tuple[str, str], order: str, tile: tuple[int, int, int]) -> None:
    """Also those of which a part of K goes through L0A and L0B, or a part of the sums fits L0C."""
    case = Gemm(*kinds, order, tile, how=Lowering("flagc"))
    for shape in [(1, 1, 1), (200, 300, 100), (150, 257, 0), (33, 260, 513)]:
        case.check(*shape)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("kind", ["fp16", "fp32"])
@pytest.mark.parametrize("pipeline", PIPELINES)
def test_small_integers_are_exact_in_every_order(pipeline: str, kind: str, order: str) -> None:
    m, n, k = 70, 95, 83
    a, b = (torch.randint(-3, 4, size).to(DTYPES[kind]) for size in ((m, k), (k, n)))
    storage, c = guarded(m, n)
    Gemm(kind, "fp32", order, how=Lowering(pipeline)).run(a, b, c)
    assert torch.equal(c, a.float() @ b.float())
    assert untouched(storage, c)


@pytest.mark.parametrize("epilogue", ["bias+relu", "gelu", "residual"])
@pytest.mark.parametrize("kind", ["fp16", "bf16", "fp32"])
def test_epilogues(kind: str, epilogue: str) -> None:
    case = Gemm(kind, kind, epilogue=epilogue, tile=(64, 128, 64))
    for shape in [(1, 1, 1), (33, 17, 70), (129, 65, 130), (200, 100, 300)]:
        case.check(*shape)


@pytest.mark.parametrize("epilogue", ["bias", "bias+relu"])
@pytest.mark.parametrize("kind", ["fp16", "fp32"])
@pytest.mark.parametrize("tile", [(64, 128, 64), (16, 16, 256), (32, 256, 32)])
def test_epilogues_on_the_cube(tile: tuple[int, int, int], kind: str, epilogue: str) -> None:
    """The narrow tiles are narrower than what BT takes at once."""
    case = Gemm(kind, kind, epilogue=epilogue, tile=tile, how=Lowering("flagc"))
    for shape in [(1, 1, 1), (33, 17, 70), (129, 65, 130), (200, 100, 300), (20, 30, 0)]:
        case.check(*shape)


def test_tf32_is_computed_as_ieee() -> None:
    """The vendor's compiler knows `hf32`, Triton the name `tf32`, which the vendor's ignores."""
    Gemm("fp32", "fp32", precision="tf32").check(129, 65, 130)


def test_triton_refuses_the_vendors_hf32() -> None:
    with pytest.raises(KernelError, match="Got hf32"):
        Gemm("fp32", "fp32", precision="hf32").kernel()


@pytest.mark.parametrize("kind", ["fp16", "bf16", "fp32"])
@pytest.mark.parametrize("shape", [(1, 16, 16, 16), (2, 32, 16, 64), (4, 32, 64, 16)])
def test_dot_of_batches(kind: str, shape: tuple[int, int, int, int]) -> None:
    batch, m, n, k = shape
    constants = {"A": batch, "M": m, "N": n, "K": k}
    kernel = emulated(own.batched_dot, dict.fromkeys("abc", f"*{kind}"), constants)
    a, b = random_values(kind, batch, m, k), random_values(kind, batch, k, n)
    storage, c = guarded(batch, m, n, dtype=DTYPES[kind])
    kernel.run((1,), [a, b, c])
    assert_rounded(c, a.double() @ b.double(), product_error(a, b))
    assert untouched(storage, c)


def test_two_threads_equal_one_and_both_are_as_good_as_float32_can_be() -> None:
    """Near cancellation no fp32 sum is within a unit of fp16, nor is numpy's or torch's."""
    a, b = torch.randn(512, 512).half(), torch.randn(512, 512).half()
    results = [torch.empty(512, 512, dtype=torch.float16) for _ in range(2)]
    for threads, c in enumerate(results, start=1):
        Gemm("fp16", "fp16").run(a, b, c, threads=threads)
    assert torch.equal(results[0].view(torch.int16), results[1].view(torch.int16))
    rounded = (a.double() @ b.double()).half()
    numpy = torch.from_numpy(a.float().numpy() @ b.float().numpy()).half()
    ours, others, torchs = (
        int(((c.double() - rounded.double()).abs() > unit(rounded)).sum())
        for c in (results[0], numpy, (a.float() @ b.float()).half())
    )
    # Counts of rare events: a factor of two, and four standard deviations of the larger.
    most = max(others, torchs)
    assert ours <= 2 * most + 4 * most**0.5 + 16, f"{ours}, numpy {others}, torch {torchs}"


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("kinds", [*KINDS, ("fp16", "fp32")], ids="-".join)
def test_both_pipelines_compute_the_same_numbers(kinds: tuple[str, str], order: str) -> None:
    """Both add products in the order of K, whatever the parts in which they load them."""
    m, n, k = 100, 90, 300
    kind, out = kinds
    a, b = random_values(kind, m, k), random_values(kind, k, n)
    results = []
    for pipeline in PIPELINES:
        c = torch.empty(m, n, dtype=DTYPES[out])
        Gemm(kind, out, order, how=Lowering(pipeline)).run(a, b, c)
        results.append(c)
    assert torch.equal(*results)
