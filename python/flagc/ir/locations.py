"""Source locations: from MLIR's location attributes to the kernel's file and line."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from flagc.mlir import ir


@dataclass(frozen=True)
class SourceLocation:
    """A place in the kernel's source. `line` and `column` count from 1; 0 means unknown."""

    file: str
    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}" + (f":{self.column}" if self.column else "")

    @property
    def short(self) -> str:
        """`kernel.py:14`, the form used inside messages."""
        return f"{Path(self.file).name}:{self.line}"


def frames(location: Any) -> Iterator[SourceLocation]:
    """Yield the file locations inside `location`, innermost (callee) first."""
    if isinstance(location, ir.FileLineColLoc):
        yield SourceLocation(location.filename, location.start_line, location.start_col)
    elif isinstance(location, ir.NameLoc):
        yield from frames(location.child_loc)
    elif isinstance(location, ir.CallSiteLoc):
        yield from frames(location.callee)
        yield from frames(location.caller)
    elif isinstance(location, ir.FusedLoc):
        for part in location.locations:
            yield from frames(part)


def source_location(location: Any) -> SourceLocation | None:
    """Return the innermost frame that is the user's, not Triton's own library.

    `tl.zeros` inside a kernel carries a frame of `triton/language/standard.py`; the line a user
    can act on is the caller's. Falls back to the innermost frame; None for unknown locations.
    """
    first = None
    for frame in frames(location):
        if first is None:
            first = frame
        if "/triton/" not in frame.file:
            return frame
    return first


def names(location: Any) -> Iterator[str]:
    """Yield the variable names that `location` carries, outermost first."""
    if isinstance(location, ir.NameLoc):
        yield location.name_str
        yield from names(location.child_loc)
    elif isinstance(location, ir.CallSiteLoc):
        yield from names(location.callee)
        yield from names(location.caller)
    elif isinstance(location, ir.FusedLoc):
        for part in location.locations:
            yield from names(part)
