"""flagc's passes inside any running Triton program: `install`, `uninstall`, and `use_passes`."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from flagc.frontend import argument_notes
from flagc.pipeline import scratch_memory, triton_hook
from flagc.pipeline.cache import cache_folder
from flagc.pipeline.diagnostics import Findings
from flagc.pipeline.loading import load_installed_passes, load_pass_files
from flagc.pipeline.passes import Pass
from flagc.pipeline.pipeline_text import PlacedPass, parse_pipeline
from flagc.pipeline.triton_hook import Installation
from flagc.report import terminal
from flagc.targets.cuda import jit as _cuda_stages  # noqa: F401 - registers itself
from flagc.targets.cuda import planned_launches

Report = Callable[[Findings, str], None]

# Inductor compiles in worker processes, which have no hook, and keeps compiled kernels in caches
# of its own, which know nothing of passes.
_INDUCTOR_THREADS = "TORCHINDUCTOR_COMPILE_THREADS"
_INDUCTOR_CACHE = "TORCHINDUCTOR_CACHE_DIR"
# Inductor's own launcher knows nothing of launch plans; without it, Triton's is used.
_INDUCTOR_LAUNCHER = "TORCHINDUCTOR_USE_STATIC_CUDA_LAUNCHER"

# Each with what its passes note of arguments, and the environment before it.
_installed: list[tuple[Installation, tuple[Pass, ...], dict[str, str | None]]] = []


def install(
    passes: str | Sequence[Pass | PlacedPass],
    load: Sequence[str] = (),
    report: Report | None = None,
) -> Installation:
    """Run `passes` in every Triton compilation of this process from now on.

    JIT launches are recompiled when the passes, their options or their sources change. Kernels
    that PyTorch's Inductor generates are included, if the function is compiled after this call.
    Kernels that need memory of their own because of a pass (tensor descriptors made in the kernel)
    get it from PyTorch, unless the program has called `triton.set_allocator`.

    Args:
        passes: a pipeline as on the command line, or pass objects.
        load: Python files that define passes.
        report: called with findings and kernel name after each stage that passes ran in; by
            default warnings, remarks and tables are printed to standard error.

    Raises:
        UsageError: bad pipeline text, unknown pass or option, or a file that cannot be loaded.
    """
    load_installed_passes()
    load_pass_files(load)
    if isinstance(passes, str):
        placed = parse_pipeline(passes)
    else:
        placed = [p if isinstance(p, PlacedPass) else PlacedPass(p) for p in passes]
    installation = Installation(placed, report or print_findings)
    triton_hook.add(installation)
    planned_launches.provide()
    scratch_memory.provide()
    asking = argument_notes.add(placed)
    _installed.append((installation, asking, _redirect_inductor(installation.fingerprint)))
    return installation


def uninstall(installation: Installation | None = None) -> None:
    """Take back one installation, or all of them."""
    for installed in reversed(list(_installed)):
        entry, asking, environment = installed
        if installation is None or entry is installation:
            triton_hook.remove(entry)
            argument_notes.remove(asking)
            _installed.remove(installed)
            for name, value in environment.items():
                if value is None:
                    os.environ.pop(name, None)
                else:
                    os.environ[name] = value


@contextmanager
def use_passes(
    passes: str | Sequence[Pass | PlacedPass],
    load: Sequence[str] = (),
    report: Report | None = None,
) -> Iterator[Installation]:
    """Run `passes` in Triton's compilations during the block; see `install`."""
    installation = install(passes, load, report)
    try:
        yield installation
    finally:
        uninstall(installation)


def print_findings(findings: Findings, kernel: str) -> None:
    """Print what passes said about `kernel` to standard error."""
    console = terminal.err()
    terminal.print_diagnostics(findings.diagnostics)
    for table in findings.tables:
        console.print(f"kernel {kernel}:", markup=False)
        terminal.print_table(table, console)


def _redirect_inductor(fingerprint: str) -> dict[str, str | None]:
    """Point Inductor at a cache of this pipeline's own, and return the previous environment."""
    names = (_INDUCTOR_THREADS, _INDUCTOR_CACHE, _INDUCTOR_LAUNCHER)
    previous = {name: os.environ.get(name) for name in names}
    os.environ[_INDUCTOR_THREADS] = "1"
    os.environ[_INDUCTOR_LAUNCHER] = "0"
    os.environ[_INDUCTOR_CACHE] = str(cache_folder() / "inductor" / fingerprint[:16])
    config: Any = sys.modules.get("torch._inductor.config")
    if config is not None:
        config.compile_threads = 1
        config.use_static_cuda_launcher = False
    return previous
