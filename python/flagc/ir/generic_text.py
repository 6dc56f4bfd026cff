"""Make generic MLIR text, as another MLIR version prints it, parse losslessly in a bare context.

Two things in such text would lose information there:

* attribute and type aliases (`#blocked`, `!memdesc`) inside opaque bodies such as
  `!ttg.memdesc<64x64xf16, #shared>` stay raw text, so aliases are replaced by their definitions;
* properties `<{...}>` of unregistered ops are not visible as attributes, so they are moved into
  the attribute dictionary, from where MLIR's generic parser reads them back into properties.

Both are rewrites of the token stream, done before a parse tree can exist.
"""

from __future__ import annotations

import re

_STRING = r'"(?:[^"\\]|\\.)*"'
_ALIAS_DEFINITION = re.compile(r"^([#!][A-Za-z_][\w$]*) = (?!loc\()(.*)$", re.MULTILINE)
_ALIAS_USE = re.compile(_STRING + r"|([#!][A-Za-z_][\w$]*)(?![\w$.<])")
_BRACKET = re.compile(_STRING + r"|<\{|\}>|[{}]")


def inline_aliases(text: str) -> str:
    """Replace every attribute and type alias in `text` by its definition.

    Location aliases are left alone: they never stand inside opaque text.
    """
    definitions: dict[str, str] = {}

    def expand(match: re.Match[str]) -> str:
        name = match.group(1)
        return definitions.get(name, match.group(0)) if name else match.group(0)

    for match in _ALIAS_DEFINITION.finditer(text):
        # The printer defines an alias before its first use, so earlier ones are expanded here.
        definitions[match.group(1)] = _ALIAS_USE.sub(expand, match.group(2))
    if not definitions:
        return text
    body = _ALIAS_DEFINITION.sub("", text)
    return _ALIAS_USE.sub(expand, body)


def _matching_close(text: str, start: int) -> int:
    """Return the offset just past the bracket that closes the `{` or `<{` at `start`."""
    depth = 0
    for match in _BRACKET.finditer(text, start):
        token = match.group(0)
        if token in ("{", "<{"):
            depth += 1
        elif token in ("}", "}>"):
            depth -= 1
            if depth == 0:
                return match.end()
    raise ValueError("unbalanced braces in generic MLIR text")


_PROPERTY_OR_REGION = re.compile(_STRING + r"|(?<=[)\]] )(<\{)|(\(\{)|(\}\))|(?<!\}, )(\{)")


def properties_to_attributes(text: str) -> str:
    """Move each op's `<{properties}>` into its attribute dictionary.

    In generic form an op reads `"name"(operands)[successors] <{properties}> ({regions})
    {attributes} : type`; with regions present, the dictionary to merge into follows them.

    Raises:
        ValueError: braces in `text` do not balance.
    """
    output: list[str] = []
    pending: list[str | None] = []
    position = 0
    scan_from = 0
    while match := _PROPERTY_OR_REGION.search(text, scan_from):
        start = match.start()
        if match.group(1):
            end = _matching_close(text, start)
            properties = text[start + 2 : end - 2]
            output.append(text[position : start - 1])
            if text.startswith(" ({", end):
                output.append(" ({")
                pending.append(properties)
                position = scan_from = end + 3
            else:
                merged, position = _merge_dictionary(text, end, properties)
                output.append(merged)
                scan_from = position
        elif match.group(2):
            pending.append(None)
            scan_from = match.end()
        elif match.group(3):
            held = pending.pop() if pending else None
            scan_from = match.end()
            if held is not None:
                output.append(text[position : match.end()])
                merged, position = _merge_dictionary(text, match.end(), held)
                output.append(merged)
                scan_from = position
        elif match.group(4):
            # An attribute dictionary: no op in it. (A region that follows another one, `}, {`, is
            # not matched here, so its ops are seen.)
            scan_from = _matching_close(text, start)
        else:
            scan_from = match.end()
    output.append(text[position:])
    return "".join(output)


def _merge_dictionary(text: str, end: int, properties: str) -> tuple[str, int]:
    """Return the dictionary holding `properties` and the one at `end`, and where that one ends."""
    if not text.startswith(" {", end):
        return " {" + properties + "}", end
    close = _matching_close(text, end + 1)
    inner = text[end + 2 : close - 1]
    joined = ", ".join(part for part in (properties, inner) if part)
    return " {" + joined + "}", close


def normalise(text: str) -> str:
    """Return `text` with aliases inlined and properties moved into attributes."""
    return properties_to_attributes(inline_aliases(text))
