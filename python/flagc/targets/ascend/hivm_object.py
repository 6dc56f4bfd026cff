"""Stage object: the kernel's binary, through CANN's hivmc when it is on PATH."""

from __future__ import annotations

import tempfile
from pathlib import Path

from flagc.targets.ascend import toolchain
from flagc.targets.ascend.vendor_driver import compile_options
from flagc.targets.ascend.vendor_process import DEFAULT_TIMEOUT, run_tool

NEEDS_CANN = (
    "the kernel object needs hivmc of Huawei's CANN toolkit on PATH; produced instead: hivmc's "
    "input (stage final) and the linked LLVM IR (stage llvm)"
)


def linalg_to_object(linalg_text: str, chip: str, timeout: float = DEFAULT_TIMEOUT) -> bytes | None:
    """The kernel object, or None without hivmc (tell the user NEEDS_CANN).

    Not tried on a machine with CANN: bishengir-compile calls hivmc itself, as in triton-ascend.
    """
    if toolchain.hivmc() is None:
        return None
    with tempfile.TemporaryDirectory(prefix="flagc-object-") as folder:
        target = Path(folder) / "kernel.o"
        arguments = ["-", *compile_options(chip), "-o", str(target)]
        run_tool(toolchain.bishengir_compile(), arguments, linalg_text, timeout=timeout)
        # Some versions append the suffix to the name that they are given.
        written = target if target.is_file() else target.with_suffix(".o.o")
        return written.read_bytes()
