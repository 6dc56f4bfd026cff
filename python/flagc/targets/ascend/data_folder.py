"""The per-user folders in which flagc keeps outside tools and what it derives from them."""

from __future__ import annotations

import contextlib
import fcntl
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

from flagc.targets.ascend.errors import ToolchainError


def data_folder() -> Path:
    """`$FLAGC_DATA_DIR`, or `$XDG_DATA_HOME/flagc`, or `~/.local/share/flagc`; not created."""
    if own := os.environ.get("FLAGC_DATA_DIR"):
        return Path(own).expanduser().resolve()
    base = os.environ.get("XDG_DATA_HOME")
    # XDG base directory specification: a relative path is invalid and must be ignored.
    if base and Path(base).is_absolute():
        return Path(base) / "flagc"
    return Path("~/.local/share/flagc").expanduser()


def make_folder(folder: Path) -> Path:
    """Create `folder` with its parents, or say what to set instead."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ToolchainError(
            f"cannot create {folder}: {error.strerror}; set FLAGC_DATA_DIR to a folder "
            "that you can write to"
        ) from error
    return folder


@contextlib.contextmanager
def exclusive(lock_file: Path) -> Iterator[None]:
    """Hold an exclusive lock on `lock_file`; waits for another process that holds it.

    The lock goes away with the process, so a killed holder blocks nobody.
    """
    make_folder(lock_file.parent)
    try:
        descriptor = os.open(lock_file, os.O_CREAT | os.O_RDWR, 0o644)
    except OSError as error:
        raise ToolchainError(
            f"cannot write {lock_file}: {error.strerror}; set FLAGC_DATA_DIR to a folder "
            "that you can write to"
        ) from error
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def write_atomically(target: Path, data: bytes, mode: int = 0o644) -> None:
    """Write `data` so that `target` is either absent or complete."""
    make_folder(target.parent)
    descriptor, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        os.chmod(name, mode)
        os.replace(name, target)
    except OSError as error:
        raise ToolchainError(f"cannot write {target}: {error.strerror}") from error
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name)
