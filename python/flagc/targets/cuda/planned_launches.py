"""Launch plans in Triton's own launcher: JIT launches of kernels whose grid a pass has changed."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from triton.backends.nvidia import driver as nvidia

from flagc.ir.launch_plan import METADATA, LaunchPlan

_GRID = {f"{METADATA}_grid_{axis}": "i32" for axis in "xyz"}


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
    launcher.flagc_plan = None if description is None else LaunchPlan.of(description)
    if description is not None:
        source = SimpleNamespace(
            fn=getattr(source, "fn", None),
            constants=getattr(source, "constants", {}),
            signature={**source.signature, **_GRID},
        )
    _original_initialise(launcher, source, metadata)


def _launch(launcher: Any, x: int, y: int, z: int, stream: int, function: int, *rest: Any) -> Any:
    """`rest` is metadata, hooks, and the kernel's arguments."""
    if launcher.flagc_plan is None:
        return _original_launch(launcher, x, y, z, stream, function, *rest)
    launched = launcher.flagc_plan.launched((x, y, z))
    return _original_launch(launcher, *launched, stream, function, *rest, x, y, z)
