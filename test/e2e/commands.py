"""Run flagc's commands as a user does, in a process of their own."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
INPUTS = Path(__file__).parent / "inputs"
EXAMPLES = ROOT / "examples"


@dataclass
class Finished:
    status: int
    stdout: str
    stderr: str
    raw: bytes

    @property
    def error_lines(self) -> list[str]:
        """The lines of standard error that report an error."""
        return [line for line in self.stderr.splitlines() if "error:" in line]


def flagc(*arguments: object, module: str = "main", **keywords) -> Finished:
    return command(module, *arguments, **keywords)


def flagc_opt(*arguments: object, **keywords) -> Finished:
    return command("opt", *arguments, **keywords)


def command(
    module: str,
    *arguments: object,
    environment: dict[str, str] | None = None,
    cwd: Path | None = None,
    stdin: str | None = None,
) -> Finished:
    code = f"from flagc.cli.{module} import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)],
        capture_output=True,
        input=stdin.encode() if stdin is not None else None,
        env={**os.environ, **(environment or {})},
        cwd=cwd,
        timeout=240,
        check=False,
    )
    stdout = done.stdout.decode(errors="replace")
    return Finished(done.returncode, stdout, done.stderr.decode(errors="replace"), done.stdout)
