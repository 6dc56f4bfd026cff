"""Read and print MLIR of any dialect in generic form, for small edits between vendor tools.

Text is parsed in a context that registers no dialect, so no op is normalised behind our back; only
the lowering to LLVM (`full_context`) needs upstream dialects.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any


def bindings() -> Any:
    """The module `ir` of the MLIR bindings; imported late because it costs 40 ms."""
    from flagc.mlir import ir

    return ir


def plain_context() -> Any:
    """A context without dialects; unknown ops, types and attributes are kept as they are."""
    from flagc.mlir import bare_context

    return bare_context()


def full_context() -> Any:
    """A context with all upstream dialects, in which ops of other dialects may stand."""
    context = bindings().Context()
    context.allow_unregistered_dialects = True
    context.enable_multithreading(False)
    return context


def parse_generic(text: str, context: Any) -> Any:
    """The module in `text`, which must be in generic form."""
    return bindings().Module.parse(text, context)


# HIVM's memory spaces as numbers, the LLVM address spaces of the device libraries.
ADDRESS_SPACES = {"gm": 1, "cbuf": 2, "ca": 3, "cb": 4, "cc": 5, "ub": 6}


def integer_address_spaces(text: str) -> str:
    """`text` with integers for `#hivm.address_space<...>`, which the memref type does not take."""
    for name, number in ADDRESS_SPACES.items():
        text = text.replace(f"#hivm.address_space<{name}>", str(number))
    return text


def print_generic(module: Any, *, locations: bool) -> str:
    """`module` in generic form, with debug locations on request."""
    text: str = module.operation.get_asm(print_generic_op_form=True, enable_debug_info=locations)
    return text


def walk(operation: Any) -> Iterator[Any]:
    """`operation` and all operations inside it, outer before inner."""
    yield operation
    for region in operation.regions:
        for block in region.blocks:
            for inner in block.operations:
                yield from walk(inner.operation)


def remove_attribute(module: Any, name: str) -> int:
    """Remove attribute `name` from every op that has it; returns how many had it."""
    removed = 0
    for operation in walk(module.operation):
        if name in operation.attributes:
            del operation.attributes[name]
            removed += 1
    return removed


def properties(operation: Any) -> dict[str, Any]:
    """Inherent attributes of an op of an unknown dialect, which has no regions.

    MLIR keeps them in `<{...}>` and the bindings give no access, so they are read from the op's
    own generic text and parsed as a dictionary attribute.
    """
    text: str = operation.get_asm(print_generic_op_form=True, enable_debug_info=False)
    start = text.find("<{")
    if start < 0:
        return {}
    end = _closing_brace(text, start + 1)
    dictionary = bindings().Attribute.parse(text[start + 1 : end + 1], operation.context)
    return {entry.name: entry.attr for entry in bindings().DictAttr(dictionary)}


def _closing_brace(text: str, start: int) -> int:
    """Index of the brace that closes the one at `start`; braces in strings do not count."""
    depth = 0
    quoted = False
    index = start
    while index < len(text):
        character = text[index]
        if quoted and character == "\\":
            index += 1
        elif character == '"':
            quoted = not quoted
        elif not quoted:
            depth += {"{": 1, "}": -1}.get(character, 0)
            if depth == 0:
                return index
        index += 1
    raise ValueError("unbalanced braces in an op's text")


def source_line(operation: Any) -> str:
    """`kernel.py:14` for an op, or `unknown location`; of an inlined call, the caller's line."""
    from flagc.targets.ascend.vendor_process import place_of_location

    file, line, _ = place_of_location(str(operation.location))
    return f"{file}:{line}" if file else "unknown location"
