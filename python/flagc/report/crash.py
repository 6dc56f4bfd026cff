"""Turn a crashed compilation into a message with a reproducer."""

from __future__ import annotations

import hashlib
import shlex
import tempfile
from pathlib import Path

from flagc.errors import EnvironmentProblem, FlagcError, KernelError
from flagc.pipeline.compiler import CompileRequest
from flagc.pipeline.isolation import Crash
from flagc.report.files import write_files


def crash_error(
    crash: Crash, request: CompileRequest, loaded: list[str], folder: Path | None
) -> FlagcError:
    """Return the error that reports `crash`, after saving a reproducer where possible.

    Args:
        loaded: the files given with `--load`, needed to repeat the run.
        folder: where to save; None means a folder in the system's temporary folder.
    """
    lines = [f"error: {_culprit(crash)} {crash.what} while compiling '{request.source.name}'"]
    lines += [f"  before that, {change}" for change in crash.changes[:1]]
    said = crash.stderr.strip().splitlines()
    lines += [f"  it said: {_essence(said)}"] if said else []
    if crash.step_input is not None:
        try:
            lines.append(f"  reproduce: {_save_reproducer(crash, request, loaded, folder)}")
        except EnvironmentProblem as problem:
            lines.append(f"  the reproducer could not be saved: {problem}")
    return KernelError("\n".join(lines))


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
    crash: Crash, request: CompileRequest, loaded: list[str], folder: Path | None
) -> str:
    assert crash.step_input is not None
    digest = hashlib.sha256(crash.step_input.encode()).hexdigest()[:8]
    base = folder or Path(tempfile.gettempdir()) / "flagc-crashes"
    place = base / f"{request.source.name}-{crash.entry.stage}-{digest}"
    command = ["flagc-opt", str(place / "input.mlir"), "--target", request.target.name]
    command += ["--stage", crash.entry.stage]
    if crash.entry.native and crash.entry.step and not crash.entry.step.startswith("verifier"):
        command += ["--resume", f"{crash.entry.stage}@before({crash.entry.step})"]
    elif not crash.entry.native:
        for path in loaded:
            command += ["--load", str(Path(path).resolve())]
        spelling = next(
            (
                placed.instance.spelling()
                for placed in request.passes
                if placed.instance.name == crash.entry.step
            ),
            crash.entry.step,
        )
        command += ["--passes", f"{crash.entry.stage}:{spelling}"]
    text = " ".join(shlex.quote(part) for part in command)
    write_files(place, {"input.mlir": crash.step_input, "command.sh": text + "\n"})
    return text
