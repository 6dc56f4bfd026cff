"""`flagc.use`: launches on CPU tensors run on the emulator, from plain Python."""

import sys

import pytest
import torch
import triton
import triton.language as tl

import flagc
from e2e.commands import EXAMPLES
from flagc.errors import KernelError, UsageError
from support.comparing import assert_rounded, product_error

sys.path.insert(0, str(EXAMPLES))
from gemm import gemm, gemm_kernel


@triton.jit
def affine(x_ptr, out_ptr, n, scale, shift, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < n, other=0.0)
    tl.store(out_ptr + offsets, x * scale + shift, mask=offsets < n)


@pytest.mark.parametrize("shape", [(1, 1, 1), (33, 17, 70), (129, 130, 65)])
def test_gemm_is_right_but_for_rounding(shape: tuple[int, int, int]) -> None:
    rows, columns, depth = shape
    a, b = torch.randn(rows, depth).half(), torch.randn(depth, columns).half()
    with flagc.use("ascend:910B3"):
        c = gemm(a, b)
    assert_rounded(c, a.double() @ b.double(), product_error(a, b))


def test_scalars_and_views_and_untouched_neighbours() -> None:
    storage = torch.full((1000,), 7.0)
    out = storage[100:137]
    x = torch.arange(37, dtype=torch.float32)
    with flagc.use("ascend", threads=1) as session:
        affine[(3,)](x, out, 37, 0.5, -2.0, BLOCK=16)
    assert torch.equal(out, x * 0.5 - 2.0)
    assert (storage[:100] == 7).all()
    assert (storage[137:] == 7).all()
    (launch,) = session.recorder.launches
    assert launch.grids == [(3, 1, 1)]
    assert launch.executions[0].blocks == 3


class Reversed:
    """A vector from its end, of which torch has no view."""

    def __init__(self, vector: torch.Tensor) -> None:
        self.dtype, self.device, self.shape = vector.dtype, vector.device, vector.shape
        self.element_size = vector.element_size
        self.data_ptr = vector[-1:].data_ptr
        self.stride = lambda: (-1,)


@triton.jit
def reverse(x_ptr, out_ptr, stride, n, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets * stride, mask=offsets < n, other=0.0)
    tl.store(out_ptr + offsets, x, mask=offsets < n)


def test_what_stands_for_a_tensor_may_have_negative_strides() -> None:
    x, out = torch.randn(16), torch.zeros(16)
    with flagc.use("ascend", threads=1):
        reverse[(1,)](Reversed(x), out, -1, 16, BLOCK=16)
    assert torch.equal(out, x.flip(0))


@triton.jit
def accumulate(x_ptr, out_ptr, n, OPERATION: tl.constexpr, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    mask = offsets < n  # the vendor's adapter takes no floating-point atomic without one
    x = tl.load(x_ptr + tl.program_id(0) * BLOCK + offsets, mask=mask, other=0)
    if OPERATION == "add":
        tl.atomic_add(out_ptr + offsets, x, mask=mask)
    elif OPERATION == "max":
        tl.atomic_max(out_ptr + offsets, x, mask=mask)
    else:
        tl.atomic_min(out_ptr + offsets, x, mask=mask)


@pytest.mark.parametrize(
    ("dtype", "operation"),
    [
        *[(dtype, "add") for dtype in (torch.float32, torch.float16, torch.bfloat16, torch.int32)],
        *[(dtype, name) for dtype in (torch.float32, torch.int32) for name in ("max", "min")],
    ],
)
def test_atomics_of_many_blocks_all_count(dtype: torch.dtype, operation: str) -> None:
    # Whole numbers that every dtype holds, in sums too, so that the order does not matter.
    x = torch.randint(-2, 3, (40, 32)).to(dtype)
    out = torch.full((32,), 1, dtype=dtype)
    with flagc.use("ascend", threads=2):
        accumulate[(40,)](x, out, 32, OPERATION=operation, BLOCK=32)
    folds = {"add": x.double().sum(0) + 1, "max": x.double().amax(0).clamp(min=1)}
    expected = folds.get(operation, x.double().amin(0).clamp(max=1))
    assert torch.equal(out.double(), expected)


def test_passes_run_in_the_session() -> None:
    a, b = torch.randn(200, 64).half(), torch.randn(64, 300).half()
    with flagc.use("ascend", "swizzle-program-ids{group-m=2}"):
        swizzled = gemm(a, b)
    with flagc.use("ascend"):
        plain = gemm(a, b)
    assert torch.equal(swizzled, plain)


def test_tensors_elsewhere_are_refused() -> None:
    x, elsewhere = torch.zeros(4), torch.zeros(4, device="meta")
    with flagc.use("ascend"), pytest.raises(UsageError, match="CPU tensors"):
        affine[(1,)](x, elsewhere, 4, 1.0, 0.0, BLOCK=16)


def test_a_kernel_that_does_not_compile_leaves_its_tensors() -> None:
    x = torch.arange(4, dtype=torch.float32)
    with flagc.use("ascend"), pytest.raises(KernelError, match=r"test_use\.py:"):
        affine[(1,)](x, 3, 4, 1.0, 0.0, BLOCK=16)  # a number where a tensor belongs
    assert x.tolist() == [0, 1, 2, 3]


def test_grids_empty_and_too_large() -> None:
    x, out = torch.ones(4), torch.zeros(4)
    with flagc.use("ascend"):
        affine[(0,)](x, out, 4, 1.0, 0.0, BLOCK=16)
        assert (out == 0).all()
        with pytest.raises(UsageError, match="65535"):
            affine[(65536,)](x, out, 4, 1.0, 0.0, BLOCK=16)
    assert (out == 0).all()


def test_a_persistent_kernel_takes_any_grid() -> None:
    """As many blocks are launched as there are cores. Most of these have no rows to compute."""
    a, b = torch.randn(20, 16).half(), torch.randn(16, 20).half()
    c = torch.empty(20, 20, dtype=torch.float16)
    strides = (*a.stride(), *b.stride(), *c.stride())
    with flagc.use("ascend", pipeline="flagc", checks=False):
        gemm_kernel[(65536, 1)](a, b, c, 20, 20, 16, *strides, BLOCK_M=32, BLOCK_N=32, BLOCK_K=16)
    assert_rounded(c, a.double() @ b.double(), product_error(a, b))


def test_the_session_ends() -> None:
    with flagc.use("ascend"):
        gemm(torch.ones(16, 16).half(), torch.ones(16, 16).half())
    assert not gemm_kernel.device_caches
