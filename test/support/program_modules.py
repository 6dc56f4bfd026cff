"""Modules of a program under tools/, which go by short names that other programs use too."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType


@contextmanager
def modules_of(folder: Path, *names: str) -> Iterator[dict[str, ModuleType]]:
    """Import modules of `folder` by name; afterwards its names mean what they meant before."""
    own = {path.stem for path in folder.glob("*.py")}
    before = {name: sys.modules.pop(name) for name in own & sys.modules.keys()}
    sys.path.insert(0, str(folder))
    try:
        yield {name: importlib.import_module(name) for name in names}
    finally:
        sys.path.remove(str(folder))
        for name in own:
            sys.modules.pop(name, None)
        sys.modules.update(before)
