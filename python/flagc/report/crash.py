"""Turn a crashed compilation into a message with a reproducer."""

from __future__ import annotations

import hashlib
import shlex
import tempfile
from pathlib import Path

from flagc.errors import EnvironmentProblem, FlagcError, KernelError
from flagc.pipeline.compiler import CompileRequest
from flagc.pipeline.diagnostics import StepCrash
from flagc.pipeline.isolation import Crash, JournalEntry
from flagc.report.files import write_files


def crash_error(
    crash: Crash, request: CompileRequest, loaded: list[str], folder: Path | None
) -> FlagcError:
    """Return the error that reports `crash`, after saving a reproducer where possible.

    Args:
        loaded: the files given with `--load`, needed to repeat the run.
        folder: where to save; None means a folder in the system's temporary folder.
    """
    kernel = request.source.name
    lines = [f"error: {_culprit(crash)} {crash.what} while compiling '{kernel}'"]
    if crash.changes:
        by, changed = crash.changes[0]
        if by == crash.entry.step and not crash.entry.native:
            lines[0] = (
                f"error: pass '{by}' (stage {crash.entry.stage}) left IR on which the compiler "
                f"{crash.what} while compiling '{kernel}'"
            )
            lines.append(f"  the pass changed {changed}")
        else:
            lines.append(f"  before that, pass '{by}' changed {changed}")
    said = crash.stderr.strip().splitlines()
    lines += [f"  it said: {_essence(said)}"] if said else []
    if crash.step_input is not None:
        lines.append(_reproducer_line(crash.entry, crash.step_input, request, loaded, folder))
    return KernelError("\n".join(lines))


def step_crash_error(
    crash: StepCrash, request: CompileRequest, loaded: list[str], folder: Path | None
) -> FlagcError:
    """Return the error that reports the crash of an outside tool, with a saved reproducer."""
    entry = JournalEntry(crash.stage, crash.step, native=True)
    line = _reproducer_line(entry, crash.step_input, request, loaded, folder)
    return KernelError(f"{crash}\n{line}")


def _reproducer_line(
    entry: JournalEntry,
    step_input: str,
    request: CompileRequest,
    loaded: list[str],
    folder: Path | None,
) -> str:
    try:
        return f"  reproduce: {_save_reproducer(entry, step_input, request, loaded, folder)}"
    except EnvironmentProblem as problem:
        return f"  the reproducer could not be saved: {problem}"


def _culprit(crash: Crash) -> str:
    entry = crash.entry
    if not entry.step:
        return f"stage {entry.stage}"
    kind = "compiler pass" if entry.native else "pass"
    return f"{kind} '{entry.step}' (stage {entry.stage})"


def _essence(stderr: list[str]) -> str:
    """Return the line that says most: an assertion or an error, else the last one."""
    for line in stderr:
        if "Assertion" in line or "error:" in line or "LLVM ERROR" in line:
            return line.strip()
    return stderr[-1].strip()


def _save_reproducer(
    entry: JournalEntry,
    step_input: str,
    request: CompileRequest,
    loaded: list[str],
    folder: Path | None,
) -> str:
    """Write the step's input and the command that repeats the step; return the command."""
    digest = hashlib.sha256(step_input.encode()).hexdigest()[:8]
    base = folder or Path(tempfile.gettempdir()) / "flagc-crashes"
    place = (base / f"{request.source.name}-{entry.stage}-{digest}").resolve()
    command = ["flagc-opt", str(place / "input.mlir"), "--target", request.target.name]
    command += ["--stage", entry.stage]
    if not entry.native:
        for path in loaded:
            command += ["--load", str(Path(path).resolve())]
        placed = (p.instance for p in request.passes if p.instance.name == entry.step)
        spelling = next((instance.spelling() for instance in placed), entry.step)
        command += ["--passes", f"{entry.stage}:{spelling}"]
    elif entry.step:
        command += ["--resume", f"{entry.stage}@before({entry.step})"]
    text = " ".join(shlex.quote(part) for part in command)
    write_files(place, {"input.mlir": step_input, "command.sh": text + "\n"})
    return text
