"""Launches through a stand-in for NVIDIA's driver library, compiled with NVIDIA's header."""

from __future__ import annotations

import ctypes
import struct
import sys
from types import SimpleNamespace
from typing import Any

import pytest
import torch
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor

import flagc
from e2e.commands import EXAMPLES
from e2e.commands import flagc as flagc_command
from flagc.errors import EnvironmentProblem, UsageError
from flagc.frontend.execution import Argument, parts_of
from flagc.frontend.pairs import merging
from flagc.frontend.recorder import LaunchRecorder, recording
from flagc.pipeline.compiler import compile_kernel
from flagc.pipeline.loading import load_installed_passes
from flagc.pipeline.pipeline_text import parse_pipeline
from flagc.targets.cuda import executor as executor_module
from flagc.targets.cuda import kernel_image
from flagc.targets.cuda.driver_api import LaunchShape
from flagc.targets.cuda.executor import CudaExecutor, require_gpu
from flagc.targets.cuda.parameters import parameters
from flagc.targets.cuda.target import CudaTarget
from unit.cuda.conftest import StandIn, gpu_tensor


@triton.jit
def scale(x_ptr, out_ptr, n, factor, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < n, other=0.0)
    tl.store(out_ptr + offsets, x * factor, mask=offsets < n)


@triton.jit
def copy_tile(source, out_ptr, BLOCK: tl.constexpr):
    tile = source.load([tl.program_id(0) * BLOCK, 0])
    offsets = tl.arange(0, BLOCK)
    tl.store(out_ptr + offsets[:, None] * BLOCK + offsets[None, :], tile)


@triton.jit
def device_descriptor(x_ptr, out_ptr, BLOCK: tl.constexpr):
    source = tl.make_tensor_descriptor(x_ptr, [BLOCK, BLOCK], [BLOCK, 1], [BLOCK, BLOCK])
    offsets = tl.arange(0, BLOCK)
    tl.store(out_ptr + offsets[:, None] * BLOCK + offsets[None, :], source.load([0, 0]))


@triton.jit
def copy_described(source_ptr, out_ptr, rows, stride, BLOCK: tl.constexpr):
    source = tl.make_tensor_descriptor(source_ptr, [rows, BLOCK], [stride, 1], [BLOCK, BLOCK])
    offsets = tl.arange(0, BLOCK)
    tile = source.load([tl.program_id(0) * BLOCK, 0])
    tl.store(out_ptr + offsets[:, None] * BLOCK + offsets[None, :], tile)


def executor(stand_in: StandIn, chip: str = "sm90", passes: Any = ()) -> CudaExecutor:
    return CudaExecutor(CudaTarget(chip), passes, compile_kernel, {}, lambda: stand_in.driver)


def run(executor: CudaExecutor, kernel: Any, grid: tuple[int, ...], *values: Any, **named: Any):
    recorder = LaunchRecorder(executor.target, executor=executor)
    with recording(recorder):
        kernel[grid](*values, **named)
    return recorder.launches


def test_a_launch_reaches_the_driver_as_triton_makes_it(stand_in: StandIn, gpu: None) -> None:
    x, out = gpu_tensor(torch.ones(100)), gpu_tensor(torch.zeros(100))
    stand_in.expect([8, 8, 4, 4, 8, 8])
    (launch,) = run(executor(stand_in), scale, (7,), x, out, 100, 2.5, BLOCK=16)
    last = stand_in.last
    assert list(last.grid) == [7, 1, 1]
    assert list(last.block) == [128, 1, 1]
    assert (last.shared, last.attributes) == (0, 0)
    assert (last.stream, last.function) == (0x5EA, 0xF00000001)
    assert struct.unpack("<QQifQQ", bytes(last.parameters[:40])) == (
        x.data_ptr(),
        out.data_ptr(),
        100,
        2.5,
        0,
        0,
    )
    assert stand_in.text("name") == b"scale"
    assert stand_in.text("image").startswith(b"\x7fELF")
    assert launch.executions[0].device == "NVIDIA H200"


