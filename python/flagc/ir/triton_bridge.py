"""Lossless transfer of modules between libtriton and the MLIR bindings.

libtriton exposes no flag for generic printing, but MLIR prints a module that does not verify in
generic form: a nonsense `llvm.data_layout` makes it fail, and is taken out of the text again.
That leaves the attribute on libtriton's module, so compilation goes on with the re-imported one.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

from triton._C.libtriton import ir as triton_ir

from flagc.errors import KernelError
from flagc.ir.module import Module

# Any string that is not a data layout; the exact spelling is what `export_text` removes.
_MARKER_NAME = "llvm.data_layout"
_MARKER_VALUE = "flagc-not-a-data-layout"


def export_text(triton_module: Any) -> str:
    """Return libtriton's module in generic form with source locations. Consumes the module.

    Raises:
        KernelError: this Triton version no longer falls back to generic form.
    """
    builder = triton_ir.builder(triton_module.context)
    triton_module.set_attr(_MARKER_NAME, builder.get_string_attr(_MARKER_VALUE))
    text = str(triton_module)
    marker = f'{_MARKER_NAME} = "{_MARKER_VALUE}"'
    if '"builtin.module"()' not in text or text.count(marker) != 1:
        raise KernelError(
            "this version of Triton does not print an unverifiable module in generic form, "
            "which flagc's IR bridge relies on; versions 3.6 to 3.9 do"
        )
    for spelling in (f"{marker}, ", f", {marker}", marker):
        if spelling in text:
            return text.replace(spelling, "", 1)
    raise AssertionError("unreachable: the marker was counted above")


def export(triton_module: Any, level: str) -> Module:
    """Return libtriton's module as a `Module`. Consumes the libtriton module."""
    return Module.parse(export_text(triton_module), level, origin=f"{level} from Triton")


def import_text(text: str, context: Any) -> Any:
    """Parse (and verify) `text` with libtriton in its `context`; any form it can read.

    Raises:
        RuntimeError: libtriton rejects the text. Its diagnostics go to file descriptor 2.
    """
    handle, path = tempfile.mkstemp(suffix=".mlir", prefix="flagc-")
    try:
        with os.fdopen(handle, "w") as file:
            file.write(text)
        return import_file(Path(path), context)
    finally:
        os.unlink(path)


def import_file(path: Path, context: Any) -> Any:
    """Parse (and verify) the file at `path` with libtriton in its `context`."""
    triton_module = triton_ir.parse_mlir_module(str(path), context)
    # A module used with a foreign context segfaults, so it carries its own.
    triton_module.context = context
    return triton_module


def import_module(module: Module, context: Any) -> Any:
    """Return `module` as a libtriton module in libtriton's `context`."""
    return import_text(module.text(), context)
