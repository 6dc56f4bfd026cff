"""MLIR pass pipelines as data: parse the text, number the passes, render any segment again."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import groupby

from flagc.errors import UsageError


@dataclass(frozen=True)
class VendorPass:
    """One pass of the vendor's pipeline.

    `ordinal` counts passes of the same name from 1. `nesting` is the path of op names below the
    module, `("func.func",)` or empty. Passes with equal `group` stand in one nested pipeline, so
    MLIR runs them function by function.
    """

    name: str
    options: str
    ordinal: int
    nesting: tuple[str, ...]
    group: int

    @property
    def anchor(self) -> str:
        """The name that pipelines address this pass by: `cse`, `cse#2`, ..."""
        return self.name if self.ordinal == 1 else f"{self.name}#{self.ordinal}"

    @property
    def text(self) -> str:
        """The pass with its options, as MLIR parses it."""
        return self.name + (f"{{{self.options}}}" if self.options else "")


class PipelineSyntaxError(UsageError):
    """A pass pipeline text that does not parse; the text names the position."""


def parse_pipeline(text: str) -> list[VendorPass]:
    """The passes of `builtin.module(...)`, in the order in which they run."""
    reader = _Reader(text)
    reader.expect("builtin.module")
    reader.expect("(")
    passes: list[VendorPass] = []
    reader.elements(passes, ())
    reader.end()
    return passes


def render_pipeline(passes: Iterable[VendorPass], *, split_groups: bool = False) -> str:
    """Pipeline text for a contiguous segment; nested passes get their `func.func(...)` back.

    With `split_groups` every nested pass stands alone, so that it finishes on all functions before
    the next one starts.
    """
    parts = []
    for _, entries in groupby(passes, key=lambda entry: (entry.nesting, entry.group)):
        batch = list(entries)
        nesting = batch[0].nesting
        chunks = [[entry] for entry in batch] if split_groups or not nesting else [batch]
        for chunk in chunks:
            body = ",".join(entry.text for entry in chunk)
            for op in reversed(nesting):
                body = f"{op}({body})"
            parts.append(body)
    return f"builtin.module({','.join(parts)})"


class _Reader:
    """Recursive-descent reader: element = name [`{` options `}`] | op `(` elements `)`."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.position = 0
        self.seen: dict[str, int] = {}
        self.groups = 0

    def elements(self, out: list[VendorPass], nesting: tuple[str, ...]) -> None:
        """Read up to the closing parenthesis."""
        self.groups += 1
        group = self.groups
        while True:
            name = self.word()
            if self.peek() == "(":
                self.position += 1
                self.elements(out, (*nesting, name))
            else:
                options = self.braces() if self.peek() == "{" else ""
                self.seen[name] = self.seen.get(name, 0) + 1
                # Module-level passes share no function-by-function order: one group each is not
                # needed, rendering keeps their sequence.
                out.append(VendorPass(name, options, self.seen[name], nesting, group))
            if self.peek() == ",":
                self.position += 1
                continue
            self.expect(")")
            return

    def peek(self) -> str:
        """The next character that is not white space, or nothing at the end."""
        while self.position < len(self.text) and self.text[self.position].isspace():
            self.position += 1
        return self.text[self.position : self.position + 1]

    def word(self) -> str:
        """A pass or op name."""
        self.peek()
        start = self.position
        while self.position < len(self.text) and (
            self.text[self.position].isalnum() or self.text[self.position] in "-_."
        ):
            self.position += 1
        if start == self.position:
            self.fail("a pass name")
        return self.text[start : self.position]

    def braces(self) -> str:
        """The text between balanced braces, white space normalised."""
        start = self.position
        depth = 0
        for index in range(start, len(self.text)):
            depth += {"{": 1, "}": -1}.get(self.text[index], 0)
            if depth == 0:
                self.position = index + 1
                return " ".join(self.text[start + 1 : index].split())
        self.fail("'}'")
        raise AssertionError

    def expect(self, token: str) -> None:
        """Step over `token`."""
        self.peek()
        if not self.text.startswith(token, self.position):
            self.fail(f"'{token}'")
        self.position += len(token)

    def end(self) -> None:
        """Nothing but white space may follow."""
        if self.peek():
            self.fail("the end of the pipeline")

    def fail(self, wanted: str) -> None:
        """Raise with the position and what stands there."""
        near = self.text[self.position : self.position + 20] or "the end"
        raise PipelineSyntaxError(
            f"pass pipeline, column {self.position + 1}: expected {wanted}, found '{near}'"
        )
