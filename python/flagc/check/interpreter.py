"""Triton's interpreter as a reference: the kernel's Python code on numpy, without any compiler.

Whether `triton.jit` makes interpreted functions is decided when Triton is imported, so the
interpreter runs in a process of its own, on copies of the launch's arguments.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from flagc.errors import KernelError

TIME_LIMIT = 300.0


def interpreted(kernel: Any, grid: tuple[int, int, int], arguments: Mapping[str, Any]) -> Any:
    """Return the tensors among `arguments`, by name, as the interpreter leaves them.

    `arguments` holds all parameters of the kernel, constexprs included.

    Raises:
        KernelError: the interpreter cannot run the kernel; the message ends with its last line.
    """
    with tempfile.TemporaryDirectory(prefix="flagc-check-") as folder:
        job, result = Path(folder) / "job", Path(folder) / "result"
        file = kernel.fn.__code__.co_filename
        job.write_bytes(pickle.dumps((file, kernel.fn.__name__, grid, dict(arguments))))
        command = [sys.executable, "-m", "flagc.check.interpreter", str(job), str(result)]
        package_parent = str(Path(__file__).resolve().parents[2])
        path = os.pathsep.join([package_parent, *filter(None, [os.environ.get("PYTHONPATH")])])
        environment = {**os.environ, "TRITON_INTERPRET": "1", "PYTHONPATH": path}
        try:
            done = subprocess.run(
                command, env=environment, capture_output=True, timeout=TIME_LIMIT, check=False
            )
        except subprocess.TimeoutExpired as error:
            raise KernelError(
                f"error: Triton's interpreter did not finish '{kernel.fn.__name__}' within "
                f"{TIME_LIMIT:g} s; give the kernel a @flagc.reference"
            ) from error
        if done.returncode or not result.exists():
            lines = done.stderr.decode(errors="replace").strip().splitlines() or ["no message"]
            raise KernelError(
                f"error: Triton's interpreter cannot run '{kernel.fn.__name__}': {lines[-1]}; "
                "give the kernel a @flagc.reference"
            )
        return pickle.loads(result.read_bytes())


def _main(job: str, result: str) -> None:
    """Run one job in this process, in which Triton interprets."""
    import runpy

    import torch

    file, name, grid, arguments = pickle.loads(Path(job).read_bytes())
    sys.path.insert(0, str(Path(file).parent))
    kernel = runpy.run_path(file, run_name="flagc_check")[name]
    while type(kernel).__name__ in ("Autotuner", "Heuristics"):
        kernel = kernel.fn
    kernel[grid](**arguments)
    tensors = {key: value for key, value in arguments.items() if isinstance(value, torch.Tensor)}
    Path(result).write_bytes(pickle.dumps(tensors))


if __name__ == "__main__":
    _main(sys.argv[1], sys.argv[2])
