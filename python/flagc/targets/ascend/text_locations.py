"""Kernel source lines for places in a stage's text, and for ops that a vendor tool choked on."""

from __future__ import annotations

from flagc.targets.ascend import toolchain
from flagc.targets.ascend.generic_ir import (
    integer_address_spaces,
    parse_generic,
    plain_context,
    properties,
    walk,
)
from flagc.targets.ascend.vendor_process import VendorError, place_of_location, run_tool

Place = tuple[str | None, int]


def kernel_line(text: str, line: int) -> Place:
    """The kernel's file and line that line `line` (1-based) of a printed module came from.

    Reads the line's trailing `loc(...)` and follows location aliases (`#loc7`, which may name
    others) to the first that names a file; (None, 0) when there is none. For text that no parser
    takes, which is when it is needed.
    """
    lines = text.splitlines()
    if not 1 <= line <= len(lines):
        return None, 0
    aliases = {}
    for entry in lines:
        name, equals, value = entry.partition(" = loc(")
        if equals and name.startswith("#loc"):
            aliases[name] = value
    current = lines[line - 1].rpartition(" loc(")[2]
    for _ in range(len(aliases) + 1):
        file, number, _column = place_of_location(current)
        if file is not None:
            return file, number
        start = current.rfind("#loc")
        name = current[start:].partition(")")[0].strip() if start >= 0 else ""
        if name not in aliases:
            break
        current = aliases[name]
    return None, 0


def op_at_line(text: str, line: int) -> str | None:
    """The op that line `line` (1-based) of a printed module begins, as `dialect.name`."""
    lines = text.splitlines()
    if not 1 <= line <= len(lines):
        return None
    words = lines[line - 1].partition(" = ")[2].split() or lines[line - 1].split()
    word = words[0].strip('"').partition("(")[0] if words else ""
    dialect, dot, name = word.partition(".")
    return (
        word if dot and dialect.isidentifier() and name.replace(".", "_").isidentifier() else None
    )


def kernel_place(module_text: str) -> Place:
    """File and line of the kernel's definition, from a generic module with locations."""
    with plain_context() as context:
        module = parse_generic(integer_address_spaces(module_text), context)
        for operation in module.body.operations:
            file, line, _ = place_of_location(str(operation.location))
            if file is not None:
                return file, line
    return None, 0


def masked_load_without_other(ttir_text: str) -> Place:
    """The first `tt.load` in `ttir_text` that has a mask and no `other`; (None, 0) without one."""
    arguments = ["-", "--mlir-print-debuginfo", "--mlir-print-op-generic"]
    try:
        generic = run_tool(toolchain.adapter(), arguments, ttir_text).stdout
    except VendorError:
        return None, 0
    with plain_context() as context:
        module = parse_generic(generic, context)
        for operation in walk(module.operation):
            # Operand groups of tt.load: pointer, mask, other.
            if operation.name == "tt.load":
                segments = properties(operation).get("operandSegmentSizes")
                if segments is not None and list(segments) == [1, 1, 0]:
                    file, line, _ = place_of_location(str(operation.location))
                    return file, line
    return None, 0
