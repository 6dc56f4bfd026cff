"""Products as kernels write them, through flagc's pipeline, on the emulated AI Core.

Operands are small integers, so that sums are exact whatever their order.
"""

from __future__ import annotations

from typing import Any

import aicore_kernels as own
import pytest
import torch

from flagc.aicore import EmulatedKernel
from kernels import product_kernels as kernels
from support.comparing import guarded, untouched
from support.emulating import DTYPES, Lowering, emulated

SHAPES = [(1, 1, 1), (7, 33, 40), (35, 18, 100), (20, 40, 0), (100, 70, 65)]
BLOCK = {"BM": 32, "BN": 16, "BK": 32}
M, N = BLOCK["BM"], BLOCK["BN"]


def kernel(function: Any, pointers: str, numbers: str, **constants: Any) -> EmulatedKernel:
    """Compile with pointers, `a:fp16 b:fp16`, and integers, `M N K`."""
    named = (pointer.split(":") for pointer in pointers.split())
    types = {name: f"*{kind}" for name, kind in named}
    types |= dict.fromkeys(numbers.split(), "i32")
    return emulated(function, types, {**BLOCK, **constants}, how=Lowering("flagc"))


def whole(*shape: int) -> torch.Tensor:
    return torch.randint(-3, 4, shape).half()


def tiles(size: int, block: int) -> int:
    return -(-size // block)


def product(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return a.float() @ b.float()


@pytest.mark.parametrize("shape", SHAPES)
def test_walking_pointers(shape: tuple[int, int, int]) -> None:
    m, n, k = shape
    numbers = "M N K sa sb sc"
    compiled = kernel(kernels.walking_pointers, "a:fp16 b:fp16 c:fp16", numbers, GROUP=2)
    a, b = whole(m, k), whole(k, n)
    storage, c = guarded(m, n, dtype=torch.float16)
    compiled.run((tiles(m, M) * tiles(n, N),), [a, b, c, m, n, k, k, n, n])
    assert torch.equal(c, product(a, b).half())
    assert untouched(storage, c)


@pytest.mark.parametrize("programs", [1, 2, 7])
@pytest.mark.parametrize("shape", SHAPES)
def test_a_loop_over_tiles(shape: tuple[int, int, int], programs: int) -> None:
    m, n, k = shape
    compiled = kernel(kernels.persistent, "a:fp16 b:fp16 c:fp32", "M N K")
    a, b = whole(m, k), whole(k, n)
    storage, c = guarded(m, n)
    compiled.run((programs,), [a, b, c, m, n, k])
    assert torch.equal(c, product(a, b))
    assert untouched(storage, c)


@pytest.mark.parametrize("shape", [(7, 3, 40), (35, 16, 100), (20, 9, 0)])
def test_two_sums_that_share_a_load(shape: tuple[int, int, int]) -> None:
    m, n, k = shape
    compiled = kernel(kernels.two_sums, "a:fp16 b:fp16 c:fp16 d:fp32 e:fp32", "M N K")
    a, b, c = whole(m, k), whole(k, n), whole(n, k)
    (first, d), (second, e) = guarded(m, n), guarded(m, n)
    compiled.run((tiles(m, M),), [a, b, c, d, e, m, n, k])
    assert torch.equal(d, product(a, b))
    assert torch.equal(e, product(a, c.T).relu())
    assert untouched(first, d)
    assert untouched(second, e)


@pytest.mark.parametrize("name", kernels.BLOCKS_OF_TENSORS)
@pytest.mark.parametrize("shape", SHAPES)
def test_blocks_of_tensors(name: str, shape: tuple[int, int, int]) -> None:
    m, n, k = shape
    compiled = kernel(getattr(kernels, name), "a:fp16 b:fp16 c:fp16", "M N K")
    a, b = whole(m, k), whole(n, k)
    storage, c = guarded(m, n, dtype=torch.float16)
    compiled.run((tiles(m, M), tiles(n, N)), [a, b, c, m, n, k])
    assert torch.equal(c, product(a, b.T).half())
    assert untouched(storage, c)


@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize("depth", [0, 30])
def test_a_bias_that_the_sum_starts_from(first: bool, depth: int) -> None:
    compiled = kernel(kernels.biased, "a:fp16 b:fp16 c:fp32 bias:fp32", "K", FIRST=first)
    a, b, bias = whole(M, depth), whole(depth, N), whole(N).float()
    storage, c = guarded(M, N)
    compiled.run((1,), [a, b, c, bias, depth])
    assert torch.equal(c, product(a, b) + bias)
    assert untouched(storage, c)


@pytest.mark.parametrize("size", [(7, 9, 40), (32, 16, 0)])
def test_batches(size: tuple[int, int, int]) -> None:
    m, n, k = size
    compiled = kernel(kernels.batches, "a:fp16 b:fp16 c:fp32", "M N K", B=4)
    a, b = whole(4, m, k), whole(4, n, k)
    storage, c = guarded(4, m, n)
    compiled.run((1,), [a, b, c, m, n, k])
    assert torch.equal(c, product(a, b.transpose(1, 2)).relu())
    assert untouched(storage, c)


@pytest.mark.parametrize("rows", [True, False])
@pytest.mark.parametrize("columns", [True, False])
def test_all_is_stored_of_what_is_masked_off(rows: bool, columns: bool) -> None:
    compiled = kernel(
        kernels.one_step, "a:fp16 b:fp16 c:fp32", "M N K",
        ROWS=rows, COLUMNS=columns, STORED=False, OTHER=0.0, DEPTH_B=None,
    )  # fmt: skip
    m, n, k = (20 if rows else M), 9, 30
    a, b = whole(M, k), whole(k, N)
    storage, c = guarded(M, N)
    compiled.run((1,), [a, b, c, m, n, k])
    expected = product(a, b)
    if rows:
        expected[m:] = 0
    if columns:
        expected[:, n:] = 0
    assert torch.equal(c, expected)
    assert untouched(storage, c)


@pytest.mark.parametrize("form", ["dot", "half"])
@pytest.mark.parametrize("shape", [(1, 1), (35, 100), (20, 0), (100, 65), (40, 700)])
def test_split_k(form: str, shape: tuple[int, int]) -> None:
    """Some programs may have nothing to add."""
    m, k = shape
    kind = "fp16" if form == "half" else "fp32"
    types = {"a": "*fp16", "b": "*fp16", "c": f"*{kind}"} | dict.fromkeys("MNK", "i32")
    constants = {"BLOCK": 32, "BLOCK_K": 32, "SPLIT": 3, "FORM": form}
    compiled = emulated(own.split_k, types, constants, how=Lowering("flagc"))
    a, b, c = whole(m, k), whole(k, 20), whole(m, 20).to(DTYPES[kind])
    expected = c.float() + product(a, b)
    compiled.run((tiles(m, 32), 3), [a, b, c, m, 20, k])
    assert torch.equal(c.float(), expected)
