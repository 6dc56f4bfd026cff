"""Run a script with `--check` and read what it says."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from e2e.commands import Finished, flagc


def checked(script: Path, *more: object) -> tuple[Finished, list[dict[str, Any]]]:
    """Return the finished command and its `checked` launches."""
    flags = [str(item) for item in more]
    own = flags[flags.index("--") :] if "--" in flags else []
    flags = flags[: len(flags) - len(own)]
    arguments = ["--target", "ascend", "--run", "--check", "--format", "json"]
    done = flagc(script, *arguments, *flags, *own)
    return done, document(done)["checked"]


def document(done: Finished) -> dict[str, Any]:
    """Return the JSON document that ends the standard output; the script may have printed first."""
    lines = done.stdout.split("\n")
    start = lines.index("{")
    value = json.loads("\n".join(lines[start:]))
    assert isinstance(value, dict)
    return value
