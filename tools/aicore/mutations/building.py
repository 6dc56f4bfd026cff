"""Builds the emulator's module with one source changed, from the objects of an existing build.

Only what depends on the changed file is compiled again, without optimisation; the commands are
those that ninja recorded.
"""

from __future__ import annotations

import json
import re
import shlex
import subprocess
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from catalogue import SOURCES

_INCLUDE = re.compile(r'^#include "([^"]+)"', re.MULTILINE)


class BuildProblem(Exception):
    """There is no build to start from, or a mutation does not compile; the message says which."""


@dataclass(frozen=True)
class Step:
    """One command of the build; `output` and `source` are as the command spells them."""

    command: list[str]
    output: str
    source: str | None


class Scratch:
    """A copy of the sources in `folder`, next to the build in `build`."""

    def __init__(self, build: Path, folder: Path) -> None:
        self.build, self.folder = build, folder
        self.compile, self.link = _steps(build)
        self.sources = {path.name: path.read_text() for path in _source_files()}
        folder.mkdir(parents=True, exist_ok=True)
        self._outdated: set[str] = set()
        for name, text in self.sources.items():
            (folder / name).write_text(text)

    def dependents(self, name: str) -> set[str]:
        """The .cpp files that contain `name`, themselves or through what they include."""
        wanted, size = {name}, 0
        while len(wanted) != size:
            size = len(wanted)
            wanted |= {
                other
                for other, text in self.sources.items()
                if wanted & set(_INCLUDE.findall(text))
            }
        return {other for other in wanted if other.endswith(".cpp")}

    def module(self, name: str, text: str, jobs: int) -> Path:
        """Path of a module in which file `name` reads `text`. Raises BuildProblem."""
        (self.folder / name).write_text(text)
        try:
            changed = sorted(self.dependents(name))
            with ThreadPoolExecutor(jobs) as pool:
                objects = dict(zip(changed, pool.map(self._compile, changed), strict=True))
        finally:
            (self.folder / name).write_text(self.sources[name])
        target = self.folder / Path(self.link.output).name
        by_output = {step.output: Path(step.source or "").name for step in self.compile}
        command = [
            str(target) if word == self.link.output else objects.get(by_output.get(word, ""), word)
            for word in self.link.command
        ]
        _run(command, self.build)
        return target

    def _compile(self, name: str) -> str:
        step = next(step for step in self.compile if Path(step.source or "").name == name)
        target = str(self.folder / f"{name}.o")
        words = [target if word == step.output else word for word in step.command]
        words = [str(self.folder / name) if word == step.source else word for word in words]
        _run([*words, "-O0", "-w"], self.build)
        return target


def _source_files() -> list[Path]:
    return sorted([*SOURCES.glob("*.cpp"), *SOURCES.glob("*.h")])


def _steps(build: Path) -> tuple[list[Step], Step]:
    """The compile steps of tools/aicore's sources, and the link of its module."""
    text = subprocess.run(
        ["ninja", "-C", build, "-t", "compdb"], capture_output=True, text=True, check=False
    )
    if text.returncode:
        raise BuildProblem(f"{build} is no build folder of ninja: {text.stderr.strip()}")
    names = {path.name for path in _source_files()}
    compiles, links = [], []
    for entry in json.loads(text.stdout):
        words = _plain(entry["command"])
        if entry["output"].endswith(".so") and "_aicore" in entry["output"]:
            links.append(Step(words, entry["output"], None))
        elif Path(entry["file"]).name in names and entry["output"].endswith(".o"):
            compiles.append(Step(words, entry["output"], entry["file"]))
    if not compiles or not links:
        raise BuildProblem(f"{build} has no step that builds the emulator's module")
    return compiles, links[0]


def _plain(command: str) -> list[str]:
    """The words of the compiler's command, without what CMake puts before and after it."""
    part = max(command.split("&&"), key=len)
    words = shlex.split(part)
    kept, skip = [], False
    for word in words:
        if skip or word in ("-MD", ":"):
            skip = False
        elif word in ("-MT", "-MF"):
            skip = True
        else:
            kept.append(word)
    return kept


def _run(command: list[str], folder: Path) -> None:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if "error" in line] or [done.stderr]
        raise BuildProblem(lines[0][:300])
