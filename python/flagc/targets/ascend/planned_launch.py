"""The launch that a compiled kernel's plan makes of the script's (`flagc.ir.launch_plan`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch

from flagc.frontend.execution import Argument
from flagc.ir.launch_plan import METADATA, Grid, LaunchPlan


def planned(
    metadata: Mapping[str, Any], grid: Grid, arguments: Sequence[Argument], device: str
) -> tuple[Grid, list[Argument]]:
    """Return the grid to launch, and the arguments with those that the plan adds.

    `metadata` is the compiled kernel's; without a plan in it the launch is the script's. The
    workspace is full of NaN, so that what a program reads and none wrote shows in the results.
    """
    if (description := metadata.get(METADATA)) is None:
        return grid, list(arguments)
    plan = LaunchPlan.of(description)
    sizes = zip("xyz", grid, strict=True)
    added = [Argument(f"{METADATA}_grid_{axis}", "i32", size) for axis, size in sizes]
    if plan.workspace:
        size, tiles = plan.memory(grid)
        sums = torch.full((-(-size // 4),), float("nan"), dtype=torch.float32, device=device)
        counters = torch.zeros(tiles, dtype=torch.int32, device=device)
        added.append(Argument(f"{METADATA}_workspace", "*fp32", sums))
        added.append(Argument(f"{METADATA}_counters", "*i32", counters))
    return plan.launched(grid), [*arguments, *added]
