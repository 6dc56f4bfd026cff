"""`--run` in a child process, so that a crash of emulated code is a diagnostic.

The child is a fork that goes on as the program itself; the parent only waits for it. Before each
launch the child flushes what the script printed and notes the launch in a journal, which the parent
reads when the child dies.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, TextIO

import flagc
from flagc.cli.settings import Settings
from flagc.errors import EXIT_KERNEL_FAILED, EXIT_USAGE_OR_ENVIRONMENT, EnvironmentProblem
from flagc.frontend.execution import Argument, Execution, Executor
from flagc.frontend.launch import Launch
from flagc.pipeline.isolation import OWN_FAULT
from flagc.report import terminal

# How long the child may take to stop after an interrupt, in seconds, and after which time the
# interrupt is passed on to it: a terminal has interrupted it already.
_GRACE = 6.0
_OWN_INTERRUPT = 1.5


@dataclass
class LaunchJournal:
    """Where the child notes its launches; one JSON document a line."""

    file: TextIO
    launches: int = 0

    def begin(self, launch: Launch, grid: Sequence[int]) -> None:
        """Note a launch that is about to run."""
        self.launches += 1
        sys.stdout.flush()
        sys.stderr.flush()
        self._write(
            running={"kernel": launch.source.name, "grid": list(grid), "number": self.launches},
            launch=id(launch),
            document=launch.describe(),
        )

    def finished(self, launch: Launch, execution: Execution, checked: Sequence[Any]) -> None:
        """Note what the launch did, and what checks of it found."""
        executions = [*launch.executions, execution]
        document = {**launch.describe(), "executions": [e.describe() for e in executions]}
        self._write(
            running=None,
            launch=id(launch),
            document=document,
            checked=[asdict(entry) for entry in checked],
        )

    def _write(self, **entry: Any) -> None:
        self.file.write(json.dumps(entry) + "\n")
        self.file.flush()


@dataclass
class JournalingExecutor:
    """Notes each launch of `inner` in `journal`; `checked` grows as `inner` checks launches."""

    inner: Executor
    journal: LaunchJournal
    checked: list[Any] = field(default_factory=list)

    def prepare(self, launch: Launch) -> None:
        """Compile a launch; see `Executor`."""
        self.inner.prepare(launch)

    def execute(
        self, launch: Launch, grid: tuple[int, int, int], arguments: Sequence[Argument]
    ) -> Execution:
        """Run a launch; see `Executor`."""
        known = len(self.checked)
        self.journal.begin(launch, grid)
        execution = self.inner.execute(launch, grid, arguments)
        self.journal.finished(launch, execution, self.checked[known:])
        return execution


def watched(settings: Settings, work: Callable[[LaunchJournal], int]) -> int:
    """Return the exit status of `work`, which runs in a child process.

    In the child this returns what `work` returns or raises what it raises; in the parent it says
    how the child died, if it did.
    """
    with tempfile.TemporaryDirectory(prefix="flagc-launches-") as folder:
        path = Path(folder) / "journal"
        pid = _fork()
        if pid == 0:
            with path.open("w") as file:
                return work(LaunchJournal(file))
        status = _wait(pid)
        if os.WIFEXITED(status):
            return os.WEXITSTATUS(status)
        number = signal.Signals(os.WTERMSIG(status))
        if number in (signal.SIGINT, signal.SIGTERM):  # asked to stop: as shells report it
            return 128 + number
        return _report(settings, path, number)


def _fork() -> int:
    sys.stdout.flush()
    sys.stderr.flush()
    with warnings.catch_warnings():
        # The parent does nothing but wait, so its other threads' locks do not concern the child.
        warnings.simplefilter("ignore", DeprecationWarning)
        try:
            return os.fork()
        except OSError as error:
            raise EnvironmentProblem(f"cannot start a child process: {error.strerror}") from error


def _wait(pid: int) -> int:
    """Wait for the child; an interrupt or termination of this process is passed on to it."""

    def terminate(number: int, frame: Any) -> None:
        os.kill(pid, number)

    previous = signal.signal(signal.SIGTERM, terminate)
    try:
        return os.waitpid(pid, 0)[1]
    except KeyboardInterrupt:
        since, passed_on = time.monotonic(), False
        while time.monotonic() - since < _GRACE:
            done, status = os.waitpid(pid, os.WNOHANG)
            if done:
                return status
            time.sleep(0.05)
            if not passed_on and time.monotonic() - since > _OWN_INTERRUPT:
                passed_on = True
                os.kill(pid, signal.SIGINT)
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        raise
    finally:
        signal.signal(signal.SIGTERM, previous)


def _report(settings: Settings, path: Path, number: signal.Signals) -> int:
    """Say how the child died; with `--format json`, after the launches so far."""
    running: dict[str, Any] | None = None
    documents: dict[int, dict[str, Any]] = {}
    checked: list[dict[str, Any]] = []
    for line in path.read_text().splitlines() if path.exists() else ():
        entry = json.loads(line)
        running = entry["running"]
        documents[entry["launch"]] = {**entry["document"], "target": settings.target}
        checked += entry.get("checked", [])
    message = f"{settings.path}: error: {_what(settings, running, number)}"
    terminal.print_error(message)
    if settings.output_format == "json":
        document = {
            "flagc": flagc.__version__,
            "kernels": list(documents.values()),
            "note": "",
            "error": message,
            "checked": checked,
        }
        json.dump(document, sys.stdout, indent=2)
        print()
    return EXIT_KERNEL_FAILED if number in OWN_FAULT else EXIT_USAGE_OR_ENVIRONMENT


def _what(settings: Settings, running: dict[str, Any] | None, number: signal.Signals) -> str:
    where = "the script, outside of its launches,"
    if running is not None:
        grid = "x".join(map(str, running["grid"]))
        where = f"kernel '{running['kernel']}', launch {running['number']} (grid {grid}),"
    if number not in OWN_FAULT:
        return (
            f"{where} was killed ({number.name}); if nobody did so by hand, the machine ran out of "
            "memory"
        )
    hint = ""
    if running is not None and not settings.checks:
        hint = "; without --no-checks the emulator says which access is wrong"
    return f"{where} crashed ({number.name}){hint}"
