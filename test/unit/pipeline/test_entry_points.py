"""Passes of installed packages are found through their entry points."""

import sys
from pathlib import Path

import pytest

from flagc.errors import EnvironmentProblem
from flagc.pipeline import loading
from flagc.pipeline.passes import registered_passes


def install_package(folder: Path, module: str, code: str) -> None:
    """Lay out a package as pip leaves it: a module and its metadata."""
    (folder / f"{module}.py").write_text(code)
    metadata = folder / f"{module}-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {module}\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(f"[flagc.passes]\n{module} = {module}\n")


@pytest.fixture(autouse=True)
def fresh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    loading.load_installed_passes.cache_clear()
    yield
    loading.load_installed_passes.cache_clear()


def test_entry_point_registers_its_passes(tmp_path: Path) -> None:
    install_package(
        tmp_path,
        "flagc_plugin_for_test",
        "from dataclasses import dataclass\nfrom flagc import Pass, register\n\n\n@register\n"
        "@dataclass(frozen=True)\nclass Plugin(Pass):\n    name = 'plugin-of-test'\n\n"
        "    def run(self, module, context):\n        pass\n",
    )
    loading.load_installed_passes()
    assert "plugin-of-test" in registered_passes()


def test_broken_entry_point_is_named(tmp_path: Path) -> None:
    install_package(tmp_path, "flagc_broken_for_test", "import no_such_module_at_all\n")
    with pytest.raises(EnvironmentProblem, match=r"'flagc_broken_for_test'.*no_such_module_at_all"):
        loading.load_installed_passes()
