"""Run one vendor program in a child process and turn whatever goes wrong into `VendorError`."""

from __future__ import annotations

import contextlib
import ctypes
import os
import re
import signal
import subprocess
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

# Seconds a vendor program may take unless the caller says otherwise. Below the command line's limit
# for a step (120 s), so that a hanging pass is named; the slowest kernel that came through took 60.
DEFAULT_TIMEOUT = 90.0
# How MLIR heads a module that it prints after a pass, on stderr.
_DUMP_MARK = "// -----// IR Dump After "
# Lines of stderr kept in an error.
TAIL_LINES = 20

# <sys/personality.h>
_ADDR_NO_RANDOMIZE = 0x0040000
_ASK_PERSONALITY = 0xFFFFFFFF

Severity = Literal["error", "warning", "note", "remark"]
FailureKind = Literal["error", "crash", "timeout"]

# `LOCATION: severity: text`, as MLIR's source manager and the vendor's tools print it.
_DIAGNOSTIC = re.compile(
    r"^(?P<where>.*?):? (?P<severity>error|warning|note|remark): (?P<text>.*)$"
)
_STDIN = {"<stdin>", "-", "<unknown>"}
_QUOTED_PLACE = re.compile(r'"(?P<file>(?:[^"\\]|\\.)*)":(?P<line>\d+):(?P<column>\d+)')
_PLAIN_PLACE = re.compile(r"^(?P<file>.+?):(?P<line>\d+):(?P<column>\d+)$")


@dataclass(frozen=True)
class VendorDiagnostic:
    """One message of a vendor program; line and column are 1-based, 0 when unknown.

    Without `file` the place is one in the text that the program was given.
    """

    file: str | None
    line: int
    column: int
    severity: Severity
    text: str
    notes: tuple[VendorDiagnostic, ...] = ()


@dataclass(frozen=True)
class ToolOutput:
    """What a successful run printed."""

    stdout: str
    stderr: str


@dataclass(eq=False)
class VendorError(RuntimeError):
    """A vendor program failed: it reported an error, crashed, or ran past its time limit.

    `returncode` is negative for a signal, None after a timeout.
    """

    tool: str
    kind: FailureKind
    returncode: int | None
    diagnostics: list[VendorDiagnostic] = field(default_factory=list)
    stderr_tail: str = ""
    timeout: float | None = None

    def __str__(self) -> str:
        errors = [entry for entry in self.diagnostics if entry.severity == "error"]
        if self.kind == "timeout":
            return f"{self.tool} did not finish within {self.timeout:g} s"
        if self.kind == "crash":
            return f"{self.tool} crashed ({self.signal_name}){_first_text(errors)}"
        return f"{self.tool} failed{_first_text(errors) or ': ' + self.stderr_tail.strip()[-300:]}"

    @property
    def signal_name(self) -> str:
        """Name of the signal that ended the program, such as SIGSEGV."""
        return signal_name(self.returncode)


def run_tool(
    tool: Path,
    arguments: Sequence[str],
    text: str,
    *,
    timeout: float = DEFAULT_TIMEOUT,
    ok: Iterable[int] = (0,),
    environment: Mapping[str, str] | None = None,
) -> ToolOutput:
    """Run `tool` with `text` on stdin and return what it printed.

    The child works in an empty temporary folder (whatever it leaves there is removed) and in its
    own process group, all of which is killed at the time limit of `timeout` seconds. `environment`
    overrides variables. An exit status not in `ok`, a signal or the limit raises `VendorError`.
    """
    with tempfile.TemporaryDirectory(prefix="flagc-vendor-") as folder:
        with _fixed_addresses():
            child = subprocess.Popen(
                [str(tool), *arguments],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                cwd=folder,
                start_new_session=True,
                env={**os.environ, "TMPDIR": folder, **(environment or {})},
            )
        try:
            out, err = child.communicate(text.encode(), timeout=timeout)
        except subprocess.TimeoutExpired:
            _kill_group(child)
            _, err = child.communicate()
            raise _failure(tool, "timeout", None, err.decode(errors="replace"), timeout) from None
        except BaseException:
            _kill_group(child)
            child.wait()
            raise
    stdout, stderr = out.decode(errors="replace"), err.decode(errors="replace")
    if child.returncode not in ok:
        raise failure_of(tool, child.returncode, stderr)
    return ToolOutput(stdout, stderr)


