"""The vendor toolchain: found, fetched once, verified, and missing with a cure."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from flagc.targets.ascend import adapter_download, toolchain
from flagc.targets.ascend.data_folder import data_folder, write_atomically
from flagc.targets.ascend.errors import ToolchainError
from flagc.targets.ascend.pins import WheelPin, adapter_pin

MEMBER = "triton/backends/ascend/triton-adapter-opt"


def fake_pin(folder: Path, content: bytes, **changes: object) -> WheelPin:
    """A wheel of the pinned name in `folder` that holds `content`, and the pin for it."""
    folder.mkdir(parents=True, exist_ok=True)
    wheel = folder / "triton_ascend-3.2.0-cp311-cp311-manylinux_2_28_x86_64.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr(MEMBER, content)
        info = "triton_ascend-3.2.0.dist-info"
        archive.writestr(
            f"{info}/METADATA", "Metadata-Version: 2.1\nName: triton-ascend\nVersion: 3.2.0\n"
        )
        archive.writestr(
            f"{info}/WHEEL",
            "Wheel-Version: 1.0\nRoot-Is-Purelib: false\nTag: cp311-cp311-manylinux_2_28_x86_64\n",
        )
        archive.writestr(f"{info}/RECORD", "")
    data = wheel.read_bytes()
    fields: dict[str, object] = {
        "version": "3.2.0",
        "python_tag": "cp311",
        "platform": "x86_64",
        "file": wheel.name,
        "sha256": hashlib.sha256(data).hexdigest(),
        "bytes": len(data),
        "member": MEMBER,
        "binary_sha256": hashlib.sha256(content).hexdigest(),
    }
    return WheelPin(**{**fields, **changes})  # type: ignore[arg-type]


@pytest.fixture
def wheel_index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An offline package index: a folder of wheels."""
    folder = tmp_path / "index"
    folder.mkdir()
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    return folder


def test_pins_cover_both_processors_and_any_python() -> None:
    assert adapter_pin("x86_64").python_tag == adapter_pin("aarch64").python_tag == "cp311"
    assert adapter_pin("x86_64").sha256 != adapter_pin("aarch64").sha256


def test_unknown_processor_is_named() -> None:
    with pytest.raises(ToolchainError, match="processor 'riscv64'"):
        adapter_pin("riscv64")


def test_adapter_is_taken_out_of_the_wheel(wheel_index: Path, tmp_path: Path) -> None:
    target = tmp_path / "data" / "triton-adapter-opt"
    adapter_download.install_adapter(fake_pin(wheel_index, b"#!/bin/sh\n"), target)
    assert target.read_bytes() == b"#!/bin/sh\n"
    assert os.access(target, os.X_OK)
    assert sorted(p.name for p in target.parent.iterdir()) == [".lock", target.name]


@pytest.mark.parametrize("field", ["sha256", "binary_sha256"])
def test_wrong_checksum_leaves_nothing(wheel_index: Path, tmp_path: Path, field: str) -> None:
    target = tmp_path / "data" / "triton-adapter-opt"
    pin = fake_pin(wheel_index, b"x", **{field: "0" * 64})
    with pytest.raises(ToolchainError, match=r"checksum of .* nothing was installed"):
        adapter_download.install_adapter(pin, target)
    assert [p.name for p in target.parent.iterdir()] == [".lock"]


def test_unreachable_index_is_one_clear_line(wheel_index: Path, tmp_path: Path) -> None:
    pin = fake_pin(tmp_path / "elsewhere", b"x")
    with pytest.raises(ToolchainError) as caught:
        adapter_download.install_adapter(pin, tmp_path / "data" / "tool")
    text = str(caught.value)
    assert "\n" not in text
    assert "cannot download triton-ascend 3.2.0" in text and "PIP_FIND_LINKS" in text


def test_two_processes_install_once(wheel_index: Path, tmp_path: Path) -> None:
    pin = fake_pin(wheel_index, b"tool")
    target = tmp_path / "data" / "tool"
    code = (
        "from pathlib import Path; from flagc.targets.ascend.pins import WheelPin;"
        "from flagc.targets.ascend.adapter_download import install_adapter;"
        f"install_adapter({pin!r}, Path({str(target)!r}))"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    children = [subprocess.Popen([sys.executable, "-c", code], env=environment) for _ in range(2)]
    assert [child.wait(timeout=120) for child in children] == [0, 0]
    assert target.read_bytes() == b"tool"


def test_no_download_once_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FLAGC_DATA_DIR", str(tmp_path))
    write_atomically(toolchain.adapter_location(), b"tool", mode=0o755)
    monkeypatch.setattr(toolchain, "install_adapter", lambda *_: pytest.fail("downloaded"))
    assert toolchain.adapter() == toolchain.adapter_location()


def test_data_folder_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "xdg"))
    monkeypatch.delenv("FLAGC_DATA_DIR", raising=False)
    assert data_folder() == tmp_path / "xdg" / "flagc"
    monkeypatch.setenv("FLAGC_DATA_DIR", str(tmp_path / "own"))
    assert data_folder() == tmp_path / "own"
    monkeypatch.delenv("FLAGC_DATA_DIR")
    monkeypatch.setenv("XDG_DATA_HOME", "relative/is/invalid")
    assert data_folder() == Path.home() / ".local/share/flagc"


def test_unwritable_data_folder_says_what_to_set(tmp_path: Path) -> None:
    blocker = tmp_path / "file"
    blocker.write_text("")
    with pytest.raises(ToolchainError, match="set FLAGC_DATA_DIR"):
        write_atomically(blocker / "below" / "tool", b"")


def test_missing_ascendnpu_ir_says_how_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    toolchain._ascendnpuir.cache_clear()
    monkeypatch.setattr(toolchain.importlib.util, "find_spec", lambda _: None)
    with pytest.raises(ToolchainError, match=r"pip install ascendnpu-ir==1\.2\.0"):
        toolchain.bishengir_opt()


def test_unsuffixed_device_library() -> None:
    pytest.importorskip("ascendnpuir")
    assert toolchain.device_library("mix.aic").name == "meta_op.mix.aic.bc"
    with pytest.raises(ValueError, match="valid: aic, aiv"):
        toolchain.device_library("c220")


def test_versions_name_every_tool() -> None:
    found = toolchain.versions()
    assert set(found) == {"triton-ascend", "ascendnpu-ir", "torch-mlir", "llvmlite", "hivmc"}
    assert found["triton-ascend"].startswith("3.2.0+")
