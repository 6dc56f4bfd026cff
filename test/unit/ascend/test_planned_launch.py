"""Launches whose grid a pass has changed, compiled by the vendor, on the emulated AI Core."""

from __future__ import annotations

import sys
from typing import Any

import pytest
import torch
import triton
import triton.language as tl

import flagc
from e2e.commands import EXAMPLES
from flagc.errors import UsageError
from flagc.frontend.execution import Argument, Execution, runtime_arguments
from flagc.frontend.recorder import LaunchRecorder, recording
from flagc.ir.launch_plan import METADATA, LaunchPlan
from flagc.pipeline.compiler import compile_kernel
from flagc.pipeline.defaults import build_pipeline
from flagc.targets.ascend.planned_launch import planned
from flagc.targets.registry import target_by_name
from support.comparing import assert_rounded, guarded, product_error, untouched

sys.path.insert(0, str(EXAMPLES))
from gemm import gemm_kernel

# Passes, and how many blocks they make of a grid of 3x2 tiles of 128x128 on 910B3, of which
# persistent-blocks lets no more than 20, the cores, be launched.
PLANNED = [
    ("resize-tiles{x=128,y=256}", 3),
    ("resize-tiles{x=256}", 4),
    ("resize-tiles{x=64,y=32}", 20),
    ("resize-depth{size=128}", 6),
    ("resize-tiles{x=64,y=256},resize-depth{size=128}", 6),
    ("make-persistent{programs=4}", 4),
    ("resize-tiles{x=32},make-persistent{group-m=2}", 20),
]
SIZES = 300, 200, 333


def run_gemm(
    passes: str, a: torch.Tensor, b: torch.Tensor, c: torch.Tensor, grid: tuple[int, int]
) -> Execution:
    (m, k), n = a.shape, b.shape[1]
    strides = (*a.stride(), *b.stride(), *c.stride())
    with flagc.use("ascend:910B3", passes) as session:
        gemm_kernel[grid](a, b, c, m, n, k, *strides, BLOCK_M=128, BLOCK_N=128, BLOCK_K=64)
    (launch,) = session.recorder.launches
    return launch.executions[0]


@pytest.mark.parametrize(("passes", "blocks"), PLANNED)
def test_the_product_is_right_and_the_planned_grid_is_launched(passes: str, blocks: int) -> None:
    m, n, k = SIZES
    a, b = torch.randn(m, k).half(), torch.randn(k, n).half()
    storage, c = guarded(m, n, dtype=torch.float16)
    execution = run_gemm(passes, a, b, c, (3, 2))
    assert execution.blocks == blocks
    assert execution.grid == (3, 2, 1)
    assert_rounded(c, a.double() @ b.double(), product_error(a, b))
    assert untouched(storage, c)


def test_elements_beyond_the_scripts_grid_stay_as_they_are() -> None:
    """The script launches one tile of two columns of tiles; a tile of 256 must not do both."""
    a, b, c = torch.randn(128, 64).half(), torch.randn(64, 256).half(), torch.zeros(128, 256).half()
    run_gemm("resize-tiles{y=256}", a, b, c, (1, 1))
    assert c[:, :128].abs().max() > 0
    assert not c[:, 128:].any()


def test_the_model_times_the_planned_grid() -> None:
    target = target_by_name("ascend:910B3")
    m, n, k = SIZES
    a, b, c = (torch.empty(shape, dtype=torch.float16) for shape in ((m, k), (k, n), (m, n)))
    values = [a, b, c, m, n, k, *a.stride(), *b.stride(), *c.stride(), 128, 128, 64]
    recorder = LaunchRecorder(target)
    with recording(recorder):
        gemm_kernel[(3, 2)](*values)
    (launch,) = recorder.launches
    for passes, blocks in PLANNED:
        executor = target.executor(
            passes=build_pipeline(target, passes, (), ()), compile=compile_kernel
        )
        timing = executor.time(launch, launch.grids[0], runtime_arguments(launch, values))
        assert timing.blocks == blocks


@triton.jit
def fill(out_ptr, n, BLOCK: tl.constexpr):
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + lanes, 1.0, mask=lanes < n)


def test_a_vector_kernel_is_persistent_on_all_vector_cores() -> None:
    out = torch.zeros(100 * 64 - 7)
    with flagc.use("ascend:910B3", "make-persistent") as session:
        fill[(100,)](out, out.numel(), BLOCK=64)
    assert session.recorder.launches[0].executions[0].blocks == 40
    assert (out == 1.0).all()


def test_a_planned_grid_that_no_launch_takes_is_refused() -> None:
    out = torch.zeros(8)
    with flagc.use("ascend", "resize-tiles{x=16}"), pytest.raises(UsageError, match="80000 blocks"):
        fill[(20000,)](out, 8, BLOCK=64)


def test_a_shared_tile_gets_workspace_and_counters() -> None:
    plan = LaunchPlan(ways=4, workspace=1024)
    given = [Argument("n", "i32", 7)]
    grid, arguments = planned({METADATA: plan.describe()}, (2, 3, 1), given, "cpu")
    assert grid == (8, 3, 1)
    assert [argument.type for argument in arguments] == ["i32"] * 4 + ["*fp32", "*i32"]
    assert [argument.value for argument in arguments[:4]] == [7, 2, 3, 1]
    workspace, counters = (argument.value for argument in arguments[4:])
    assert (workspace.dtype, workspace.numel()) == (torch.float32, 8 * 3 * 256)
    assert workspace.isnan().all()
    assert counters.tolist() == [0] * 6


def test_without_a_plan_a_launch_is_the_scripts() -> None:
    given: list[Any] = [Argument("n", "i32", 7)]
    assert planned({}, (2, 3, 1), given, "cpu") == ((2, 3, 1), given)
