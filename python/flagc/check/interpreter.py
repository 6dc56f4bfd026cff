"""Triton's interpreter as a reference: the kernel's Python code on numpy, without any compiler.

Whether `triton.jit` makes interpreted functions is decided when Triton is imported, so the
interpreter runs in a process of its own (`flagc.check.interpreter_process`), on copies of the
launch's arguments.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from flagc.check.evidence import Reference
from flagc.check.snapshot import Snapshot
from flagc.errors import KernelError

TIME_LIMIT = 300.0


@dataclass(frozen=True)
class Job:
    """A launch for the interpreter.

    Attributes:
        file, module, name: where the kernel function is.
        arguments: all parameters of the kernel, constexprs included.
        wide: whether to compute in float64 where that is possible.
    """

    file: str
    module: str
    name: str
    path: list[str]
    grid: tuple[int, int, int]
    arguments: Snapshot
    wide: bool = True


def interpreted(
    kernel: Any, grid: tuple[int, int, int], arguments: Snapshot, *, wide: bool = True
) -> Reference:
    """Return what the interpreter makes of a launch, in float64 where that is possible.

    Raises:
        KernelError: the interpreter cannot run the kernel; the message ends with its last line.
    """
    function = kernel.fn
    name = function.__name__
    job = Job(
        function.__code__.co_filename,
        function.__module__,
        name,
        list(sys.path),
        grid,
        arguments,
        wide,
    )
    with tempfile.TemporaryDirectory(prefix="flagc-check-") as folder:
        job_file, result = Path(folder) / "job", Path(folder) / "result"
        job_file.write_bytes(pickle.dumps(job))
        command = [sys.executable, "-m", "flagc.check.interpreter_process"]
        package_parent = str(Path(__file__).resolve().parents[2])
        path = os.pathsep.join([package_parent, *filter(None, [os.environ.get("PYTHONPATH")])])
        environment = {**os.environ, "TRITON_INTERPRET": "1", "PYTHONPATH": path}
        try:
            done = subprocess.run(
                [*command, str(job_file), str(result)],
                env=environment,
                capture_output=True,
                timeout=TIME_LIMIT,
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            raise KernelError(
                f"error: Triton's interpreter did not finish '{name}' within {TIME_LIMIT:g} s; "
                "give the kernel a @flagc.reference"
            ) from error
        if done.returncode or not result.exists():
            lines = done.stderr.decode(errors="replace").strip().splitlines() or ["no message"]
            raise KernelError(
                f"error: Triton's interpreter cannot run '{name}': {lines[-1]}; "
                "give the kernel a @flagc.reference"
            )
        reference = pickle.loads(result.read_bytes())
        assert isinstance(reference, Reference)
        return reference
