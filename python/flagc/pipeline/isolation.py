"""Run a compilation in a child process, in which a crash or an endless loop is a diagnostic.

The child is a fork, so that it holds the kernel's Python objects as they are. It notes in a
journal which step it is in; the parent reads the journal when the child dies.
"""

from __future__ import annotations

import json
import os
import pickle
import select
import shutil
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from flagc.errors import EnvironmentProblem, FlagcError, KernelError
from flagc.pipeline.instrumentation import Journal, on_heartbeat
from flagc.pipeline.stderr_capture import keep_captures_in

Result = TypeVar("Result")

# Signals by which a program dies of its own fault; others come from outside.
OWN_FAULT = {signal.SIGABRT, signal.SIGSEGV, signal.SIGBUS, signal.SIGFPE, signal.SIGILL}
OWN_FAULT |= {signal.SIGTRAP, signal.SIGSYS}

_IR_FILE = "step-input"
_JOURNAL_FILE = "journal"
_RESULT_FILE = "result"


@dataclass(frozen=True)
class JournalEntry:
    """A step that the child began: `native` tells a compiler's own pass from a Python pass."""

    stage: str
    step: str
    native: bool


@dataclass(frozen=True)
class Crash:
    """How a child died.

    Attributes:
        what: `aborted (SIGABRT)`, `did not finish within 60 s`, ...
        entry: the step it was in, as exactly as its journal knows.
        changes: (pass, what it changed) for the Python passes that ran, newest first.
        step_input: the IR the step ran on; None when the journal does not hold it.
        stderr: what it wrote to its error output, last lines.
    """

    what: str
    entry: JournalEntry
    changes: tuple[tuple[str, str], ...]
    step_input: str | None
    stderr: str
    timed_out: bool


class CompilerCrash(KernelError):
    """The child process died in a compiler or in a user's pass."""

    def __init__(self, crash: Crash) -> None:
        super().__init__(crash.what)
        self.crash = crash


class _DiskJournal(Journal):
    """Writes each step to `journal`, and the IR of Python passes (of every step if detailed)."""

    def __init__(self, folder: Path, *, detailed: bool) -> None:
        self._folder = folder
        self._detailed = detailed
        # Open as long as the process lives, one unbuffered line a step.
        self._file = open(folder / _JOURNAL_FILE, "a", buffering=1)  # noqa: SIM115

    @property
    def detailed(self) -> bool:
        return self._detailed

    def enter(
        self,
        stage: str,
        step: str,
        *,
        native: bool = True,
        ir: Callable[[], str | bytes] | None = None,
    ) -> None:
        target = self._folder / _IR_FILE
        if ir is not None and (self._detailed or not native):
            content = ir()
            target.write_bytes(content.encode() if isinstance(content, str) else content)
        else:
            target.unlink(missing_ok=True)
        self._file.write(json.dumps({"stage": stage, "step": step, "native": native}) + "\n")

    def touch(self) -> None:
        """Let the parent see that the step is getting on: it watches the journal's size."""
        self._file.write("\n")

    def changed(self, pass_name: str, summary: str) -> None:
        self._file.write(json.dumps({"by": pass_name, "changed": summary}) + "\n")


def run_isolated(
    function: Callable[[Journal], Result],
    *,
    time_limit: float,
    on_step: Callable[[JournalEntry], None] | None = None,
) -> Result:
    """Return `function(journal)`, run in a child process.

    Args:
        function: the work; its result must be picklable.
        time_limit: seconds that one step may take.
        on_step: called in the parent when the child is seen in another step.

    Raises:
        CompilerCrash: the child crashed or ran into the time limit; it was then run once more,
            step by step, to find the step.
        EnvironmentProblem: the child was killed from outside, or could not be started.
        FlagcError: whatever the function raised.
    """
    try:
        return _run_once(function, time_limit, on_step, detailed=False)
    except CompilerCrash as first:
        if first.crash.timed_out and not first.crash.entry.native:
            raise  # the pass is known, and it would take as long again
        try:
            _run_once(function, time_limit, on_step, detailed=True)
        except CompilerCrash as second:
            raise second from None
        except FlagcError:
            pass
        raise CompilerCrash(
            Crash(
                f"{first.crash.what}, but not when its passes were run one by one",
                first.crash.entry,
                first.crash.changes,
                None,
                first.crash.stderr,
                first.crash.timed_out,
            )
        ) from None


