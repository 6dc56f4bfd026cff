"""Run TTIR as flagc's launchers launch it: with the grid that its launch plan makes."""

import numpy as np

from flagc.ir.launch_arguments import plan_of
from flagc.ir.module import Module
from support import ttir_interpreter


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
