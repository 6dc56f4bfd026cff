"""The compile cache: results of whole compilations on disk, by key.

A result is one file, written under a temporary name and renamed, so that readers never see half
of one and two writers at once do no harm.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import tempfile
from pathlib import Path
from typing import Any

import platformdirs

# Changes whenever the layout of what is pickled does.
_FORMAT = b"flagc-cache-1\n"


def cache_folder() -> Path:
    """Return the folder of cached compilations: `$FLAGC_CACHE_DIR`, else the user's cache."""
    configured = os.environ.get("FLAGC_CACHE_DIR")
    return Path(configured) if configured else Path(platformdirs.user_cache_dir("flagc"))


def load(key: str) -> Any | None:
    """Return the cached result for `key`, or None when there is none that can be read."""
    path = _path(key)
    try:
        content = path.read_bytes()
        if not content.startswith(_FORMAT):
            return None
        return pickle.loads(content[len(_FORMAT) :])
    except FileNotFoundError:
        return None
    except Exception:  # truncated or from another version: recompile, and overwrite it
        return None


def store(key: str, result: Any) -> None:
    """Keep `result` for `key`. A cache that cannot be written is not an error."""
    path = _path(key)
    temporary = ""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as file:
            temporary = file.name
            file.write(_FORMAT + pickle.dumps(result))
        os.replace(temporary, path)
    except OSError:
        with contextlib.suppress(OSError):
            os.unlink(temporary)


def _path(key: str) -> Path:
    return cache_folder() / key[:2] / key
