"""Text of opaque types and attributes: a small parser, and a printer that gives the text back.

Types and attributes of dialects that a bare context does not know (`!tt.ptr<f16>`,
`#ttg.blocked<{sizePerThread = [1, 4]}>`) reach Python as text. `parse` turns such text into a tree
of four kinds of nodes, `str(node)` turns it back. Only the bracket structure is understood, so
text of dialects and versions not known today parses as well.

    text   := phrase
    phrase := part (" " part)*
    part   := word | string | group | call
    group  := "[" items "]" | "{" items "}" | "(" items ")"
    call   := [word] "<" items ">"              (no space before "<")
    items  := [item ("," item)*]
    item   := name "=" phrase | phrase
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

_CLOSING = {"[": "]", "{": "}", "(": ")", "<": ">"}
_DELIMITERS = frozenset('[]{}()<>,=" \t\n')


class OpaqueTextError(ValueError):
    """Text whose brackets or commas do not make sense."""


@dataclass(frozen=True)
class Word:
    """A run of characters without structure: `f16`, `-8`, `true`, `2x64x64xf16`, `"a string"`."""

    text: str

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class Group:
    """Items in brackets; `opening` is `[`, `{` or `(`."""

    opening: str
    items: tuple[Item, ...]

    def __str__(self) -> str:
        return self.opening + _joined(self.items) + _CLOSING[self.opening]


@dataclass(frozen=True)
class Call:
    """A name with items in angle brackets, `!tt.ptr<f16, 1>`. The name may be empty."""

    name: str
    items: tuple[Item, ...]

    def __str__(self) -> str:
        return f"{self.name}<{_joined(self.items)}>"


@dataclass(frozen=True)
class Phrase:
    """Parts that follow each other with spaces between, `8 : i32`."""

    parts: tuple[Word | Group | Call, ...]

    def __str__(self) -> str:
        return " ".join(str(part) for part in self.parts)


Node: TypeAlias = "Word | Group | Call | Phrase"


@dataclass(frozen=True)
class Field:
    """`name = value`, an item of a group or call."""

    name: str
    value: Node

    def __str__(self) -> str:
        return f"{self.name} = {self.value}"


Item: TypeAlias = "Word | Group | Call | Phrase | Field"


@lru_cache(maxsize=4096)  # a module has few types, and passes ask for them all the time
def parse(text: str) -> Node:
    """Parse opaque text; for text that MLIR printed, `str(parse(text)) == text`.

    Raises:
        OpaqueTextError: brackets that do not match, or an empty item; says where.
    """
    parser = _Parser(text)
    node = parser.phrase()
    if parser.position != len(text):
        raise parser.error(f"'{text[parser.position]}' is out of place")
    return node


def fields_of(items: Iterable[Item]) -> list[Field]:
    """Return the `name = value` pairs among `items`, or in the one `{...}` group they hold.

    `#ttg.blocked<{order = [0]}>` and `#ttng.tensor_memory_encoding<blockM = 64>` read alike.
    """
    found: list[Field] = []
    for item in items:
        if isinstance(item, Field):
            found.append(item)
        elif isinstance(item, Group) and item.opening == "{":
            found.extend(field for field in item.items if isinstance(field, Field))
    return found


def integers(node: Item) -> tuple[int, ...]:
    """Return the numbers of a flat list, `[1, 4]`.

    Raises:
        OpaqueTextError: `node` is no list of integers.
    """
    if not isinstance(node, Group) or node.opening != "[":
        raise OpaqueTextError(f"'{node}' is no list")
    return tuple(integer(item) for item in node.items)


def integer(node: Item) -> int:
    """Return the number that `node` spells.

    Raises:
        OpaqueTextError: it spells none.
    """
    try:
        return int(str(node))
    except ValueError as error:
        raise OpaqueTextError(f"'{node}' is no integer") from error


def calls(node: Item) -> Iterator[Call]:
    """Yield every `name<...>` inside `node`, outermost first."""
    if isinstance(node, Field):
        yield from calls(node.value)
        return
    if isinstance(node, Call):
        yield node
    inner: tuple[Item, ...] = ()
    if isinstance(node, (Call, Group)):
        inner = node.items
    elif isinstance(node, Phrase):
        inner = node.parts
    for item in inner:
        yield from calls(item)


def _joined(items: tuple[Item, ...]) -> str:
    return ", ".join(str(item) for item in items)


class _Parser:
    """Recursive descent over `text`; `position` is the next character to read."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.position = 0

    def error(self, problem: str) -> OpaqueTextError:
        return OpaqueTextError(f"cannot read '{self.text}' at offset {self.position}: {problem}")

    def phrase(self) -> Node:
        parts = [self.part()]
        while self.skip_spaces() and self.peek() not in ("", ",", ">", "]", "}", ")", "="):
            parts.append(self.part())
        return parts[0] if len(parts) == 1 else Phrase(tuple(parts))

    def part(self) -> Word | Group | Call:
        self.skip_spaces()
        following = self.peek()
        if following == '"':
            return self.string()
        if following in ("[", "{", "("):
            return Group(following, self.items(following))
        name = self.word()
        if self.peek() == "<":
            return Call(name, self.items("<"))
        if not name:
            raise self.error(f"'{following}' is out of place" if following else "the text ends")
        return Word(name)

    def items(self, opening: str) -> tuple[Item, ...]:
        closing = _CLOSING[opening]
        self.position += 1
        found: list[Item] = []
        self.skip_spaces()
        while self.peek() != closing:
            if found:
                if self.peek() != ",":
                    raise self.error(f"',' or '{closing}' expected")
                self.position += 1
            found.append(self.item())
            self.skip_spaces()
        self.position += 1
        return tuple(found)

    def item(self) -> Item:
        node = self.phrase()
        self.skip_spaces()
        if self.peek() != "=":
            return node
        self.position += 1
        return Field(str(node), self.phrase())

    def word(self) -> str:
        start = self.position
        while self.peek() not in _DELIMITERS and self.peek():
            # `->` is a word; its '>' closes nothing.
            self.position += 2 if self.text.startswith("->", self.position) else 1
        return self.text[start : self.position]

    def string(self) -> Word:
        start = self.position
        self.position += 1
        while self.peek() and self.peek() != '"':
            self.position += 2 if self.peek() == "\\" else 1
        if not self.peek():
            raise self.error("a string does not end")
        self.position += 1
        return Word(self.text[start : self.position])

    def peek(self) -> str:
        return self.text[self.position : self.position + 1]

    def skip_spaces(self) -> bool:
        while self.peek() and self.peek() in " \t\n":
            self.position += 1
        return True
