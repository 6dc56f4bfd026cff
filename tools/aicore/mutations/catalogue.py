"""The mutations of catalogue.toml, and how one is applied to a source text."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import tomllib

HERE = Path(__file__).resolve().parent
SOURCES = HERE.parent


@dataclass(frozen=True)
class Mutation:
    """One wrong reading: `text` of `file` (a file of tools/aicore) becomes `replacement`.

    `field` says which operand or register is read wrongly, `means` what the machine would do then.
    """

    name: str
    file: str
    text: str
    replacement: str
    field: str
    means: str

    def apply(self, source: str) -> str:
        """`source` with the mutation; ValueError when the text is not in it exactly once."""
        found = source.count(self.text)
        if found != 1:
            raise ValueError(f"{self.name}: its text is {found} times in {self.file}")
        return source.replace(self.text, self.replacement)


def load(path: Path = HERE / "catalogue.toml") -> list[Mutation]:
    """All mutations, in the order of the file."""
    entries = tomllib.loads(path.read_text())["mutation"]
    return [Mutation(**entry) for entry in entries]
