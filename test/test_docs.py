"""Every command in the documentation runs, from a folder that only has the examples."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
MODULES = {"flagc": "main", "flagc-bundle": "bundle", "flagc-opt": "opt"}


def console_blocks(page: Path) -> list[list[str]]:
    """Return the commands of each ```console block."""
    blocks = page.read_text().split("```console\n")[1:]
    return [
        [line[2:] for line in block.split("```")[0].splitlines() if line.startswith("$ ")]
        for block in blocks
    ]


CASES = [
    pytest.param(commands, id=f"{page.stem}-{number}")
    for page in PAGES
    for number, commands in enumerate(console_blocks(page), start=1)
]


def test_pages_have_commands() -> None:
    assert len(CASES) > 8


@pytest.mark.parametrize("commands", CASES)
def test_commands_run(commands: list[str], tmp_path: Path) -> None:
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    binaries = tmp_path / "bin"
    binaries.mkdir()
    for name, module in MODULES.items():
        script = binaries / name
        code = f"from flagc.cli.{module} import main; main()"
        script.write_text(f"#!/bin/sh\nexec '{sys.executable}' -c '{code}' \"$@\"\n")
        script.chmod(0o755)
    shutil.copy(ROOT / "examples" / "passes" / "scale_constants.py", tmp_path / "my_passes.py")
    environment = {**os.environ, "PATH": f"{binaries}:{os.environ['PATH']}"}
    for command in commands:
        done = subprocess.run(
            command,
            shell=True,
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"{command}\n{done.stderr}"
        assert done.stdout, command
