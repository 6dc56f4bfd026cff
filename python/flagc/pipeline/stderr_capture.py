"""Capture of file descriptor 2, where MLIR writes its diagnostics."""

from __future__ import annotations

import os
import re
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from flagc.ir.locations import SourceLocation


@dataclass
class Captured:
    """What was written to file descriptor 2; filled when the capture ends."""

    text: str = ""


# Where captures are kept while they last, so that a parent process can read what a compiler said
# before it aborted. None keeps them in unnamed files.
_capture_directory: Path | None = None


def keep_captures_in(directory: Path) -> None:
    """Keep the captures of this process in named files in `directory` while they last."""
    global _capture_directory
    _capture_directory = directory


@contextmanager
def captured_stderr() -> Iterator[Captured]:
    """Redirect file descriptor 2 into the yielded object for the duration of the block."""
    captured = Captured()
    sys.stderr.flush()
    saved = os.dup(2)
    with tempfile.NamedTemporaryFile(dir=_capture_directory, suffix=".stderr") as sink:
        os.dup2(sink.fileno(), 2)
        try:
            yield captured
        finally:
            sys.stderr.flush()
            os.dup2(saved, 2)
            os.close(saved)
            sink.seek(0)
            captured.text = sink.read().decode(errors="replace")


@dataclass(frozen=True)
class CompilerMessage:
    """One diagnostic of an MLIR-based compiler, as it prints it."""

    severity: str
    message: str
    location: SourceLocation | None = None
    notes: tuple[str, ...] = field(default=())

    def __str__(self) -> str:
        where = f"{self.location}: " if self.location else ""
        return f"{where}{self.severity}: {self.message}"


# `file:line:column: severity: text`; MLIR prints `loc("file":line:column)` or `<unknown>:0:0` too.
_MESSAGE = re.compile(
    r'^(?:loc\()?"?(?P<file>[^":\n]*?)"?:(?P<line>\d+):(?P<column>\d+)\)?: '
    r"(?P<severity>error|warning|remark|note): (?P<text>.*)$"
    r"|^(?:loc\((?P<bare>.*)\): )?(?P<severity2>error|warning): (?P<text2>.*)$"
)


def compiler_messages(text: str) -> list[CompilerMessage]:
    """Return the diagnostics in a compiler's error output, notes attached to their error."""
    messages: list[CompilerMessage] = []
    for line in text.splitlines():
        match = _MESSAGE.match(line)
        if match is None:
            continue
        severity = match["severity"] or match["severity2"]
        body = match["text"] if match["text"] is not None else match["text2"]
        if severity == "note" and messages:
            last = messages[-1]
            messages[-1] = CompilerMessage(
                last.severity, last.message, last.location, (*last.notes, body)
            )
            continue
        location = None
        if match["line"] and int(match["line"]):
            location = SourceLocation(match["file"], int(match["line"]), int(match["column"]))
        messages.append(CompilerMessage(severity, body, location))
    return messages
