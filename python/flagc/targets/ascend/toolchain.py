"""Where the vendor's programs and device libraries are on this machine.

`adapter()` may download (once); everything else only looks. Whatever is missing raises
`ToolchainError` with the command that cures it.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import shutil
from functools import cache
from pathlib import Path

from flagc.targets.ascend.adapter_download import install_adapter
from flagc.targets.ascend.data_folder import data_folder
from flagc.targets.ascend.errors import ToolchainError
from flagc.targets.ascend.pins import adapter_pin, pinned_version

ADAPTER_NAME = "triton-adapter-opt"
LIBRARY_NAMES = ("aic", "aiv", "mix.aic", "mix.aiv")


def adapter() -> Path:
    """triton-adapter-opt (TTIR to linalg); taken out of the triton-ascend wheel on first need."""
    target = adapter_location()
    if not _complete(target):
        install_adapter(adapter_pin(), target)
    return target


def adapter_location() -> Path:
    """Where `adapter()` is, or will be. The checksum is part of the path: pins never mix."""
    pin = adapter_pin()
    folder = data_folder() / "toolchain" / f"triton-ascend-{pin.version}-{pin.binary_sha256[:12]}"
    return folder / Path(pin.member).name


def bishengir_opt() -> Path:
    """The vendor's mlir-opt, with all its passes."""
    return _ascendnpuir("bin/bishengir-opt")


def bishengir_compile() -> Path:
    """The vendor's compiler driver: linalg to the module that hivmc takes."""
    return _ascendnpuir("bin/bishengir-compile")


def device_library(core: str) -> Path:
    """LLVM bitcode with the functions that compiled kernels call; `core` of LIBRARY_NAMES.

    The unsuffixed files match bishengir-compile; the `.c220` ones have other signatures.
    """
    if core not in LIBRARY_NAMES:
        raise ValueError(f"no device library '{core}'; valid: {', '.join(LIBRARY_NAMES)}")
    return _ascendnpuir(f"lib/meta_op.{core}.bc")


def hivmc() -> Path | None:
    """CANN's last compiler (MLIR to kernel object), when it is on PATH."""
    found = shutil.which("hivmc")
    return Path(found) if found else None


def versions() -> dict[str, str]:
    """What the compiled result depends on, for cache keys; starts no process, downloads nothing."""
    pin = adapter_pin()
    result = {"triton-ascend": f"{pin.version}+{pin.binary_sha256[:12]}"}
    for package in ("ascendnpu-ir", "torch-mlir", "llvmlite"):
        try:
            result[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            result[package] = "missing"
    found = hivmc()
    result["hivmc"] = f"{found}:{found.stat().st_mtime_ns}" if found else "missing"
    return result


def _complete(target: Path) -> bool:
    """True when `target` is there and may be executed (it is only ever renamed into place)."""
    return os.access(target, os.X_OK)


@cache
def _ascendnpuir(relative: str) -> Path:
    """A file of the package ascendnpu-ir, found without importing it."""
    version = pinned_version("ascendnpu-ir")
    cure = f"pip install ascendnpu-ir=={version}"
    spec = importlib.util.find_spec("ascendnpuir")
    if spec is None or spec.origin is None:
        raise ToolchainError(
            f"the Ascend target needs the package ascendnpu-ir, which is missing: {cure}"
        )
    path = Path(spec.origin).parent / relative
    if not path.is_file():
        raise ToolchainError(f"{path} is missing from the package ascendnpu-ir: {cure}")
    return path
