"""Launches that cannot run, or fault: one clear error, and the tensors are as they were."""

import re

import pytest
import torch
import triton
import triton.language as tl

import flagc
from flagc.errors import KernelError, UsageError


@triton.jit
def copy_rows(x_ptr, out_ptr, rows, BLOCK: tl.constexpr):
    """Copy rows; a program for each of them, which does not ask whether it is there."""
    row = tl.program_id(0)
    lanes = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * BLOCK + lanes)
    tl.store(out_ptr + row * BLOCK + lanes, x)


@triton.jit
def add_one(x_ptr, BLOCK: tl.constexpr):
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x_ptr + lanes, tl.load(x_ptr + lanes) + 1)


def rows(count: int) -> torch.Tensor:
    return torch.arange(count * 64, dtype=torch.float32).reshape(count, 64)


def test_a_fault_names_the_tensor_that_is_too_small_and_undoes_the_launch() -> None:
    x, out = rows(8), torch.full((6, 64), 5.0)
    # Blocks 0 to 5 have stored their rows when block 6 faults.
    with (
        flagc.use("ascend", threads=1),
        pytest.raises(KernelError, match="out_ptr, which has 1536"),
    ):
        copy_rows[(8,)](x, out, 8, BLOCK=64)
    assert (out == 5.0).all()
    assert torch.equal(x, rows(8))
    with flagc.use("ascend", threads=1, checks=False):  # nobody looks: no copy is kept
        copy_rows[(6,)](x, out, 6, BLOCK=64)
    assert torch.equal(out, rows(6))


def test_views_and_what_lies_between_them_are_restored() -> None:
    storage = torch.full((8, 128), 5.0)
    left = storage[:6, :64]  # rows 128 apart: the kernel, which takes them as 64 apart, fills gaps
    with flagc.use("ascend", threads=1), pytest.raises(KernelError, match="out_ptr"):
        copy_rows[(64,)](rows(64), left, 64, BLOCK=64)
    assert (storage == 5.0).all()


def test_a_launch_in_place_is_undone() -> None:
    x = torch.zeros(100)
    with flagc.use("ascend", threads=1), pytest.raises(KernelError, match="x_ptr, which has 400"):
        add_one[(2,)](x, BLOCK=64)
    assert (x == 0).all()


@pytest.mark.parametrize("empty", ["x_ptr", "out_ptr"])
def test_tensors_without_elements_are_named(empty: str) -> None:
    tensors = {"x_ptr": rows(2), "out_ptr": torch.zeros(2, 64), empty: torch.empty(0)}
    before = {name: tensor.clone() for name, tensor in tensors.items()}
    with flagc.use("ascend"), pytest.raises(KernelError, match=f"{empty}, which has 0"):
        copy_rows[(2,)](*tensors.values(), 2, BLOCK=64)
    for name, tensor in tensors.items():
        assert torch.equal(tensor, before[name])


def test_a_tensor_on_another_device_is_named() -> None:
    out = torch.full((2, 64), 5.0)
    message = re.escape("argument 'x_ptr': the emulated AI Core takes CPU tensors, not one on meta")
    with flagc.use("ascend"), pytest.raises(UsageError, match=message):
        copy_rows[(2,)](torch.empty((2, 64), device="meta"), out, 2, BLOCK=64)
    assert (out == 5.0).all()


def test_a_compiled_kernel_refuses_another_type() -> None:
    x, out = rows(2), torch.zeros(2, 64)
    with flagc.use("ascend"):
        compiled = copy_rows.warmup(x, out, 2, BLOCK=64, grid=(2,))
        compiled[(2, 1, 1)](x, out, 2, 64)
        assert torch.equal(out, x)
        half = torch.zeros((2, 64), dtype=torch.float16)
        message = "argument 'out_ptr': .* of type fp32, not fp16"
        with pytest.raises(UsageError, match=message):
            compiled[(2, 1, 1)](x, half, 2, 64)
    assert (half == 0).all()


def test_grids() -> None:
    x, out = rows(2), torch.full((2, 64), 5.0)
    with flagc.use("ascend") as session:
        copy_rows[(0,)](x, out, 2, BLOCK=64)
        (launch,) = session.recorder.launches
        assert launch.note == "a launch with the empty grid 0x1x1 did nothing"
        with pytest.raises(UsageError, match=r"'copy_rows': the grid 256x257x1 has 65792 blocks"):
            copy_rows[(256, 257)](x, out, 2, BLOCK=64)
    assert (out == 5.0).all()


def test_a_kernel_that_the_vendor_refuses() -> None:
    x = torch.zeros(1 << 17)  # 512 KB, where 192 fit
    with flagc.use("ascend"), pytest.raises(KernelError, match=r"test_bad_launches\.py:\d+"):
        add_one[(1,)](x, BLOCK=1 << 17)
    assert (x == 0).all()
