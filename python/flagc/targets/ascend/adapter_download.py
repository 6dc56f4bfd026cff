"""Fetch triton-adapter-opt: one pinned wheel through pip, one file out of it, checksums checked."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tempfile
import time
import zipfile
from pathlib import Path

from flagc.targets.ascend.data_folder import exclusive, make_folder, write_atomically
from flagc.targets.ascend.errors import ToolchainError
from flagc.targets.ascend.pins import WheelPin

# Seconds. pip retries on its own; past this the index is treated as unreachable.
DOWNLOAD_LIMIT = 900.0
# Seconds of silence before a progress bar appears.
QUIET = 2.0


def install_adapter(pin: WheelPin, target: Path) -> None:
    """Put the pinned binary at `target` (executable), once, whatever else runs at the same time."""
    with exclusive(target.parent / ".lock"):
        if target.exists():
            return
        make_folder(target.parent)
        with tempfile.TemporaryDirectory(dir=target.parent, prefix=".download-") as staging:
            wheel = download_wheel(pin, Path(staging))
            _check_sha256(wheel.read_bytes(), pin.sha256, pin.file)
            binary = _member(wheel, pin.member)
            _check_sha256(binary, pin.binary_sha256, pin.member)
            write_atomically(target, binary, mode=0o755)


def download_wheel(pin: WheelPin, folder: Path) -> Path:
    """Run `pip download` for `pin` into `folder` and return the wheel's path."""
    command = [
        *(sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-input"),
        *("--only-binary=:all:", "--implementation=cp", "--disable-pip-version-check"),
        f"--python-version={pin.python_tag.removeprefix('cp')}",
        *(f"--platform=manylinux_2_{glibc}_{pin.platform}" for glibc in (28, 27)),
        *("--dest", str(folder), f"triton-ascend=={pin.version}"),
    ]
    environment = {**os.environ, "TMPDIR": str(folder), "PYTHONNOUSERSITE": "1"}
    with tempfile.TemporaryFile() as log:
        child = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment
        )
        try:
            timed_out = not _wait(child, folder, pin)
        finally:
            if child.poll() is None:
                child.kill()
                child.wait()
        log.seek(0)
        said = log.read().decode(errors="replace")
    wheel = folder / pin.file
    if timed_out or child.returncode != 0 or not wheel.exists():
        raise ToolchainError(_download_failure(pin, said, timed_out))
    return wheel


def _wait(child: subprocess.Popen[bytes], folder: Path, pin: WheelPin) -> bool:
    """Wait for pip, with a progress bar on stderr after QUIET seconds; False on the time limit."""
    started = time.monotonic()
    try:
        child.wait(timeout=QUIET)
        return True
    except subprocess.TimeoutExpired:
        pass
    from rich.console import Console
    from rich.progress import DownloadColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), DownloadColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(f"downloading triton-ascend {pin.version}", total=pin.bytes)
        while child.poll() is None:
            if time.monotonic() - started > DOWNLOAD_LIMIT:
                return False
            progress.update(task, completed=min(_bytes_below(folder), pin.bytes))
            time.sleep(0.1)
    return True


def _bytes_below(folder: Path) -> int:
    """Size of all files below `folder` now; files that pip moves meanwhile are skipped."""
    total = 0
    for path in folder.rglob("*"):
        try:
            total += path.stat().st_size if path.is_file() else 0
        except OSError:
            continue
    return total


def _download_failure(pin: WheelPin, said: str, timed_out: bool) -> str:
    """One line: what could not be fetched, pip's own reason and what to do."""
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith("ERROR")]
    reason = (errors or lines or ["pip said nothing"])[-1].removeprefix("ERROR: ")
    if timed_out:
        reason = f"no answer within {DOWNLOAD_LIMIT:.0f} s"
    advice = "check the network or the package index"
    if "No module named pip" in said:
        advice = f"install pip into {sys.executable} ('{sys.executable} -m ensurepip')"
    return (
        f"cannot download triton-ascend {pin.version} ({pin.file}): {reason}; {advice}, or put "
        "that wheel into a folder and set PIP_FIND_LINKS to the folder"
    )


def _check_sha256(data: bytes, expected: str, what: str) -> None:
    found = hashlib.sha256(data).hexdigest()
    if found != expected:
        raise ToolchainError(
            f"checksum of {what} is sha256:{found}, pinned is sha256:{expected}; nothing was "
            "installed. The package index gave another file than the pinned one"
        )


def _member(wheel: Path, name: str) -> bytes:
    with zipfile.ZipFile(wheel) as archive:
        return archive.read(name)
