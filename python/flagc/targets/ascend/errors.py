"""Errors of the Ascend target that are the environment's fault, not the kernel's."""

from __future__ import annotations

from flagc.errors import EnvironmentProblem


class ToolchainError(EnvironmentProblem):
    """A vendor tool is missing, cannot be fetched or is not what was pinned.

    The text is one line a user can act on. Command lines exit with status 2 on it.
    """
