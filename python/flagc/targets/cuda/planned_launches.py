"""Launch plans in Triton's own launcher: JIT launches of kernels whose grid a pass has changed."""

from __future__ import annotations

from dataclasses import replace
from itertools import compress
from types import SimpleNamespace
from typing import Any

from triton.backends.nvidia import driver as nvidia
from triton.runtime import _allocation

from flagc.ir.launch_plan import METADATA, DescribedTensor, LaunchPlan
from flagc.targets.cuda.counters import take_counters
from flagc.targets.cuda.described_tensors import described_tensors

_GRID = {f"{METADATA}_grid_{axis}": "i32" for axis in "xyz"}
_MEMORY = {f"{METADATA}_workspace": "*fp32", f"{METADATA}_counters": "*i32"}
_ALIGNMENT = 128
# Metadata, launch metadata and two hooks come before a launch's values.
_HANDLES = 4


def provide() -> None:
    """Let Triton's CUDA launcher follow launch plans from now on; other kernels are as before.

    It stays when passes are uninstalled: kernels compiled with them can still be launched.
    """
    if nvidia.CudaLauncher.__init__ is not _initialise:
        nvidia.CudaLauncher.__init__ = _initialise
        nvidia.CudaLauncher.__call__ = _launch


_original_initialise = nvidia.CudaLauncher.__init__
_original_launch = nvidia.CudaLauncher.__call__


def _initialise(launcher: Any, source: Any, metadata: Any) -> None:
    """Make a launcher for the signature with the script's grid behind it, if there is a plan."""
    description = getattr(metadata, METADATA, None)
    plan = launcher.flagc_plan = None if description is None else LaunchPlan.of(description)
    if plan is not None:
        made = {
            f"{METADATA}_descriptor_{number}": planned.signature
            for number, planned in enumerate(plan.descriptors)
        }
        added = {**_GRID, **(_MEMORY if plan.workspace else {}), **made}
        # Which of a launch's values reach the kernel.
        launcher.flagc_runtime = [kind != "constexpr" for kind in source.signature.values()]
        source = SimpleNamespace(
            fn=getattr(source, "fn", None),
            constants=getattr(source, "constants", {}),
            signature={**source.signature, **added},
        )
    _original_initialise(launcher, source, metadata)


def _launch(launcher: Any, x: int, y: int, z: int, stream: int, function: int, *rest: Any) -> Any:
    """`rest` is metadata, hooks, and the kernel's arguments."""
    if launcher.flagc_plan is None:
        return _original_launch(launcher, x, y, z, stream, function, *rest)
    plan, grid = launcher.flagc_plan, (x, y, z)
    memory: list[Any] = []
    size, tiles = plan.memory(grid)
    if tiles:
        allocate = _allocation._allocator.get()
        memory = [allocate(size, _ALIGNMENT, stream), take_counters(tiles, stream)]
    elif plan.workspace:  # nothing is launched
        memory = [None, None]
    launched = plan.launched(grid)
    made: list[Any] = []
    if plan.descriptors:
        values = compress(rest[_HANDLES:], launcher.flagc_runtime)
        made = [_with_address(tensor) for tensor in described_tensors(plan, list(values))]
    return _original_launch(launcher, *launched, stream, function, *rest, *grid, *memory, *made)


def _with_address(tensor: DescribedTensor) -> DescribedTensor:
    """Give a tensor of which the script passes the bare address the method that Triton calls."""
    if hasattr(tensor.base, "data_ptr"):
        return tensor
    address = int(tensor.base or 0)
    return replace(tensor, base=SimpleNamespace(data_ptr=lambda: address))
