"""Every intermediate module and the time of every vendor pass, from one run of bishengir-opt.

Cutting the pipeline at each of its 188 passes costs 188 processes (3 s). Here the passes run in one
process with a separator after each: a module pass that does nothing to these modules, after which
MLIR prints. It also keeps MLIR from merging neighbouring function pipelines, so that each pass is
through with all functions before the module is printed. MLIR verifies the module after each pass.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from flagc.targets.ascend import toolchain
from flagc.targets.ascend.pass_text import VendorPass, render_pipeline
from flagc.targets.ascend.vendor_process import DEFAULT_TIMEOUT, run_tool, split_dumps

# Attaches a target to GPU modules, of which there are none.
_SEPARATOR = "nvvm-attach-target"
_SEPARATOR_CLASS = "GpuNVVMAttachTarget"
_REPORT_TITLE = "... Execution time report ..."


@dataclass(frozen=True)
class PassTrace:
    """`text` is the module after `entry`; `seconds` has a resolution of 0.1 ms."""

    entry: VendorPass
    text: str
    seconds: float


def trace_passes(
    text: str,
    passes: Sequence[VendorPass],
    *,
    generic_out: bool = False,
    locations: bool = True,
    timeout: float = DEFAULT_TIMEOUT,
) -> list[PassTrace]:
    """Run `passes` on the module `text`; one entry for each pass, in order.

    Raises VendorError like `run_passes` when a pass fails. The last entry's text is `run_passes`'s
    result.
    """
    arguments = [
        "-",
        f"--pass-pipeline={_with_separators(passes)}",
        f"--mlir-print-ir-after={_SEPARATOR}",
        "--mlir-print-ir-module-scope",
        "--mlir-disable-threading",
        "--mlir-timing",
        "--mlir-timing-display=tree",
        *(["--mlir-print-debuginfo"] if locations else []),
        *(["--mlir-print-op-generic"] if generic_out else []),
        *("-o", "module.mlir"),
    ]
    output = run_tool(toolchain.bishengir_opt(), arguments, text, timeout=timeout)
    printed, _, report = output.stderr.partition(_REPORT_TITLE)
    modules = [dump.text for dump in split_dumps(printed)[1]]
    times = _times(report)
    if len(modules) != len(passes) or len(times) != len(passes):
        raise AssertionError(
            f"bishengir-opt printed {len(modules)} modules and {len(times)} times for "
            f"{len(passes)} passes; its print format has changed"
        )
    return [PassTrace(*row) for row in zip(passes, modules, times, strict=True)]


def _with_separators(passes: Sequence[VendorPass]) -> str:
    """Pipeline text with a separator after each pass."""
    separated = []
    for index, entry in enumerate(passes):
        # A group of its own: a nested pass must not share its pipeline with the next one.
        separated.append(replace(entry, group=2 * index + 1))
        separated.append(VendorPass(_SEPARATOR, "", 1, (), 2 * index))
    return render_pipeline(separated)


def _times(report: str) -> list[float]:
    """Seconds of each pass: between two separators stands one pass, with its analyses below it."""
    times: list[float] = []
    current: float | None = None
    for line in report.splitlines():
        seconds, _, name = line.strip().partition(" (")
        name = name.partition(")")[2].strip()
        if not name or name in {"Parser", "Output", "Rest", "Total"}:
            continue
        if name == _SEPARATOR_CLASS:
            times.append(current or 0.0)
            current = None
        elif current is None:
            # For a nested pass this is its pipeline's line, which comes first and includes it.
            current = float(seconds)
    return times
