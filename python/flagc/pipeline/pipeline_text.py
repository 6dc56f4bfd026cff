"""Textual pass pipelines: `ttgir@after(accelerate_matmul):set-mma-shape{n=128},count-ops`.

Grammar:

    pipeline := item ("," item)*
    item     := [place ":"] name ["{" options "}"]
    place    := stage ["@" ("before" | "after") "(" step ")"]
    options  := key "=" value ((" " | ",") key "=" value)*

A value may be bracketed, `[16,8]`. A step that occurs several times in a stage is written with its
number, `canonicalizer#2`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from flagc.errors import UsageError
from flagc.pipeline.passes import Pass, instantiate


@dataclass(frozen=True)
class Anchor:
    """A place inside a stage: before or after one of the target's own passes."""

    stage: str
    side: Literal["before", "after"]
    step: str

    def __str__(self) -> str:
        return f"{self.stage}@{self.side}({self.step})"


@dataclass(frozen=True)
class PlacedPass:
    """A pass and where it runs.

    At `anchor` when there is one, else at the end of `stage` when that is given, else at the end
    of every stage of the pass's level.
    """

    instance: Pass
    stage: str | None = None
    anchor: Anchor | None = None

    def __str__(self) -> str:
        place = str(self.anchor) if self.anchor else self.stage
        return (f"{place}:" if place else "") + self.instance.spelling()


_ITEM = re.compile(
    r"(?:(?P<stage>[\w-]+)(?:@(?P<side>\w+)\((?P<step>[^()]+)\))?:)?"
    r"(?P<name>[A-Za-z_][\w-]*)(?:\{(?P<options>[^{}]*)\})?"
)
_ANCHOR = re.compile(r"(?P<stage>[\w-]+)@(?P<side>\w+)\((?P<step>[^()]+)\)")
_OPTION = re.compile(r"\s*,?\s*(?P<key>[\w-]+)\s*=\s*(?P<value>\[[^\]]*\]|[^\s,]+)\s*")


def parse_pipeline(text: str) -> list[PlacedPass]:
    """Parse pipeline text into passes and their places; empty text is an empty pipeline.

    Raises:
        UsageError: bad syntax (with the offending part), unknown pass, unknown or bad option.
    """
    placed: list[PlacedPass] = []
    position = 0
    while position < len(text):
        if text[position].isspace():
            position += 1
            continue
        match = _ITEM.match(text, position)
        end = match.end() if match else position
        rest = text[end:].lstrip()
        if match is None or (rest and not rest.startswith(",")):
            raise UsageError(
                f"cannot read the pass pipeline at '{text[position:]}'; the form is "
                "[stage[@before|after(step)]:]name[{option=value}],..."
            )
        placed.append(_placed(match))
        position = len(text) - len(rest) + 1 if rest else len(text)
        if rest == ",":
            raise UsageError(f"the pass pipeline '{text}' ends with a comma")
    return placed


def parse_anchor(text: str) -> Anchor:
    """Parse `stage@before(step)` or `stage@after(step)`.

    Raises:
        UsageError: the text has another form.
    """
    match = _ANCHOR.fullmatch(text.strip())
    if match is None:
        raise UsageError(f"'{text}' is no anchor; the form is stage@before(step) or @after(step)")
    return _anchor(match)


def _anchor(match: re.Match[str]) -> Anchor:
    side = match["side"]
    if side == "before":
        return Anchor(match["stage"], "before", match["step"].strip())
    if side == "after":
        return Anchor(match["stage"], "after", match["step"].strip())
    raise UsageError(f"anchor '@{side}(...)': the side must be 'before' or 'after'")


def _placed(match: re.Match[str]) -> PlacedPass:
    options = _parse_options(match["name"], match["options"] or "")
    instance = instantiate(match["name"], options)
    anchor = _anchor(match) if match["side"] is not None else None
    return PlacedPass(instance, match["stage"], anchor)


def _parse_options(name: str, text: str) -> dict[str, str]:
    options: dict[str, str] = {}
    position = 0
    while position < len(text):
        match = _OPTION.match(text, position)
        if match is None or match.end() == position:
            raise UsageError(
                f"pass '{name}': cannot read the options '{{{text}}}'; the form is "
                "{key=value key=value}"
            )
        options[match["key"]] = match["value"]
        position = match.end()
    return options
