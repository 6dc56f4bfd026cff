"""Read the instructions of PTX text, each with the kernel's source line.

Only what flagc looks at is understood: instructions with predicate, opcode and operands, and the
directives `.file` and `.loc`. Everything else is passed over.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

# Sections of debug information begin here; no instruction stands behind it.
_SECTION = ".section"


@dataclass(frozen=True)
class PtxInstruction:
    """One instruction: `opcode` is `wgmma.mma_async.sync.aligned...`, split at its dots.

    `operands` are the top-level operands as they are spelled. `file` is the source file's name
    without folders ('' when unknown), `line` counts from 1, 0 when unknown. Of inlined code it is
    the innermost place.
    """

    opcode: tuple[str, ...]
    operands: tuple[str, ...]
    file: str
    line: int


def read_instructions(ptx: str) -> list[PtxInstruction]:
    """Return the instructions of all functions of `ptx` in order."""
    files: dict[int, str] = {}
    found: list[tuple[tuple[str, ...], tuple[str, ...], int, int]] = []
    file, line = 0, 0
    for statement in _statements(ptx):
        words = statement.split()
        if words[0] == ".file":
            files[int(words[1])] = Path(statement.split('"')[1]).name
        elif words[0] == ".loc":
            file, line = int(words[1]), int(words[2])
        elif not words[0].startswith((".", "$", "%")):
            opcode, operands = _instruction(statement)
            if opcode:
                found.append((opcode, operands, file, line))
    return [
        PtxInstruction(opcode, operands, files.get(number, ""), at)
        for opcode, operands, number, at in found
    ]


def _statements(ptx: str) -> Iterator[str]:
    """Yield statements: what ends with a semicolon, and directives of one line."""
    pending = ""
    for raw in ptx.splitlines():
        text = raw.partition("//")[0].strip()
        if text.startswith(_SECTION):
            return
        if not pending and text.startswith((".loc", ".file")):
            yield text
            continue
        # A brace alone is a scope; braces inside a statement hold a vector of operands.
        if not pending and (text in ("", "{", "}", "(", ")") or text.endswith(":")):
            continue
        pending = f"{pending} {text}".strip()
        *complete, pending = pending.split(";")
        yield from (statement.strip() for statement in complete if statement.strip(" {}\t"))
        pending = pending.strip()
        if pending in ("{", "}"):
            pending = ""
    # What is left over has no end and is no instruction.


def _instruction(statement: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    text = statement.lstrip("{ \t")
    if text.startswith("@"):
        _, _, text = text.partition(" ")
    opcode, _, rest = text.strip().partition(" ")
    if not opcode or not opcode[0].isalpha():
        return (), ()
    return tuple(opcode.split(".")), tuple(_operands(rest))


def _operands(text: str) -> Iterator[str]:
    """Yield the comma-separated operands outside of brackets."""
    depth, start = 0, 0
    for index, character in enumerate(text):
        if character in "{[(":
            depth += 1
        elif character in "}])":
            depth -= 1
        elif character == "," and depth == 0:
            yield text[start:index].strip()
            start = index + 1
    if last := text[start:].strip():
        yield last
