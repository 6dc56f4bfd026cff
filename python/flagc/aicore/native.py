"""Finds the native module: installed next to this file, or in the build folder of a checkout."""

from __future__ import annotations

import importlib.util
import sys
import sysconfig
from functools import lru_cache
from pathlib import Path
from types import ModuleType

from flagc.errors import EnvironmentProblem

_NAME = "flagc.aicore._aicore"


@lru_cache(maxsize=1)
def native() -> ModuleType:
    """Return `flagc.aicore._aicore`, or raise EnvironmentProblem saying how to build it."""
    try:
        from flagc.aicore import _aicore  # type: ignore[attr-defined]
    except ImportError:
        return _from_checkout()
    return _aicore  # type: ignore[no-any-return]


def _from_checkout() -> ModuleType:
    root = Path(__file__).resolve().parents[3]
    python = f"cp{sys.version_info.major}{sys.version_info.minor}"
    found = sorted((root / "build").glob(f"{python}-*/tools/aicore/_aicore*.so"))
    if not found:
        tag = f"{python}-{python}-{sysconfig.get_platform().replace('-', '_')}"
        raise EnvironmentProblem(
            "the AI Core emulator is not built; install flagc with `pip install .`, or in a "
            f"checkout: cmake -S . -B build/{tag} -G Ninja -DCMAKE_BUILD_TYPE=Release "
            f"-DPython_EXECUTABLE={sys.executable} && cmake --build build/{tag}"
        )
    spec = importlib.util.spec_from_file_location(_NAME, found[0])
    if spec is None or spec.loader is None:
        raise EnvironmentProblem(f"{found[0]} cannot be loaded as a Python module")
    module = importlib.util.module_from_spec(spec)
    sys.modules[_NAME] = module
    spec.loader.exec_module(module)
    return module
