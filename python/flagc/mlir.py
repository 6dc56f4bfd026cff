"""The only place that imports MLIR Python bindings.

flagc uses the upstream bindings that the `torch-mlir` package carries. IR is always parsed in a
*bare* context, which registers no dialect beyond builtin: a registered dialect may normalise ops
in ways that Triton's or the vendor's version of MLIR then rejects.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

from flagc.errors import EnvironmentProblem

try:
    from torch_mlir import ir, rewrite
except ImportError as import_error:  # pragma: no cover - exercised on machines without the package
    raise EnvironmentProblem(
        "flagc's passes need the MLIR Python bindings of the package 'torch-mlir', which could "
        f"not be imported ({import_error}); install them with `pip install torch-mlir`"
    ) from import_error


# The bindings look for a Python module of the dialect of every op that they hand out. For dialects
# that have none they search the disk each time, which takes longer than all else that passes do.
for _dialect in ("tt", "ttg", "ttng", "staged", "hivm", "hacc", "hfusion", "annotation", "scope"):
    _name = f"torch_mlir.dialects.{_dialect}"
    sys.modules.setdefault(_name, ModuleType(_name))


def bare_context() -> Any:
    """Return a new MLIR context without registered dialects and without threads."""
    context = ir.Context.__mro__[1]()
    context.allow_unregistered_dialects = True
    context.enable_multithreading(False)
    return context


def version() -> str:
    """Return the version of the package that carries the bindings, or 'unknown' when unpacked."""
    from importlib.metadata import PackageNotFoundError
    from importlib.metadata import version as distribution_version

    try:
        return distribution_version("torch-mlir")
    except PackageNotFoundError:
        return "unknown"


def run_upstream_passes(module: Any, pipeline: str) -> None:
    """Run upstream passes, given as pipeline text, on a module whose context has the dialects."""
    from torch_mlir.passmanager import PassManager

    PassManager.parse(pipeline, module.context).run(module.operation)


def translate_to_llvm_ir(module: Any) -> str:
    """Return the LLVM IR text of a module in LLVM dialect."""
    from torch_mlir.dialects import llvm

    return str(llvm.translate_module_to_llvmir(module.operation))


__all__ = [
    "bare_context",
    "ir",
    "rewrite",
    "run_upstream_passes",
    "translate_to_llvm_ir",
    "version",
]
