"""flagc: compiler-pass experimentation for Triton, on NVIDIA and on Ascend.

The public names are loaded on first use, so that importing flagc stays cheap.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from flagc.bench.baseline import baseline as baseline
    from flagc.bench.baseline import work as work
    from flagc.check.reference import reference as reference
    from flagc.ir.module import Module as Module
    from flagc.jit import install as install
    from flagc.jit import uninstall as uninstall
    from flagc.jit import use_passes as use_passes
    from flagc.pipeline.context import PassContext as PassContext
    from flagc.pipeline.passes import Pass as Pass
    from flagc.pipeline.passes import register as register
    from flagc.session import use as use
    from flagc.targets.cuda.bundle import load_bundle as load_bundle

__version__ = "0.1.0"

_PUBLIC = {
    "Module": "flagc.ir.module",
    "Pass": "flagc.pipeline.passes",
    "PassContext": "flagc.pipeline.context",
    "baseline": "flagc.bench.baseline",
    "install": "flagc.jit",
    "load_bundle": "flagc.targets.cuda.bundle",
    "reference": "flagc.check.reference",
    "register": "flagc.pipeline.passes",
    "uninstall": "flagc.jit",
    "use": "flagc.session",
    "use_passes": "flagc.jit",
    "work": "flagc.bench.baseline",
}


def __getattr__(name: str) -> Any:
    if name in _PUBLIC:
        return getattr(importlib.import_module(_PUBLIC[name]), name)
    raise AttributeError(f"module 'flagc' has no attribute '{name}'")
