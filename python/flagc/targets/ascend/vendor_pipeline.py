"""The vendor's pass pipeline, pass by pass: each pass can be run, timed, dumped or stepped around.

`vendor_pipeline/attempt*.txt` hold what bishengir-compile 1.2.0 runs (see
tools/maintenance/extract_vendor_pipeline.py). They are the same for every kernel and chip but for
the chip's name. Attempt 1 is the normal one; when memory planning reports an overflow the driver
starts again without code motion (attempt 2), then also without multi-buffering (attempt 3).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

from flagc.targets.ascend import toolchain
from flagc.targets.ascend.chips import chip as find_chip
from flagc.targets.ascend.pass_text import VendorPass, parse_pipeline, render_pipeline
from flagc.targets.ascend.vendor_process import DEFAULT_TIMEOUT, VendorError, run_tool

PIPELINE_FOLDER = Path(__file__).parent / "vendor_pipeline"
# Stands for the chip's name in the files.
CHIP_MARK = "@CHIP@"
ATTEMPTS = (1, 2, 3)

# What memory planning says when a buffer plan does not fit; the driver retries on these alone.
OVERFLOWS = ("cc overflow", "cbuf overflow", "ub overflow")


def vendor_passes(chip: str, attempt: int = 1) -> list[VendorPass]:
    """The passes that bishengir-compile runs for `chip` in its given attempt, in order."""
    if attempt not in ATTEMPTS:
        raise ValueError(f"attempt {attempt}: bishengir-compile makes attempts 1, 2 and 3")
    text = (PIPELINE_FOLDER / f"attempt{attempt}.txt").read_text()
    return list(_parsed(text.replace(CHIP_MARK, find_chip(chip).name)))


@lru_cache(maxsize=8)
def _parsed(text: str) -> tuple[VendorPass, ...]:
    return tuple(parse_pipeline(text))


def run_passes(
    text: str,
    passes: Sequence[VendorPass],
    *,
    generic_out: bool = False,
    locations: bool = True,
    timeout: float = DEFAULT_TIMEOUT,
) -> str:
    """Run a contiguous segment of the pipeline on the module `text` (pretty or generic form).

    No pass at all prints the module again, in the form asked for. Raises `VendorError`.
    """
    arguments = ["-", "--mlir-disable-threading"]
    if passes:
        arguments.append(f"--pass-pipeline={render_pipeline(passes)}")
    if locations:
        arguments.append("--mlir-print-debuginfo")
    if generic_out:
        arguments.append("--mlir-print-op-generic")
    return run_tool(toolchain.bishengir_opt(), arguments, text, timeout=timeout).stdout


def canonical(text: str) -> str:
    """`text` such that equal modules are equal strings: generic form without locations.

    It is printed in pretty form first: generic form spells default-valued properties out
    (`nontemporal = false`) once it has been read from generic form, but not before.
    """
    pretty = run_passes(text, [], locations=False)
    return run_passes(pretty, [], generic_out=True, locations=False)


def is_overflow(error: VendorError) -> bool:
    """True when `error` is memory planning's, on which the driver tries again with less."""
    return any(entry.text.startswith(OVERFLOWS) for entry in error.diagnostics)