def test_shared_memory_beyond_48_kib_is_asked_for(stand_in: StandIn, gpu: None) -> None:
    sys.path.insert(0, str(EXAMPLES))
    from gemm import gemm_kernel

    a = gpu_tensor(torch.zeros(256, 256, dtype=torch.float16))
    strides = (256, 1) * 3
    (launch,) = run(
        executor(stand_in),
        gemm_kernel,
        (2, 2),
        a,
        a,
        a,
        256,
        256,
        256,
        *strides,
        BLOCK_M=128,
        BLOCK_N=128,
        BLOCK_K=64,
    )
    assert stand_in.number("allowed_shared") == 232448 - 16
    assert stand_in.last.shared == 98304
    assert len(launch.grids) == 1


def test_an_empty_grid_launches_nothing(stand_in: StandIn, gpu: None) -> None:
    x = gpu_tensor(torch.ones(4))
    run(executor(stand_in), scale, (0,), x, x, 4, 1.0, BLOCK=16)
    assert stand_in.number("launches") == 0


def test_scratch_of_device_side_descriptors_is_allocated(
    stand_in: StandIn, gpu: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes: list[int] = []

    def allocate(size: int) -> Any:
        sizes.append(size)
        return SimpleNamespace(data_ptr=lambda: 0xABC00)

    monkeypatch.setattr(executor_module, "torch_scratch", allocate)
    x = gpu_tensor(torch.ones(64, 64))
    stand_in.expect([8, 8, 8, 8])
    run(executor(stand_in), device_descriptor, (3, 2), x, x, BLOCK=64)
    (size,) = sizes
    assert size % (3 * 2 * 128) == 0
    assert struct.unpack("<QQ", bytes(stand_in.last.parameters[16:32])) == (0xABC00, 0)


def test_a_persistent_kernel_is_launched_with_fewer_programs_and_the_scripts_grid(
    stand_in: StandIn, gpu: None
) -> None:
    load_installed_passes()
    passes = parse_pipeline("make-persistent{programs=5}")
    x = gpu_tensor(torch.ones(100))
    stand_in.expect([8, 8, 4, 4, 4, 4, 4, 8, 8])
    for grid, launched in (((7,), 5), ((2, 2), 4)):
        (launch,) = run(executor(stand_in, passes=passes), scale, grid, x, x, 100, 2.5, BLOCK=16)
        assert list(stand_in.last.grid) == [launched, 1, 1]
        assert list(launch.grids[0]) == [*grid, 1, 1][:3]
        packed = struct.unpack("<QQifiii", bytes(stand_in.last.parameters[:36]))
        assert packed[2:] == (100, 2.5, *grid, *[1] * (3 - len(grid)))


def test_a_shared_tile_gets_workspace_and_counters(
    stand_in: StandIn, gpu: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[Any] = []

    def counters(count: int, stream: int) -> Any:
        given.append((count, stream))
        return SimpleNamespace(data_ptr=lambda: 0xC0)

    def allocate(size: int) -> Any:
        given.append(size)
        return SimpleNamespace(data_ptr=lambda: 0xABC00)

    monkeypatch.setattr(kernel_image, "take_counters", counters)
    monkeypatch.setattr(executor_module, "torch_scratch", allocate)
    load_installed_passes()
    passes = parse_pipeline("split-k{ways=2}")
    a = gpu_tensor(torch.zeros(64, 64, dtype=torch.float16))
    stand_in.expect([8, 8, 8, *[4] * 6, *[4] * 3, 8, 8, 8, 8])
    sizes = (64, 64, 64, *(64, 1) * 3)
    blocks = {"BLOCK_M": 32, "BLOCK_N": 32, "BLOCK_K": 32}
    sys.path.insert(0, str(EXAMPLES))
    from gemm import gemm_kernel

    run(executor(stand_in, passes=passes), gemm_kernel, (2, 2), a, a, a, *sizes, **blocks)
    assert list(stand_in.last.grid) == [4, 2, 1]
    assert given == [8 * 32 * 32 * 4, (4, 0x5EA)]
    packed = struct.unpack("<3iQQQQ", bytes(stand_in.last.parameters[48 : 48 + 44]))
    assert packed == (2, 2, 1, 0xABC00, 0xC0, 0, 0)


@triton.jit
def fill(x_ptr, rows, columns, HEIGHT: tl.constexpr, WIDTH: tl.constexpr):
    row = tl.program_id(0) * HEIGHT + tl.arange(0, HEIGHT)[:, None]
    column = tl.program_id(1) * WIDTH + tl.arange(0, WIDTH)[None, :]
    value = (row - column).to(tl.float32)
    tl.store(x_ptr + row * columns + column, value, mask=(row < rows) & (column < columns))


def test_two_launches_are_one_where_a_pass_merges_them(stand_in: StandIn, gpu: None) -> None:
    """The merged kernel gets the arguments of both, and the first one's grid."""
    load_installed_passes()
    x, out = gpu_tensor(torch.zeros(20, 12)), gpu_tensor(torch.zeros(20, 12))

    def launched(passes: str) -> list[Any]:
        runner = executor(stand_in, passes=parse_pipeline(passes))
        merge = merging(compile_kernel, runner.target, parse_pipeline("fuse-epilogue"))
        recorder = LaunchRecorder(runner.target, executor=runner, merge=merge)
        stand_in.number("launches", 0)
        with recording(recorder):
            fill[(2, 1)](x, 20, 12, HEIGHT=16, WIDTH=16)
            scale[(4,)](x, out, 240, 2.5, BLOCK=64)
        return recorder.launches

    stand_in.expect([8, 4, 4, 8, 8, 4, 4, 8, 8])
    (merged,) = launched("fuse-epilogue")
    assert stand_in.number("launches") == 1
    assert stand_in.text("name") == b"fill"
    assert list(stand_in.last.grid) == [2, 1, 1]
    places = (x.data_ptr(), 20, 12, x.data_ptr(), out.data_ptr(), 240, 2.5)
    assert struct.unpack("<QiiQQif", bytes(stand_in.last.parameters[:40])) == places
    assert merged.unwritten == {"x_ptr", "then_x_ptr"}
    # What --bench compares with: the same launch without the pass is the two kernels.
    stand_in.expect([8, 4, 4, 8, 8])
    plain = executor(stand_in)
    both = [Argument(n, k, v) for n, k, v in zip(
        ("x_ptr", "rows", "columns", "then_x_ptr", "out_ptr", "n", "factor"),
        ("*fp32", "i32", "i32", "*fp32", "*fp32", "i32", "fp32"),
        (x, 20, 12, x, out, 240, 2.5),
        strict=True,
    )]  # fmt: skip
    first, second = parts_of(merged, (2, 1, 1), both)
    assert [argument.name for argument in second[2]] == ["x_ptr", "out_ptr", "n", "factor"]
    assert (first[1], second[1]) == ((2, 1, 1), (4, 1, 1))
    call = plain.call(merged, (2, 1, 1), both)
    stand_in.number("launches", 0)
    stand_in.expect([])
    call()
    assert stand_in.number("launches") == 2
    assert stand_in.text("name") == b"scale"


class TensorMap(ctypes.Structure):
    """What the stand-in was asked to encode last."""

    _fields_ = (
        *((name, ctypes.c_int) for name in ("type", "swizzle", "fill")),
        ("rank", ctypes.c_uint),
        ("box", ctypes.c_uint * 5),
        ("address", ctypes.c_uint64),
        ("sizes", ctypes.c_uint64 * 5),
        ("strides", ctypes.c_uint64 * 4),
        ("map", ctypes.c_uint64),
    )


def test_a_host_side_descriptor_becomes_a_tensor_map(stand_in: StandIn, gpu: None) -> None:
    storage = gpu_tensor(torch.ones(100, 96, dtype=torch.float16))
    descriptor = TensorDescriptor(storage, [100, 64], [96, 1], [64, 64])
    stand_in.expect([128, 4, 4, 8, 8, 8, 8, 8])
    run(executor(stand_in), copy_tile, (1,), descriptor, storage, BLOCK=64)

    found = TensorMap.in_dll(stand_in.library, "tensor_map")
    assert (found.type, found.rank, found.fill) == (6, 2, 0)  # FLOAT16
    assert found.address == storage.data_ptr()
    assert (list(found.sizes[:2]), found.strides[0]) == ([64, 100], 192)
    assert list(found.box[:2]) == [64, 64]
    packed = bytes(stand_in.last.parameters)
    assert packed[:128] == b"\xab" * 128
    assert struct.unpack("<iiqqQ", packed[128:160]) == (100, 64, 96, 1, storage.data_ptr())


def test_a_descriptor_that_a_pass_leaves_to_the_launcher(stand_in: StandIn, gpu: None) -> None:
    storage = gpu_tensor(torch.ones(100, 96, dtype=torch.float16))
    out = gpu_tensor(torch.ones(64, 64, dtype=torch.float16))
    stand_in.expect([8, 8, 4, 4, 4, 4, 4, 128, 4, 4, 8, 8, 8, 8])
    load_installed_passes()
    passes = parse_pipeline("descriptors-by-launcher")
    arguments = (storage, out, 100, 96)
    run(executor(stand_in, passes=passes), copy_described, (1, 2), *arguments, BLOCK=64)
    found = TensorMap.in_dll(stand_in.library, "tensor_map")
    assert found.address == storage.data_ptr()
    assert (list(found.sizes[:2]), found.strides[0]) == ([64, 100], 192)
    packed = bytes(stand_in.last.parameters)
    assert struct.unpack("<QQiiiii", packed[:36]) == (
        storage.data_ptr(), out.data_ptr(), 100, 96, 1, 2, 1
    )  # fmt: skip
    assert packed[36:164] == b"\xab" * 128


def test_clusters_and_other_attributes(stand_in: StandIn) -> None:
    stand_in.expect([])
    function = stand_in.driver.load(b"\x7fELF1234", "k", 0, num_ctas=16)
    shape = LaunchShape((5, 6, 7), 8, 2, 1024, cooperative=True, programmatic=True)
    stand_in.driver.launch(function, shape, 0, [])
    last = stand_in.last
    assert (list(last.grid), list(last.block)) == ([10, 6, 7], [256, 1, 1])
    ids = list(last.attribute_ids[: last.attributes])
    assert ids == [6, 2, 4, 5]
    values = [list(value) for value in last.attribute_values[: last.attributes]]
    assert (values[0][0], values[1][0], values[2], values[3][0]) == (1, 1, [2, 1, 1], 1)


@pytest.mark.parametrize(
    ("kind", "value", "expected"),
    [
        ("i1", True, b"\x01"),
        ("i64", -2, b"\xfe" + b"\xff" * 7),
        ("u32", 4294967295, b"\xff" * 4),
        ("fp16", 1.5, b"\x00\x3e"),
        ("bf16", 1.00390625, b"\x80\x3f"),  # truncated
        ("fp64", 1.0, struct.pack("<d", 1.0)),
        ("*fp32", None, bytes(8)),
    ],
)
def test_scalars(stand_in: StandIn, kind: str, value: Any, expected: bytes) -> None:
    (packed,) = parameters([Argument("x", kind, value)], (), stand_in.driver)
    assert bytes(packed) == expected


def test_what_cannot_be_launched_is_refused(stand_in: StandIn, gpu: None) -> None:
    with pytest.raises(UsageError, match="'x_ptr' is on cpu, not on the GPU"):
        run(executor(stand_in), scale, (1,), torch.ones(4), torch.ones(4), 4, 1.0, BLOCK=16)
    with pytest.raises(UsageError, match=r"'t'.*no kernels with type"):
        parameters([Argument("t", "('i32', 'i32')", (1, 2))], (), stand_in.driver)
    stand_in.number("failure", 1)
    x = gpu_tensor(torch.ones(4))
    with pytest.raises(EnvironmentProblem, match=r"cuLaunchKernelEx failed.* 1: invalid argument"):
        run(executor(stand_in), scale, (1,), x, x, 4, 1.0, BLOCK=16)


def test_the_gpu_must_be_the_targets(gpu: None) -> None:
    require_gpu(90, "cuda:sm90")
    with pytest.raises(UsageError, match="NVIDIA H200 is sm90, not cuda:sm80: use cuda:sm90"):
        require_gpu(80, "cuda:sm80")
    with pytest.raises(UsageError, match="sm90, not cuda:sm100"):
        require_gpu(100, "cuda:sm100")


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_without_a_gpu_the_message_says_what_to_do() -> None:
    done = flagc_command(EXAMPLES / "gemm.py", "--target", "cuda", "--run")
    assert done.status == 2
    assert "cannot run on a GPU: " in done.stderr
    assert "-o DIR" in done.stderr
    with pytest.raises(EnvironmentProblem, match="cannot run on a GPU"):
        flagc.use("cuda:sm90")