def failure_of(tool: Path, returncode: int, stderr: str) -> VendorError:
    """The error for a run of `tool` that ended with `returncode`."""
    # A shell-style 128+n status comes from tools that run under a wrapper.
    crashed = returncode < 0 or returncode in {128 + n for n in (4, 6, 7, 8, 9, 11)}
    return _failure(tool, "crash" if crashed else "error", returncode, stderr, None)


def parse_diagnostics(stderr: str) -> list[VendorDiagnostic]:
    """The diagnostics in `stderr`, in order; notes are attached to what they explain."""
    found: list[VendorDiagnostic] = []
    for line in stderr.splitlines():
        match = _DIAGNOSTIC.match(line)
        if match is None:
            continue
        file, number, column = place_of_location(match["where"])
        severity: Severity = match["severity"]  # type: ignore[assignment]
        entry = VendorDiagnostic(file, number, column, severity, match["text"].strip())
        if severity == "note" and found:
            last = found[-1]
            found[-1] = VendorDiagnostic(
                last.file, last.line, last.column, last.severity, last.text, (*last.notes, entry)
            )
        else:
            found.append(entry)
    return found


@dataclass(frozen=True)
class Dump:
    """A module that a tool printed on stderr after pass `name`."""

    name: str
    text: str


def split_dumps(stderr: str) -> tuple[str, list[Dump]]:
    """stderr apart into messages and the modules printed after passes, both in order.

    A module ends with the brace in the first column and the attribute aliases (`#loc = ...`) after
    it; what follows up to the next module are messages. The tool must run without threads.
    """
    messages: list[str] = []
    dumps: list[tuple[str, list[str]]] = []
    inside = closed = False
    for line in stderr.splitlines(keepends=True):
        if line.startswith(_DUMP_MARK):
            dumps.append((line.partition("(")[2].partition(")")[0], []))
            inside, closed = True, False
        elif inside and not (closed and not line.startswith("#")):
            dumps[-1][1].append(line)
            closed = closed or line.startswith("}")
        else:
            inside = False
            messages.append(line)
    return "".join(messages), [Dump(name, "".join(lines)) for name, lines in dumps]


def signal_name(returncode: int | None) -> str:
    """`SIGSEGV` for -11 and for 139; the number where there is no name."""
    if returncode is None:
        return "unknown signal"
    number = -returncode if returncode < 0 else returncode - 128
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"status {returncode}"


def place_of_location(where: str) -> tuple[str | None, int, int]:
    """File, line and column of a location; of an inlined call, the caller's in the user's file."""
    places = [
        (match["file"], int(match["line"]), int(match["column"]))
        for match in _QUOTED_PLACE.finditer(where)
    ]
    if not places:
        plain = _PLAIN_PLACE.match(where.strip())
        if plain is None:
            return None, 0, 0
        file = None if plain["file"] in _STDIN else plain["file"]
        return file, int(plain["line"]), int(plain["column"])
    own = [place for place in places if "/triton/language/" not in place[0]]
    return (own or places)[-1 if "callsite(" in where else 0]


def _failure(
    tool: Path, kind: FailureKind, returncode: int | None, stderr: str, timeout: float | None
) -> VendorError:
    told = [line for line in stderr.splitlines() if not _is_backtrace(line)]
    tail = "\n".join(told[-TAIL_LINES:])
    return VendorError(tool.name, kind, returncode, parse_diagnostics(stderr), tail, timeout)


@contextlib.contextmanager
def _fixed_addresses() -> Iterator[None]:
    """Children started inside get no address randomisation, where the system allows that.

    Some of the vendor's passes order things by their addresses, so that two runs on one input give
    different modules (seen on attention backward and baddbmm: loop-carried values in another order,
    workspaces swapped). At fixed addresses two runs agree. The setting is this thread's and is put
    back; it has no effect on the process itself.
    """
    libc = ctypes.CDLL(None)
    before = libc.personality(_ASK_PERSONALITY)
    if before != -1:
        libc.personality(before | _ADDR_NO_RANDOMIZE)
    try:
        yield
    finally:
        if before != -1:
            libc.personality(before)


def _is_backtrace(line: str) -> bool:
    """True for the lines that LLVM's crash handler adds to what the program said."""
    text = line.strip()
    numbered = text.startswith("#") and text[1:].partition(" ")[0].isdigit()
    return numbered or text.startswith(("PLEASE submit", "Stack dump", "0.\tProgram arguments"))


def _first_text(errors: list[VendorDiagnostic]) -> str:
    return f": {errors[0].text}" if errors else ""


def _kill_group(child: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(child.pid, signal.SIGKILL)
