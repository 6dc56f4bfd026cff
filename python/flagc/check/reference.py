"""References that users give for their kernels."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any

# Takes a launch's arguments by name, as they were before it, and returns what its outputs must be.
Reference = Callable[..., Mapping[str, Any]]

_references: dict[str, Reference] = {}


def reference(kernel: Any) -> Callable[[Reference], Reference]:
    """Give a kernel its reference: `@flagc.reference(kernel)` above a function.

    The function is called with all of a launch's arguments by name, constexprs included; tensors
    are copies of what they were before the launch. It returns the expected tensor of each output
    by the argument's name. Outputs that it does not name are not checked. `kernel` may be a tuple
    of two that `fuse-epilogue` merges (docs/passes.md).
    """

    def remember(function: Reference) -> Reference:
        _references[kernel_key(kernel)] = function
        return function

    return remember


def reference_for(kernel: Any) -> Reference | None:
    """Return the user's reference for a JIT function, if there is one."""
    return _references.get(kernel_key(kernel))


def kernel_key(kernel: Any) -> str:
    """Return what tells a kernel function apart, however its file was run or imported.

    Two that a pass merges are given as a tuple, or as their `PairFunction`.
    """
    parts = kernel if isinstance(kernel, tuple) else getattr(kernel, "parts", None)
    if parts is not None:
        return " then ".join(kernel_key(part) for part in parts)
    while not hasattr(kernel, "arg_names") or hasattr(getattr(kernel, "fn", None), "arg_names"):
        kernel = kernel.fn  # unwrap autotune and heuristics
    file = os.path.realpath(kernel.fn.__code__.co_filename)
    return f"{file}:{kernel.fn.__qualname__}"
