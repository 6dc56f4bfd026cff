"""Failures of the vendor's tools as messages that a kernel author can act on."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import Literal

from flagc.targets.ascend.chips import AscendChip
from flagc.targets.ascend.chips import chip as find_chip
from flagc.targets.ascend.failing_pass import (
    HANG_LIMIT,
    FailingPass,
    find_failing_pass,
    find_hanging_pass,
)
from flagc.targets.ascend.on_chip_buffers import (
    Buffer,
    buffers_in,
    common_depth,
    largest_tile_rows,
    power_of_two_below,
    scaled_block,
)
from flagc.targets.ascend.text_locations import (
    kernel_line,
    kernel_place,
    masked_load_without_other,
    op_at_line,
)
from flagc.targets.ascend.vendor_process import VendorDiagnostic, VendorError

Kind = Literal["capacity", "unsupported", "crash", "timeout", "error"]

# The vendor's name of a memory in overflow messages: ours, and the buffers' address space.
_MEMORIES = {"cc": "L0C", "cbuf": "L1", "ub": "UB"}
_OVERFLOW = " overflow, requires "
# How many buffers a message lists.
_LISTED = 3

# Ops that flagc knows a way around, and what to tell.
_REMEDIES = {
    "tt.extern_elementwise": "keep the pass libdevice-to-math in the pipeline; if it is there, "
    "this libdevice function has no counterpart on Ascend: write it with tl.math functions",
    "llvm.intr.assume": "keep the pass drop-assume in the pipeline, or remove tl.assume",
    "tt.descriptor_load": "keep the pass descriptors-to-pointers in the pipeline, or use pointers",
    "tt.descriptor_store": "keep the pass descriptors-to-pointers in the pipeline, or use pointers",
}
# Words of an assertion or message: what they mean for the kernel.
_MISSING_OTHER = "Unsupported type for constant creation"
_KNOWN_TEXTS = {
    _MISSING_OTHER: "a masked tl.load without `other`: give other=0, or "
    "keep the pass explicit-other in the pipeline",
    "strides must not be zero": "a block pointer or access with stride 0; broadcast after loading",
}


@dataclass(frozen=True)
class AscendDiagnosis:
    """One failure. `message` is complete with place and advice; `line` is 1-based, 0 if unknown."""

    kind: Kind
    message: str
    file: str | None = None
    line: int = 0
    hint: str = ""
    memory: str | None = None
    needed_bytes: int = 0
    available_bytes: int = 0
    failing_pass: str | None = None
    reproducer: FailingPass | None = None


def diagnose(
    error: VendorError,
    chip: str,
    linalg_text: str | None = None,
    ttir_text: str | None = None,
) -> AscendDiagnosis:
    """What went wrong, in terms of the kernel.

    `linalg_text` is what bishengir-compile was given, if it came to that: the pipeline is run once
    more to name the failing pass and the buffers that do not fit. `ttir_text` is what the adapter
    was given; it tells the kernel's line where the adapter names a place in its input or none.
    """
    if error.kind == "timeout":
        return _timeout(error, chip, linalg_text)
    failing = find_failing_pass(linalg_text, chip) if linalg_text is not None else None
    overflow = _first_overflow(error) or (failing and _first_overflow(failing.error))
    if overflow:
        return _capacity(overflow, find_chip(chip), failing)
    if error.kind == "crash":
        return _crash(error, failing, ttir_text)
    return _unsupported(error, failing, linalg_text or ttir_text)


def _first_overflow(error: VendorError) -> VendorDiagnostic | None:
    for entry in error.diagnostics:
        if entry.text.partition(_OVERFLOW)[0] in _MEMORIES and _OVERFLOW in entry.text:
            return entry
    return None


def _capacity(
    overflow: VendorDiagnostic, chip: AscendChip, failing: FailingPass | None
) -> AscendDiagnosis:
    space, _, rest = overflow.text.partition(_OVERFLOW)
    words = rest.split()
    needed, available = int(words[0]) // 8, int(words[3]) // 8
    buffers = buffers_in(failing.module_text, space) if failing else []
    file, line = overflow.file, overflow.line
    if buffers and buffers[0].line:
        file, line = buffers[0].file, buffers[0].line
    hint = _capacity_hint(space, buffers, needed, available)
    parts = [
        f"{_MEMORIES[space]} overflow: {_need(space, buffers)} {needed} bytes, "
        f"{chip.short_name} has {available}"
    ]
    if space != "cc" and buffers:
        parts.append(f"biggest buffers: {_listing(buffers)}")
    if hint:
        parts.append(hint)
    return AscendDiagnosis(
        "capacity",
        "; ".join(parts) + _at(file, line),
        file,
        line,
        hint,
        _MEMORIES[space],
        needed,
        available,
        failing.entry.anchor if failing else None,
    )


def _need(space: str, buffers: list[Buffer]) -> str:
    """Whose need it is, with the verb: the accumulators', the block's or the tiles'."""
    if space == "cc" and buffers:
        shapes = " + ".join(f"{'x'.join(map(str, b.shape))} {_type(b.element)}" for b in buffers)
        return f"{shapes} accumulator needs" if len(buffers) == 1 else f"{shapes} accumulators need"
    if space == "ub" and buffers:
        biggest = buffers[0]
        shape = f"{'x'.join(map(str, biggest.shape))} = " if len(biggest.shape) > 1 else ""
        return f"a kernel with blocks of {shape}{biggest.elements} {_type(biggest.element)} needs"
    return "the kernel's tiles need" if space == "cbuf" else "the kernel needs"


def _type(element: str) -> str:
    """Triton's spelling of an element type."""
    if element in {"f16", "f32", "f64"}:
        return element.replace("f", "fp")
    return element.replace("i", "int") if element.startswith("i") else element


