"""Stages hivm and final through bishengir-compile itself: linalg to the module that hivmc takes.

One run costs 0.05 s for a GEMM: the driver is asked to print after two passes instead of all 254.
It is the reference for `vendor_pipeline`, which runs the same passes in segments.
"""

from __future__ import annotations

from dataclasses import dataclass

from flagc.targets.ascend import toolchain
from flagc.targets.ascend.chips import chip as find_chip
from flagc.targets.ascend.vendor_process import (
    DEFAULT_TIMEOUT,
    VendorError,
    failure_of,
    run_tool,
    split_dumps,
)

# The last pass; what it leaves is hivmc's input.
FINAL_PASS = "convert-hivm-to-std"
# What it takes still has hivm.hir.mmadL1, nd2nz, fixpipe and the flags: the stage `hivm`.
HIVM_PASS = "hivm-insert-free-lock-var-before-return"

# bishengir-compile probes for hivmc at start, says "Cannot find hivmc" and goes on; only this text
# means that all its passes are through.
_PASSES_DONE = "External hivmc run fails, returning module before running external compiler"
# The driver asks a hivmc on PATH for its version and writes that into the module, and would run it.
# Hidden from it, the module is the same on every machine; `hivm_object` runs hivmc.
_WITHOUT_HIVMC = {"PATH": "/nonexistent"}
_RETRY = "and retrying compilation"


@dataclass(frozen=True)
class DriverResult:
    """What bishengir-compile made of a kernel.

    `hivm` and `final` are module texts. `attempt` counts from 1: later attempts gave up code
    motion, then multi-buffering, because memory planning failed; `notes` are the driver's words.
    """

    hivm: str
    final: str
    attempt: int
    hivmc_found: bool
    notes: tuple[str, ...] = ()


def compile_options(chip: str) -> list[str]:
    """bishengir-compile's options for a Triton kernel, as triton-ascend 3.2.0 gives them."""
    return [
        f"--target={find_chip(chip).name}",
        "--enable-auto-multi-buffer=true",
        "--enable-auto-bind-sub-block=true",
        "--enable-hfusion-compile=true",
        "--enable-hivm-compile=true",
        "--enable-triton-kernel-compile=true",
        "--hivmc-version=0.2.0",
    ]


def compile_final(
    linalg_text: str, chip: str, timeout: float = DEFAULT_TIMEOUT
) -> tuple[str, bool]:
    """The text of hivmc's input, and whether hivmc is on PATH."""
    result = compile_linalg(linalg_text, chip, timeout=timeout)
    return result.final, result.hivmc_found


def compile_linalg(
    linalg_text: str, chip: str, *, generic: bool = False, timeout: float = DEFAULT_TIMEOUT
) -> DriverResult:
    """Run all of bishengir-compile's passes on `linalg_text`.

    Raises `VendorError` when a pass fails, when memory planning fails in every attempt, and when
    the program crashes or exceeds `timeout` seconds.
    """
    arguments = ["-", *compile_options(chip), "-o", "kernel"]
    arguments += [f"--mlir-print-ir-after={name}" for name in (HIVM_PASS, FINAL_PASS)]
    arguments += ["--mlir-print-ir-module-scope", "--mlir-print-debuginfo"]
    arguments += ["--mlir-disable-threading"]
    if generic:
        arguments.append("--mlir-print-op-generic")
    tool = toolchain.bishengir_compile()
    output = run_tool(
        tool, arguments, linalg_text, timeout=timeout, ok=range(128), environment=_WITHOUT_HIVMC
    )
    messages, printed = split_dumps(output.stderr)
    dumps = {dump.name: dump.text for dump in printed}
    if FINAL_PASS not in dumps or _PASSES_DONE not in messages:
        raise failure_of(tool, 1, messages)
    notes = tuple(line for line in messages.splitlines() if _RETRY in line)
    return DriverResult(
        hivm=dumps[HIVM_PASS],
        final=dumps[FINAL_PASS],
        attempt=1 + len(notes),
        hivmc_found=toolchain.hivmc() is not None,
        notes=notes,
    )


__all__ = ["DriverResult", "VendorError", "compile_final", "compile_linalg", "compile_options"]