def _run_once(
    function: Callable[[Journal], Result],
    time_limit: float,
    on_step: Callable[[JournalEntry], None] | None,
    *,
    detailed: bool,
) -> Result:
    try:
        folder = Path(tempfile.mkdtemp(prefix="flagc-run-"))
    except OSError as error:
        raise EnvironmentProblem(
            f"cannot create a temporary folder in {tempfile.gettempdir()}: {error.strerror}; "
            "set TMPDIR to a folder with space"
        ) from error
    try:
        pid = _start(function, folder, detailed)
        timed_out, status = _wait(pid, folder, time_limit, on_step)
        if not timed_out and os.WIFEXITED(status) and os.WEXITSTATUS(status) == 0:
            return _read_result(folder)
        raise _death(folder, status, timed_out, time_limit)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _start(function: Callable[[Journal], Any], folder: Path, detailed: bool) -> int:
    sys.stdout.flush()
    sys.stderr.flush()
    with warnings.catch_warnings():
        # The child does nothing but compile, so other threads' locks do not concern it.
        warnings.simplefilter("ignore", DeprecationWarning)
        try:
            pid = os.fork()
        except OSError as error:
            raise EnvironmentProblem(f"cannot start a child process: {error.strerror}") from error
    if pid == 0:
        _child(function, folder, detailed)
    return pid


def _child(function: Callable[[Journal], Any], folder: Path, detailed: bool) -> None:
    status = 1
    try:
        os.setsid()
        sink = os.open(folder / "stderr", os.O_WRONLY | os.O_CREAT)
        os.dup2(sink, 2)
        keep_captures_in(folder)
        outcome: tuple[str, Any]
        try:
            journal = _DiskJournal(folder, detailed=detailed)
            on_heartbeat(journal.touch)
            outcome = ("result", function(journal))
        except FlagcError as error:
            outcome = ("error", error)
        except OSError as error:
            outcome = ("error", EnvironmentProblem(f"compiling failed: {error}"))
        except BaseException:
            outcome = ("traceback", traceback.format_exc())
        (folder / _RESULT_FILE).write_bytes(pickle.dumps(outcome))
        sys.stderr.flush()
        status = 0
    finally:
        # No interpreter shutdown: the parent's buffers and exit handlers are not the child's.
        os._exit(status)


def _wait(
    pid: int,
    folder: Path,
    time_limit: float,
    on_step: Callable[[JournalEntry], None] | None,
) -> tuple[bool, int]:
    """Wait for the child; return whether it was killed for time, and its wait status."""
    descriptor = os.pidfd_open(pid)
    journal_size = -1
    since = time.monotonic()
    try:
        while not select.select([descriptor], [], [], 0.1)[0]:
            path = folder / _JOURNAL_FILE
            size = path.stat().st_size if path.exists() else 0
            if size != journal_size:
                journal_size, since = size, time.monotonic()
                if on_step is not None:
                    on_step(_last_entry(folder)[0])
            elif time.monotonic() - since > time_limit:
                os.killpg(pid, signal.SIGKILL)
                return True, os.waitpid(pid, 0)[1]
        return False, os.waitpid(pid, 0)[1]
    except BaseException:  # interrupted by the user: leave no child behind
        os.killpg(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        raise
    finally:
        os.close(descriptor)


def _read_result(folder: Path) -> Any:
    kind, value = pickle.loads((folder / _RESULT_FILE).read_bytes())
    written = (folder / "stderr").read_text(errors="replace")
    if written:
        sys.stderr.write(written)
    if kind == "result":
        return value
    if kind == "error":
        raise value
    raise KernelError(f"flagc itself failed; please report this:\n{value}")


def _last_entry(folder: Path) -> tuple[JournalEntry, tuple[tuple[str, str], ...]]:
    entry = JournalEntry("start", "", True)
    changes: list[tuple[str, str]] = []
    path = folder / _JOURNAL_FILE
    for line in path.read_text().splitlines() if path.exists() else ():
        try:
            data = json.loads(line)
        except ValueError:  # cut off by the crash
            continue
        if "changed" in data:
            changes.insert(0, (data["by"], data["changed"]))
        else:
            entry = JournalEntry(data["stage"], data["step"], data["native"])
    return entry, tuple(changes)


def _death(folder: Path, status: int, timed_out: bool, time_limit: float) -> FlagcError:
    entry, changes = _last_entry(folder)
    where = f"stage {entry.stage}" + (f", pass {entry.step}" if entry.step else "")
    if timed_out:
        what = f"did not finish within {time_limit:g} s"
    elif os.WIFSIGNALED(status):
        number = signal.Signals(os.WTERMSIG(status))
        if number not in OWN_FAULT:
            return EnvironmentProblem(
                f"the compiling process was killed ({number.name}) in {where}; "
                "if nobody did so by hand, the machine ran out of memory"
            )
        what = f"crashed ({number.name})"
    else:
        what = f"ended with status {os.WEXITSTATUS(status)}"
    said = "".join(path.read_text(errors="replace") for path in sorted(folder.glob("*stderr")))
    ir_file = folder / _IR_FILE
    step_input = ir_file.read_text(errors="replace") if ir_file.exists() else None
    tail = "\n".join(said.strip().splitlines()[-8:])
    return CompilerCrash(Crash(what, entry, changes, step_input, tail, timed_out))