def _capacity_hint(space: str, buffers: list[Buffer], needed: int, available: int) -> str:
    if not buffers:
        return ""
    biggest = buffers[0]
    if space == "cc" and len(biggest.shape) == 2:
        rows, columns = largest_tile_rows(biggest, needed - biggest.bytes, available)
        return (
            f"largest legal tiles: BLOCK_M <= {rows} with BLOCK_N = {biggest.shape[1]}, or "
            f"BLOCK_N <= {columns} with BLOCK_M = {biggest.shape[0]}"
        )
    depth = common_depth(buffers) if space == "cbuf" else None
    if depth is not None:
        fit = power_of_two_below(depth * available / needed)
        return f"largest legal BLOCK_K with these tiles: {fit} instead of {depth}"
    block = scaled_block(biggest.elements, needed, available)
    return (
        f"largest legal block by scaling: {block} elements instead of {biggest.elements}; loop "
        "over the rest, or let the pass split-large-blocks cut the block"
    )


def _listing(buffers: list[Buffer]) -> str:
    """The biggest buffers, equal ones of one line counted together."""
    counts: dict[Buffer, int] = {}
    for buffer in buffers:
        counts[buffer] = counts.get(buffer, 0) + 1
    shown = list(counts.items())[:_LISTED]
    return ", ".join(
        (f"{count} times " if count > 1 else "") + str(buffer) + _at(buffer.file, buffer.line)
        for buffer, count in shown
    )


def _unsupported(
    error: VendorError, failing: FailingPass | None, text_given: str | None
) -> AscendDiagnosis:
    errors = [entry for entry in error.diagnostics if entry.severity == "error"]
    if failing:
        errors += [entry for entry in failing.error.diagnostics if entry.severity == "error"]
    entry = next((e for e in errors if _operation_in(e.text)), errors[0] if errors else None)
    if entry is None:
        told = error.stderr_tail.strip().splitlines()
        return AscendDiagnosis(
            "error", f"{error.tool} failed: {told[-1] if told else 'it said nothing'}"
        )
    operation = _operation_in(entry.text)
    text = entry.text
    file, line = entry.file, entry.line
    in_input = file is None and line > 0
    if in_input and text_given is not None:
        # The tool's parser stopped: name the op that stands there and the line it came from.
        file, line = kernel_line(text_given, entry.line)
        if operation is None and (there := op_at_line(text_given, entry.line)):
            text = f"cannot parse '{there}': {text}"
    hint = _REMEDIES.get(operation or "", "") or _known(error.stderr_tail)
    name = failing.entry.anchor if failing else None
    what = f"{error.tool}: {text}" + (f" (in pass {name})" if name else "")
    what += f" (line {entry.line} of the input)" if in_input else ""
    message = f"not supported on Ascend: {what}" if operation else what
    kind: Kind = "unsupported" if operation else "error"
    return _finished(kind, message, (file, line), hint, name)


def _operation_in(text: str) -> str | None:
    """The op that an MLIR message is about: the first quoted `dialect.name`."""
    for quoted in text.split("'")[1::2]:
        dialect, dot, name = quoted.partition(".")
        if dot and dialect.isidentifier() and name.replace(".", "_").isidentifier():
            return quoted
    return None


def _crash(
    error: VendorError, failing: FailingPass | None, ttir_text: str | None
) -> AscendDiagnosis:
    name = failing.entry.anchor if failing else None
    reason = _assertion(error.stderr_tail)
    message = f"{error.tool} crashed ({error.signal_name})"
    message += f" in pass {name}" if name else ""
    message += f": {reason}" if reason else ""
    place = next((entry for entry in error.diagnostics if entry.file), None)
    file, line = (place.file, place.line) if place else (None, 0)
    if file is None and failing is not None:
        file, line = kernel_place(failing.module_text)
    if file is None and ttir_text is not None and _MISSING_OTHER in error.stderr_tail:
        file, line = masked_load_without_other(ttir_text)
    hint = _known(error.stderr_tail)
    return replace(_finished("crash", message, (file, line), hint, name), reproducer=failing)


def _assertion(stderr: str) -> str:
    """The assertion or unreachable text in a crash log."""
    lines = stderr.splitlines()
    for index, line in enumerate(lines):
        if "Assertion `" in line:
            return line[line.index("Assertion `") :].strip()
        if "LLVM ERROR:" in line:
            return line.strip()
        if "UNREACHABLE executed" in line and index:
            return lines[index - 1].strip()
    return ""


def _known(stderr: str) -> str:
    return next((advice for text, advice in _KNOWN_TEXTS.items() if text in stderr), "")


def _timeout(error: VendorError, chip: str, linalg_text: str | None) -> AscendDiagnosis:
    message = f"{error.tool} did not finish within {error.timeout:g} s and was stopped"
    limit = min(HANG_LIMIT, error.timeout or HANG_LIMIT)
    hanging = None
    if linalg_text is not None:
        hanging = find_hanging_pass(linalg_text, chip, timeout=limit)
    if hanging is not None:
        message += f"; after {limit:g} s it is in pass {hanging.anchor}"
    hint = "smaller blocks or fewer unrolled iterations compile faster"
    return _finished("timeout", message, (None, 0), hint, hanging.anchor if hanging else None)


def _finished(
    kind: Kind, message: str, place: tuple[str | None, int], hint: str, failing: str | None
) -> AscendDiagnosis:
    file, line = place
    text = message + (f"; {hint}" if hint else "") + _at(file, line)
    return AscendDiagnosis(kind, text, file, line, hint, failing_pass=failing)


def _at(file: str | None, line: int) -> str:
    return f" ({PurePath(file).name}:{line})" if file and line else ""
