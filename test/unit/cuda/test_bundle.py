"""Bundles: written by the command line, launched through the stand-in for the driver."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import pytest
import torch

import flagc
from e2e.commands import EXAMPLES, command
from e2e.commands import flagc as flagc_command
from flagc.cli import bundle as bundle_command
from flagc.errors import UsageError
from flagc.targets.cuda.bundle import BundledKernel, load_bundle
from unit.cuda.conftest import StandIn, gpu_tensor


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    where = tmp_path_factory.mktemp("bundle")
    done = flagc_command(EXAMPLES / "gemm.py", "--target", "cuda:sm90", "-o", where)
    assert done.status == 0, done.stderr
    return where


@pytest.fixture
def kernel(folder: Path, stand_in: StandIn, gpu: None) -> BundledKernel:
    (found,) = load_bundle(folder).values()
    found.driver = lambda: stand_in.driver
    return found


def test_a_launch_is_the_one_that_was_compiled(
    kernel: BundledKernel, folder: Path, stand_in: StandIn
) -> None:
    a = gpu_tensor(torch.zeros(512, 512, dtype=torch.float16))
    strides = (512, 1) * 3
    stand_in.expect([8, 8, 8, *[4] * 6, 8, 8])
    assert kernel.grids == [(4, 4, 1)]
    kernel[4, 4](a, a, a, 512, 512, 512, *strides, BLOCK_M=128, BLOCK_N=128, BLOCK_K=64)
    last = stand_in.last
    assert (list(last.grid), list(last.block), last.shared) == ([4, 4, 1], [128, 1, 1], 98304)
    packed = struct.unpack("<QQQ6iQQ", bytes(last.parameters[: 24 + 24 + 16]))
    assert packed == (*[a.data_ptr()] * 3, *[512] * 6, 0, 0)
    assert stand_in.text("name") == b"gemm_kernel"
    document = json.loads((folder / "gemm_kernel.json").read_text())
    assert document["launch"]["cubin"] == "gemm_kernel.cubin"


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"M": 500}, "compiled for M divisible by 16, which 500 is not"),
        ({"stride_ak": 2}, "compiled for stride_ak=1, not 2"),
        ({"BLOCK_M": 64}, "compiled for BLOCK_M=128, not 64"),
        ({"m": 512}, "no argument 'm'"),
        ({"K": None}, "'K' .i32. is missing"),
    ],
)
def test_what_it_was_not_compiled_for_is_refused(
    kernel: BundledKernel, change: dict[str, Any], says: str
) -> None:
    a = gpu_tensor(torch.zeros(512, 512, dtype=torch.float16))
    named: dict[str, Any] = {f"{name}_ptr": a for name in "abc"}
    named |= {name: 512 for name in ("M", "N", "K", "stride_am", "stride_bk", "stride_cm")}
    named |= change
    if change.get("K", 1) is None:
        del named["K"]
    with pytest.raises(UsageError, match=says):
        kernel.launch((4, 4, 1), **named)


def test_addresses_must_be_aligned_where_it_was_promised(kernel: BundledKernel) -> None:
    storage = torch.zeros(600 * 512, dtype=torch.float16)
    named: dict[str, Any] = {f"{name}_ptr": gpu_tensor(storage[1:]) for name in "abc"}
    named |= {name: 512 for name in ("M", "N", "K", "stride_am", "stride_bk", "stride_cm")}
    with pytest.raises(UsageError, match="the address of a_ptr divisible by 16"):
        kernel.launch((4, 4, 1), **named)


def test_values_that_a_pass_took_for_numbers_must_be_those(
    tmp_path: Path, stand_in: StandIn, gpu: None
) -> None:
    passes = ("--passes", "specialise-arguments")
    done = flagc_command(EXAMPLES / "gemm.py", "--target", "cuda:sm90", *passes, "-o", tmp_path)
    assert done.status == 0, done.stderr
    (kernel,) = load_bundle(tmp_path).values()
    a = gpu_tensor(torch.zeros(512, 512, dtype=torch.float16))
    named: dict[str, Any] = {f"{name}_ptr": a for name in "abc"}
    named |= {name: 512 for name in ("M", "N", "K", "stride_am", "stride_bk", "stride_cm")}
    assert len(kernel.arguments(**named)) == 9
    with pytest.raises(UsageError, match="compiled for K=512, which 1024 is not"):
        kernel.arguments(**{**named, "K": 1024})


def test_folders_without_a_bundle(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="holds no bundle"):
        flagc.load_bundle(tmp_path)
    (tmp_path / "gemm_kernel.json").write_text((folder / "gemm_kernel.json").read_text())
    with pytest.raises(UsageError, match=r"gemm_kernel\.cubin is missing"):
        flagc.load_bundle(tmp_path)


def test_the_command_lists_and_says_what_is_missing(folder: Path) -> None:
    done = command("bundle", folder)
    assert done.status == 0, done.stderr
    assert "gemm_kernel for cuda:sm90, grids 4x4x1" in done.stdout
    assert "stride_ak" in done.stdout
    if not torch.cuda.is_available():
        done = command("bundle", folder, "--arg", "M=512")
        assert done.status == 2
        assert "cannot run on a GPU" in done.stderr


def test_the_command_launches_and_sums_up(
    kernel: BundledKernel,
    stand_in: StandIn,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def random(kind: str, shape: list[int]) -> Any:
        return gpu_tensor(torch.randn(shape).half())

    monkeypatch.setattr(bundle_command, "_random", random)
    monkeypatch.setattr("flagc.targets.cuda.bundle.load_bundle", lambda folder: {"k": kernel})
    monkeypatch.setattr(
        "flagc.targets.cuda.bench_device.CudaBenchDevice.describe",
        lambda _: {"gpu": "a stand-in"},
    )
    stand_in.expect([8, 8, 8, *[4] * 6, 8, 8])
    sizes = [f"{n}=512" for n in ("M", "N", "K", "stride_am", "stride_bk", "stride_cm")]
    flags = [flag for n in "abc" for flag in ("--arg", f"{n}_ptr=512x512")]
    flags += [flag for size in sizes for flag in ("--arg", size)]
    saved = tmp_path / "c.pt"
    status = bundle_command.command.main(
        ["folder", *flags, "--save", f"c_ptr={saved}"], standalone_mode=False
    )
    assert status == 0
    assert list(stand_in.last.grid) == [4, 4, 1]
    shown = capsys.readouterr().out
    assert "ran gemm_kernel, grid 4x4x1, on a stand-in" in shown
    assert "512x512" in shown
    assert torch.load(saved, weights_only=False).shape == (512, 512)


def test_two_kernels_merged_are_launched_as_they_were_proved_equal(
    tmp_path: Path, stand_in: StandIn, gpu: None
) -> None:
    command_line = ("--target", "cuda:sm90", "--passes", "fuse-epilogue", "-o", tmp_path)
    done = flagc_command(EXAMPLES / "gemm_then_gelu.py", *command_line)
    assert done.status == 0, done.stderr
    (kernel,) = load_bundle(tmp_path).values()
    kernel.driver = lambda: stand_in.driver
    tensor = gpu_tensor(torch.zeros(512, 512, dtype=torch.float16))
    named: dict[str, Any] = {f"{name}_ptr": tensor for name in ("a", "b", "c", "x")}
    named |= {f"{name}_ptr": tensor for name in ("bias", "residual", "out")}
    named |= dict.fromkeys(("M", "N", "stride_bk", "stride_cm", "columns"), 512)
    named |= {"K": 128, "stride_am": 128, "numel": 512 * 512}
    stand_in.expect([8, 8, 8, *[4] * 6, *[8] * 4, 4, 4, 8, 8])
    kernel.launch((4, 4, 1), **named)
    with pytest.raises(UsageError, match="compiled for numel=262144, which 16 is not"):
        kernel.launch((4, 4, 1), **{**named, "numel": 16})
    with pytest.raises(UsageError, match="compiled for the grid"):
        kernel.launch((4, 3, 1), **named)
