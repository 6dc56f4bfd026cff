"""What the commands share: pipelines from flags, isolated compilation, error handling."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import click
from rich.status import Status

from flagc.errors import EXIT_USAGE_OR_ENVIRONMENT, FlagcError
from flagc.pipeline.compiler import CompileRequest, CompileResult, cached_result, compile_kernel
from flagc.pipeline.diagnostics import StepCrash
from flagc.pipeline.isolation import CompilerCrash, JournalEntry, run_isolated
from flagc.report import terminal
from flagc.report.crash import crash_error, step_crash_error

# A step that takes longer than this, in seconds, is taken for an endless loop. The slowest vendor
# pass seen on real kernels took 60 s.
DEFAULT_TIME_LIMIT = 120.0


def compile_isolated(
    request: CompileRequest,
    *,
    loaded: Sequence[str] = (),
    crash_folder: Path | None = None,
    time_limit: float = DEFAULT_TIME_LIMIT,
    in_process: bool = False,
    use_cache: bool = True,
    work: Callable[..., CompileResult] | None = None,
) -> CompileResult:
    """Return the cached result, or compile in a child process with a time limit.

    Raises:
        FlagcError: compiling failed; a crash comes with a saved reproducer.
    """
    if use_cache and (result := cached_result(request)) is not None:
        return result
    run = work or compile_kernel
    if in_process:
        return run(request)
    with _Progress(request.source.name) as progress:
        try:
            return run_isolated(
                lambda journal: run(request, journal),
                time_limit=time_limit,
                on_step=progress.show,
            )
        except CompilerCrash as error:
            raise crash_error(error.crash, request, list(loaded), crash_folder) from error
        except StepCrash as error:
            raise step_crash_error(error, request, list(loaded), crash_folder) from error


class _Progress:
    """A spinner on a terminal, naming kernel and stage; nothing elsewhere."""

    def __init__(self, kernel: str) -> None:
        self._kernel = kernel
        self._status: Status | None = None
        if sys.stderr.isatty():
            self._status = Status(f"compiling {kernel}", console=terminal.err())

    def __enter__(self) -> _Progress:
        if self._status is not None:
            self._status.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._status is not None:
            self._status.stop()

    def show(self, entry: JournalEntry) -> None:
        if self._status is not None:
            step = f", {entry.step}" if entry.step else ""
            self._status.update(f"compiling {self._kernel}: {entry.stage}{step}")


def run_command(command: click.Command) -> None:
    """Run a click command with flagc's exit statuses and one-line errors."""
    try:
        status = command.main(standalone_mode=False)
    except FlagcError as error:
        terminal.print_error(str(error))
        status = error.exit_status
    except click.ClickException as error:
        terminal.print_error(error.format_message())
        status = EXIT_USAGE_OR_ENVIRONMENT
    except (click.Abort, KeyboardInterrupt):
        status = 130
    except BrokenPipeError:
        # The reader of our output went away, as `| head` does.
        sys.stderr.close()
        status = 0
    sys.exit(status if isinstance(status, int) else 0)
