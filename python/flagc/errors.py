"""Errors that reach the user, and the exit status each one stands for."""

from __future__ import annotations

EXIT_GOOD = 0
EXIT_KERNEL_FAILED = 1
EXIT_USAGE_OR_ENVIRONMENT = 2


class FlagcError(Exception):
    """An error that is the user's to act on: its text says what, where and what to do."""

    exit_status = EXIT_KERNEL_FAILED


class KernelError(FlagcError):
    """The kernel, its IR or a pass over it is wrong (exit status 1)."""


class UsageError(FlagcError):
    """A name, option or input file that flagc cannot take (exit status 2)."""

    exit_status = EXIT_USAGE_OR_ENVIRONMENT


class EnvironmentProblem(FlagcError):
    """Something outside the kernel is missing or refuses: tool, disk, network (exit status 2)."""

    exit_status = EXIT_USAGE_OR_ENVIRONMENT


def nearest(name: str, valid: list[str], limit: int = 3) -> str:
    """Return a tail for "unknown NAME" messages that names the nearest of `valid`.

    Falls back to listing all of `valid` when nothing is close.
    """
    import difflib

    close = difflib.get_close_matches(name, valid, n=limit, cutoff=0.5)
    if close:
        return "did you mean " + " or ".join(f"'{candidate}'" for candidate in close) + "?"
    return "valid: " + (", ".join(valid) if valid else "(none)")
