"""Fingerprints of pass pipelines, for cache keys: options, sources and versions of each pass."""

from __future__ import annotations

import functools
import hashlib
import os
import sys
from collections.abc import Sequence
from pathlib import Path

import flagc
from flagc.pipeline.passes import Pass
from flagc.pipeline.pipeline_text import PlacedPass


def pipeline_fingerprint(passes: Sequence[PlacedPass]) -> str:
    """Return a digest of the pipeline: places, passes, options, and the sources of the passes."""
    digest = hashlib.sha256(flagc_digest().encode())
    for placed in passes:
        digest.update(str(placed).encode())
        digest.update(source_digest(placed.instance).encode())
    return digest.hexdigest()


def source_digest(instance: Pass) -> str:
    """Return a digest of the file that defines a pass and of the modules beside it that it uses.

    Modules loaded from the same folder as the pass's file are taken to be used by it. flagc's own
    passes are covered by `flagc_digest`. A pass that is in no file (defined interactively) is told
    apart by its code.
    """
    name = type(instance).__module__
    if name.startswith("flagc."):
        return ""
    path = getattr(sys.modules.get(name), "__file__", None)
    if path is None or not os.path.isfile(path):
        code = type(instance).run.__code__
        return hashlib.sha256(code.co_code + repr(code.co_consts).encode()).hexdigest()
    folder = os.path.dirname(path)
    loaded = (getattr(module, "__file__", None) for module in list(sys.modules.values()))
    beside = {other for other in loaded if other and os.path.dirname(other) == folder}
    return _digest_files([Path(file) for file in sorted(beside | {path})])


@functools.lru_cache(maxsize=1)
def flagc_digest() -> str:
    """Return a digest of flagc's version and of all its own Python files."""
    root = Path(flagc.__file__).parent
    # `passes` may be a link out of the package, which rglob does not follow.
    files = sorted([*root.rglob("*.py"), *(root / "passes").resolve().rglob("*.py")])
    return flagc.__version__ + _digest_files(files)


def _digest_files(files: Sequence[Path]) -> str:
    digest = hashlib.sha256()
    for path in files:
        try:
            digest.update(path.read_bytes())
        except OSError:  # removed since it was imported: its name alone has to do
            digest.update(str(path).encode())
    return digest.hexdigest()
