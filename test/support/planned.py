"""Run TTIR as flagc's launchers launch it: with the grid that its launch plan makes."""

import numpy as np

from flagc.ir.launch_arguments import plan_of
from flagc.ir.module import Module
from support import ttir_interpreter
from support.lowering import lowered, python_file
from support.running import transformed


def launch(module: Module, arguments, grid):
    """Run the module's only kernel; `grid` is the script's. Arrays are written in place."""
    (function,) = module.functions()
    plan = plan_of(function)
    if plan is None:
        ttir_interpreter.run(module, arguments, grid)
        return
    grid = (*grid, 1, 1)[:3]
    memory = []
    size, tiles = plan.memory(grid)
    if tiles:
        memory = [np.full(size // 4, np.nan, np.float32), np.zeros(tiles, np.int32)]
    ttir_interpreter.run(module, [*arguments, *grid, *memory], plan.launched(grid))
    assert not tiles or not memory[1].any(), "counters must be 0 after a launch"


def small_gemm(depth=16):
    """Return examples/gemm.py in TTIR, with tiles of 16x16 and `depth`."""
    types = "*fp16:16 *fp16:16 *fp16:16 i32 i32 i32 i32:16 i32:16 i32:16"
    strides = {"stride_ak": 1, "stride_bn": 1, "stride_cn": 1}
    tiles = {"BLOCK_M": 16, "BLOCK_N": 16, "BLOCK_K": depth}
    return lowered(python_file("examples/gemm.py").gemm_kernel, types, {**tiles, **strides})


def after(passes, module):
    """Return the module after `passes`, which must have nothing to say."""
    for instance in passes:
        module, said = transformed(instance, module.text())
        assert said == []
    return module


def assert_same_gemm(passes, size, random_numbers, padding=16, grid=None, depth=16):
    """`small_gemm` gives the same bits before and after `passes`, and stores nowhere else.

    `random_numbers` makes an array of a shape; rows are padded to 16 numbers and `padding` more.
    """
    m, n, k = size
    module = small_gemm(depth)
    changed = after(passes, module)
    width = [-(-extent // 16) * 16 + padding for extent in (k, n)]
    a, b = (random_numbers(shape).astype(np.float16) for shape in ((m, width[0]), (k, width[1])))
    results = []
    for version in (module, changed):
        c = np.full((m, width[1]), 7, np.float16)
        arguments = [a, b, c, m, n, k, width[0], width[1], width[1]]
        launch(version, arguments, grid or (-(-m // 16), -(-n // 16)))
        results.append(c)
    np.testing.assert_array_equal(*results)


def whole_numbers(shape):
    """Return small ones: their sums are exact in whatever order they are added."""
    return np.random.default_rng().integers(-8, 9, shape)
