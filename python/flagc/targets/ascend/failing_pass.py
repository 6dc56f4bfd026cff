"""Which of the vendor's passes failed on a kernel, and the module it was given."""

from __future__ import annotations

import json
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

from flagc.targets.ascend import toolchain
from flagc.targets.ascend.pass_text import VendorPass, parse_pipeline, render_pipeline
from flagc.targets.ascend.vendor_pipeline import ATTEMPTS, vendor_passes
from flagc.targets.ascend.vendor_process import DEFAULT_TIMEOUT, VendorError, run_tool

_RESOURCES = "\n{-#"
_LABEL = "// -----// IR Dump "
# Seconds after which a pass counts as hanging; the slowest kernels of the corpus that compile at
# all need a few seconds for all passes.
HANG_LIMIT = 20.0


@dataclass(frozen=True)
class FailingPass:
    """`entry` failed or crashed on `module_text` (generic form, with locations)."""

    entry: VendorPass
    module_text: str
    error: VendorError


def find_failing_pass(
    linalg_text: str, chip: str, attempt: int = ATTEMPTS[-1], timeout: float = DEFAULT_TIMEOUT
) -> FailingPass | None:
    """Run the pipeline once more so that MLIR keeps what its failing pass was given.

    None when nothing fails this time, or when the failure leaves no trace (a time limit). The
    default is the last attempt: its buffers are the smallest that the vendor tries.
    """
    with tempfile.TemporaryDirectory(prefix="flagc-reproducer-") as folder:
        path = Path(folder) / "reproducer.mlir"
        arguments = [
            "-",
            f"--pass-pipeline={render_pipeline(vendor_passes(chip, attempt))}",
            f"--mlir-pass-pipeline-crash-reproducer={path}",
            "--mlir-pass-pipeline-local-reproducer",
            "--mlir-disable-threading",
            "--mlir-print-debuginfo",
            "--mlir-print-op-generic",
        ]
        try:
            run_tool(toolchain.bishengir_opt(), arguments, linalg_text, timeout=timeout)
            return None
        except VendorError as error:
            if not path.is_file():
                return None
            module_text, _, resources = path.read_text().partition(_RESOURCES)
            found = _numbered(_only_pass(resources), vendor_passes(chip, attempt))
            return FailingPass(found, module_text, error)


def find_hanging_pass(
    linalg_text: str, chip: str, attempt: int = 1, timeout: float = HANG_LIMIT
) -> VendorPass | None:
    """The pass in which the pipeline stands after `timeout` seconds; None when it is through.

    A printer after each pass tells how far it got; it prints the module's first line only.
    """
    passes = vendor_passes(chip, attempt)
    printed: list[VendorPass] = []
    for index, entry in enumerate(passes):
        printed.append(replace(entry, group=2 * index + 1))
        printed.append(VendorPass("print-ir", f"label={index}", 1, (), 2 * index))
    arguments = [
        "-",
        f"--pass-pipeline={render_pipeline(printed)}",
        "--mlir-print-skip-regions",
        "--mlir-disable-threading",
    ]
    try:
        run_tool(toolchain.bishengir_opt(), arguments, linalg_text, timeout=timeout)
    except VendorError as error:
        if error.kind != "timeout":
            return None
        heads = [line for line in error.stderr_tail.splitlines() if _LABEL in line]
        done = int(heads[-1].partition(_LABEL)[2].partition(" ")[0]) + 1 if heads else 0
        return passes[done]
    return None


def _numbered(found: VendorPass, passes: list[VendorPass]) -> VendorPass:
    """`found` with its place in the pipeline, where its options single it out."""
    same = [entry for entry in passes if entry.text == found.text]
    return same[0] if len(same) == 1 else found


def _only_pass(resources: str) -> VendorPass:
    """The pass named in a reproducer's resource section."""
    for line in resources.splitlines():
        key, _, value = line.strip().partition(": ")
        if key == "pipeline":
            return parse_pipeline(json.loads(value.rstrip(",")))[0]
    return VendorPass("unknown", "", 1, (), 0)
