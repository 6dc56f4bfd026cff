"""Write result files so that nothing is ever left half-written."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path

from flagc.errors import EnvironmentProblem


def write_files(folder: Path, files: Mapping[str, str | bytes]) -> list[Path]:
    """Write `files` (content by name) into `folder`, all or none, and return their paths.

    The folder is created if needed. Files are written under temporary names first, and renamed
    when all are complete.

    Raises:
        EnvironmentProblem: the folder cannot be created or written, or the disk is full.
    """
    missing = _missing_folders(folder)
    written: list[tuple[str, Path]] = []
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in files.items():
            raw = content.encode() if isinstance(content, str) else content
            with tempfile.NamedTemporaryFile(dir=folder, prefix=".flagc-", delete=False) as file:
                written.append((file.name, folder / name))
                file.write(raw)
            os.chmod(file.name, 0o644)
        for temporary, path in written:
            os.replace(temporary, path)
    except OSError as error:
        for temporary, _ in written:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
        for created in reversed(missing):
            with contextlib.suppress(OSError):
                created.rmdir()
        reason = error.strerror or str(error)
        raise EnvironmentProblem(f"cannot write to output folder {folder}: {reason}") from error
    return [path for _, path in written]


def _missing_folders(folder: Path) -> list[Path]:
    """Return the folders that creating `folder` would create, outermost first."""
    missing: list[Path] = []
    current = folder
    while not current.exists():
        missing.insert(0, current)
        if current.parent == current:
            break
        current = current.parent
    return missing
