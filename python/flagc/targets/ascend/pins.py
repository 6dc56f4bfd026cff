"""Pinned outside toolchains: the contents of third_party/pins.toml as typed data."""

from __future__ import annotations

import platform
import sys
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from flagc.targets.ascend.errors import ToolchainError

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


@dataclass(frozen=True)
class WheelPin:
    """One wheel of triton-ascend and the one file taken out of it.

    `sha256` is of the wheel, `binary_sha256` of `member` inside it; `bytes` is the wheel's size.
    """

    version: str
    python_tag: str
    platform: str
    file: str
    sha256: str
    bytes: int
    member: str
    binary_sha256: str


def pins_file() -> Path:
    """third_party/pins.toml: in the installed package, or at the root of the checkout."""
    package = Path(__file__).resolve().parents[2]
    candidates = [package / "third_party", package.parents[1] / "third_party"]
    for folder in candidates:
        if (folder / "pins.toml").is_file():
            return folder / "pins.toml"
    looked = " and ".join(str(folder) for folder in candidates)
    raise ToolchainError(f"pins.toml is missing (looked in {looked}); reinstall flagc")


@lru_cache(maxsize=1)
def load_pins() -> dict[str, Any]:
    """The parsed pins.toml."""
    with pins_file().open("rb") as stream:
        pins: dict[str, Any] = tomllib.load(stream)
    return pins


def adapter_pin(machine: str | None = None) -> WheelPin:
    """The triton-ascend wheel for this machine's processor (`x86_64` or `aarch64`)."""
    section = load_pins()["triton-ascend"]
    machine = machine or platform.machine()
    for wheel in section["wheel"]:
        if wheel["platform"] == machine and wheel["python_tag"] == section["python_tag"]:
            return WheelPin(version=section["version"], member=section["member"], **wheel)
    raise ToolchainError(
        f"triton-ascend {section['version']} has no wheel for processor '{machine}'; "
        "the Ascend target needs Linux on x86_64 or aarch64"
    )


def pinned_version(package: str) -> str:
    """The version of `package` that the pins name."""
    return str(load_pins()[package]["version"])
