"""Find passes: the built-in ones, those of installed packages, and those of the user's files."""

from __future__ import annotations

import functools
import hashlib
import importlib
import importlib.util
import pkgutil
import sys
import traceback
from collections.abc import Sequence
from importlib.metadata import entry_points
from pathlib import Path

from flagc.errors import EnvironmentProblem, UsageError

ENTRY_POINT_GROUP = "flagc.passes"


@functools.lru_cache(maxsize=1)
def load_installed_passes() -> None:
    """Register the built-in passes and those of the entry-point group `flagc.passes`.

    Raises:
        EnvironmentProblem: an installed package's entry point cannot be imported.
    """
    package = importlib.import_module("flagc.passes")
    for module in pkgutil.walk_packages(package.__path__, "flagc.passes."):
        importlib.import_module(module.name)
    for entry in entry_points(group=ENTRY_POINT_GROUP):
        try:
            entry.load()
        except Exception as error:
            raise EnvironmentProblem(
                f"the passes of entry point '{entry.name}' ({entry.value}) cannot be loaded: "
                f"{type(error).__name__}: {error}; reinstall or remove the package"
            ) from error


def load_pass_files(paths: Sequence[str | Path]) -> None:
    """Import the Python files at `paths`, which register passes.

    Raises:
        UsageError: a file does not exist, or importing it fails (with its line).
    """
    for path in paths:
        _load_file(Path(path))


def _load_file(path: Path) -> None:
    if not path.is_file():
        raise UsageError(f"--load {path}: no such file")
    # The name carries the path, so that two files of the same name can be loaded.
    digest = hashlib.sha256(str(path.resolve()).encode()).hexdigest()[:8]
    name = f"flagc_loaded_{path.stem}_{digest}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise UsageError(f"--load {path}: not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    folder = str(path.resolve().parent)
    if folder not in sys.path:
        sys.path.append(folder)
    try:
        spec.loader.exec_module(module)
    except UsageError:
        raise
    except SyntaxError as error:
        raise UsageError(f"--load {error.filename}:{error.lineno}: error: {error.msg}") from error
    except Exception as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        raise UsageError(
            f"--load {path}: error: {type(error).__name__}: {error} ({last.filename}:{last.lineno})"
        ) from error
