"""Run a user's Triton script with its launches recorded."""

from __future__ import annotations

import runpy
import sys
import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from triton.runtime.jit import JITFunction

from flagc.errors import EXIT_KERNEL_FAILED, FlagcError, KernelError, UsageError
from flagc.frontend.execution import Executor
from flagc.frontend.launch import Launch
from flagc.frontend.pairs import Merge
from flagc.frontend.recorder import LaunchRecorder, recording
from flagc.pipeline.pipeline_text import PlacedPass
from flagc.pipeline.target import Target


@dataclass
class ScriptRun:
    """What running a script gave.

    Attributes:
        launches: the recorded launches.
        note: set when the script stopped early for a reason that is no error (it checked results,
            which do not exist while launches are only recorded).
        error: set when it stopped early because of an error, its own or that of a launch.
        error_status: the exit status that the error stands for.
    """

    launches: list[Launch]
    note: str = ""
    error: str = ""
    error_status: int = EXIT_KERNEL_FAILED


def run_script(
    path: Path,
    arguments: Sequence[str],
    target: Target,
    autotune_config: int | None = None,
    executor: Executor | None = None,
    passes: Sequence[PlacedPass] = (),
    merge: Merge | None = None,
) -> ScriptRun:
    """Run the script at `path` as `__main__` with `arguments`, and return its launches.

    With an `executor` they are executed as they come, with `merge` some become one. `passes` are
    those of their compilations.

    Raises:
        UsageError: no such file.
        KernelError: the script failed before it launched anything.
        FlagcError: launches are only recorded, and one cannot be.
    """
    if not path.is_file():
        raise UsageError(f"no such file: {path}")
    recorder = LaunchRecorder(target, autotune_config, executor, passes, merge)
    saved_arguments, saved_path = sys.argv, list(sys.path)
    sys.argv = [str(path), *arguments]
    sys.path.insert(0, str(path.resolve().parent))
    run = ScriptRun(recorder.launches)
    try:
        with recording(recorder):
            runpy.run_path(str(path), run_name="__main__")
    except FlagcError as error:
        if executor is None or not recorder.launches:
            raise
        run.error, run.error_status = str(error), error.exit_status
    except SystemExit as stop:
        if stop.code not in (None, 0):
            message = f"{path}: error: the script exited with status {stop.code}"
            if not recorder.launches:
                raise KernelError(message) from stop
            if executor is not None:  # else it may have seen that there are no results
                run.error = message
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        message = script_error(error, path)
        if not recorder.launches:
            raise KernelError(message) from error
        if isinstance(error, AssertionError) and executor is None:
            line = message.split(": error:", maxsplit=1)[0]
            run.note = (
                f"{line}: the script checks results here and was stopped: launches are recorded, "
                "not executed, so there are no results"
            )
        else:
            run.error = message
    finally:
        sys.argv, sys.path[:] = saved_arguments, saved_path
    return run


def script_error(error: BaseException, path: Path) -> str:
    """Return `file:line: error: ...` for an exception of a user's script, with the user's line."""
    if isinstance(error, SyntaxError) and error.filename:
        source = f"\n{error.text.rstrip()}" if error.text else ""
        caret = f"\n{' ' * ((error.offset or 1) - 1)}^" if error.text else ""
        place = f"{error.filename}:{error.lineno}:{error.offset or 1}"
        return f"{place}: error: {error.msg}{source}{caret}"
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if Path(frame.filename).resolve() == path.resolve()]
    hint = ""
    if "CUDA" in str(error) or "NVIDIA driver" in str(error):
        hint = (
            "; flagc runs scripts without a GPU: create tensors on the CPU, or on "
            "triton.runtime.driver.active.get_active_torch_device()"
        )
    text = f"error: {type(error).__name__}: {error}{hint}"
    if not own:
        return f"{path}: {text}"
    return f"{own[-1].filename}:{own[-1].lineno}: {text}\n    {own[-1].line}"


def defined_kernels(path: Path) -> dict[str, JITFunction]:
    """Return the JIT functions that the file at `path` defines, without running its main part.

    Raises:
        UsageError: no such file.
        KernelError: importing the file failed.
    """
    if not path.is_file():
        raise UsageError(f"no such file: {path}")
    saved_path = list(sys.path)
    sys.path.insert(0, str(path.resolve().parent))
    try:
        names = runpy.run_path(str(path), run_name=path.stem)
    except Exception as error:
        raise KernelError(script_error(error, path)) from error
    finally:
        sys.path[:] = saved_path
    kernels: dict[str, JITFunction] = {}
    for name, value in names.items():
        function = value
        while hasattr(function, "fn") and not isinstance(function, JITFunction):
            function = function.fn  # unwrap autotune and heuristics
        if isinstance(function, JITFunction):
            kernels[name] = function
    return kernels
