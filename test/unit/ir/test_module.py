"""The module wrapper."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from flagc.ir.module import Module

DIALECTS = ("tt", "ttg", "staged", "hivm", "hacc", "annotation")


def test_walking_does_not_search_for_modules_of_dialects(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "\n".join(f'"{dialect}.op"() : () -> ()' for dialect in DIALECTS)
    module = Module.parse(text, "ttir")
    sought: list[str] = []

    class Finder:
        @staticmethod
        def find_spec(name: str, *_: Any) -> None:
            sought.append(name)

    monkeypatch.setattr(sys, "meta_path", [Finder(), *sys.meta_path])
    assert [op.name for op in module.walk()] == [f"{dialect}.op" for dialect in DIALECTS]
    assert [name for name in sought if "dialects" in name] == []
