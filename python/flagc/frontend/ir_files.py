"""IR files as inputs: the file name's suffix says which stage's result the file holds."""

from __future__ import annotations

from pathlib import Path

from flagc.errors import UsageError
from flagc.pipeline.stages import Stage
from flagc.pipeline.target import IrSource, Target


def stage_of_file(path: Path, stages: list[Stage]) -> Stage | None:
    """Return the stage whose suffix `path` ends with, or None."""
    matching = [stage for stage in stages if path.name.endswith(stage.suffix)]
    return max(matching, key=lambda stage: len(stage.suffix)) if matching else None


def read_ir_file(path: Path, target: Target) -> IrSource:
    """Read `path` as the IR of the stage that its suffix names.

    Raises:
        UsageError: no such file, a suffix that is no stage of `target`, or a binary file.
    """
    stages = target.stages()
    stage = stage_of_file(path, stages)
    suffixes = ", ".join(stage.suffix for stage in stages)
    if stage is None:
        raise UsageError(
            f"{path}: neither a Python file nor IR of target {target.name}; "
            f"its IR files end with {suffixes}"
        )
    content = read_text(path)
    if not content.strip():
        raise UsageError(f"{path}: the file is empty; expected {stage.name} IR")
    return IrSource(path.name.removesuffix(stage.suffix), stage.name, path, content)


def read_text(path: Path) -> str:
    """Return the file's text.

    Raises:
        UsageError: the file cannot be read, or is no text.
    """
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from error
    try:
        text = raw.decode()
    except UnicodeDecodeError as error:
        raise UsageError(f"{path}: a binary file, not IR text (byte {error.start})") from error
    if "\x00" in text:
        raise UsageError(f"{path}: a binary file, not IR text (byte {text.index(chr(0))})")
    return text
