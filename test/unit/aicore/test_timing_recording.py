"""Instruction streams of compiled kernels for the timing model, with and without data."""

from __future__ import annotations

import time
from typing import Any

import pytest
import torch

from flagc.aicore.runner import KernelFault
from flagc.aicore.timing.model import Timing, time_launch
from flagc.targets.ascend.chips import facts_of
from support.emulating import emulated, kernels
from support.gemm_cases import Gemm

CHIP = facts_of("910B3")


def gemm_arguments(gemm: Gemm, m: int, n: int, k: int) -> tuple[tuple[int, int], list[Any]]:
    a, b = torch.empty(m, k, dtype=torch.float16), torch.empty(k, n, dtype=torch.float16)
    c = torch.empty(m, n, dtype=torch.float16)
    grid = (-(-m // gemm.tile[0]), -(-n // gemm.tile[1]))
    return grid, [a, b, c, m, n, k, a.stride(0), b.stride(0), c.stride(0)]


def timed(gemm: Gemm, m: int, n: int, k: int, **options: Any) -> Timing:
    grid, arguments = gemm_arguments(gemm, m, n, k)
    return time_launch(gemm.kernel().record(grid, arguments), CHIP, **options)


def test_the_stream_is_the_same_with_and_without_data() -> None:
    gemm = Gemm("fp16", "fp16")
    grid, arguments = gemm_arguments(gemm, 200, 140, 300)
    for tensor in arguments[:2]:
        tensor.normal_()
    kernel = gemm.kernel()
    with_data = time_launch(kernel.record(grid, arguments, data=True), CHIP)
    without = time_launch(kernel.record(grid, arguments), CHIP)
    assert with_data.cycles == without.cycles
    assert with_data.pipes == without.pipes


def test_without_data_nothing_is_written() -> None:
    gemm = Gemm("fp16", "fp16")
    grid, arguments = gemm_arguments(gemm, 128, 128, 64)
    arguments[2].fill_(7)
    gemm.kernel().record(grid, arguments)
    assert bool((arguments[2] == 7).all())


def test_work_and_traffic_of_a_product() -> None:
    m = n = k = 512
    timing = timed(Gemm("fp16", "fp16"), m, n, k)
    peak = CHIP.cube_cores * 4096 * timing.core_microseconds * timing.clock_mhz
    assert timing.cube_share == pytest.approx(m * n * k / peak)
    assert timing.blocks == 64
    assert timing.cores == CHIP.cube_cores
    # Every tile of 64x64 reads its rows of A and columns of B once.
    assert timing.traffic["l2_read"] == 64 * (2 * 64 * k * 2)
    assert timing.traffic["hbm_read"] == 2 * m * k * 2
    assert timing.traffic["l2_written"] == m * n * 2
    assert timing.l2_hit == pytest.approx(1 - 1 / 8)


def test_blocks_of_equal_shape_share_one_class() -> None:
    gemm = Gemm("fp16", "fp16")
    grid, arguments = gemm_arguments(gemm, 512, 512, 128)
    recorded = gemm.kernel().record(grid, arguments)
    assert recorded.blocks == 64
    assert recorded.classes == 1


def test_a_square_product_of_8192_is_timed_in_five_seconds_of_one_core() -> None:
    gemm = Gemm("fp16", "fp16", tile=(128, 256, 64))
    gemm.kernel()
    grid, arguments = gemm_arguments(gemm, 8192, 8192, 8192)
    gemm.kernel().record(*gemm_arguments(gemm, 128, 256, 64))
    started = time.process_time()
    timing = time_launch(gemm.kernel().record(grid, arguments), CHIP)
    assert time.process_time() - started < 5
    assert timing.cube_share > 0.2


def test_a_trace_has_every_instruction_in_order_on_its_pipe() -> None:
    timing = timed(Gemm("fp16", "fp16"), 512, 512, 512, trace=True)
    assert len(timing.trace) == sum(pipe.instructions for pipe in timing.pipes)
    ends: dict[tuple[int, str, str], float] = {}
    for instruction in timing.trace:
        key = (instruction.slot, instruction.core, instruction.pipe)
        assert instruction.start >= ends.get(key, 0.0)
        assert instruction.end > instruction.start
        ends[key] = instruction.start
    assert max(i.end for i in timing.trace) == pytest.approx(timing.core_microseconds)


def test_mix_kernels_have_all_their_cores() -> None:
    timing = timed(Gemm("fp16", "fp16", epilogue="gelu"), 128, 128, 128)
    assert {pipe.core for pipe in timing.pipes} == {"AIC", "AIV"}
    by_name = {(pipe.core, pipe.pipe): pipe for pipe in timing.pipes}
    # The vector cores read what the cube has made.
    assert by_name["AIV", "MTE2"].idle["another core's flag"] > 0.3


def test_elementwise_kernels_are_bound_by_memory() -> None:
    types = {"x": "*fp32", "y": "*fp32", "out": "*fp32", "n": "i32"}
    kernel = emulated(kernels.vector_add, types, {"BLOCK": 4096}, "x y out n")
    n = 1 << 22
    x, y, out = (torch.empty(n) for _ in range(3))
    timing = time_launch(kernel.record((n // 4096,), [x, y, out, n]), CHIP)
    assert timing.cores == CHIP.vector_cores
    assert timing.critical is not None
    assert timing.critical.pipe == "MTE2"
    moved = 3 * n * 4
    assert moved / (timing.core_microseconds * 1e-6) < 2 * CHIP.hbm_bytes_per_second


def test_scalar_code_that_needs_data_says_so_and_is_timed_with_it() -> None:
    types = {"x": "*fp32", "out": "*fp32", "stride": "i32", "n": "i32"}
    kernel = emulated(kernels.softmax, types, {"BLOCK": 1024}, "x out stride")
    x, out = torch.randn(4, 1024), torch.zeros(4, 1024)
    with pytest.raises(KernelFault) as caught:
        kernel.record((4,), [x, out, 1024, 1000])
    assert caught.value.fault.kind == "needs-data"
    timing = time_launch(kernel.record((4,), [x, out, 1024, 1000], data=True), CHIP)
    assert timing.blocks == 4
    assert float(out[0, :1000].sum()) == pytest.approx(1, rel=1e-4)
