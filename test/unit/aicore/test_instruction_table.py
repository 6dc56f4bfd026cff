"""Every instruction that a device library declares is in the table, implemented or refused."""

from __future__ import annotations

import llvmlite.binding as llvm
import pytest

from flagc.aicore.native import native
from flagc.targets.ascend import toolchain

PREFIX = "llvm.hivm."
REFUSED = {name for name, _pipe, _address, _note, refused in native().instructions() if refused}
KNOWN = {name for name, *_ in native().instructions()}


def declared(library: str) -> set[str]:
    data = toolchain.device_library(library).read_bytes()
    module = llvm.parse_bitcode(data, llvm.create_context())
    return {
        f.name.removeprefix(PREFIX)
        for f in module.functions
        if f.is_declaration and f.name.startswith(PREFIX)
    }


@pytest.mark.parametrize(
    ("library", "count"), [("aic", 60), ("aiv", 237), ("mix.aic", 5), ("mix.aiv", 7)]
)
def test_no_declared_instruction_is_missing(library: str, count: int) -> None:
    names = declared(library)
    assert not names - KNOWN, f"not in the table: {sorted(names - KNOWN)}"
    # A library that declares other instructions is another version, whose operands may differ too.
    assert len(names) == count


def test_refused_instructions_say_why() -> None:
    for name, _pipe, _address, note, refused in native().instructions():
        assert note or not refused, name


def test_names_are_unique() -> None:
    names = [name for name, *_ in native().instructions()]
    assert len(names) == len(set(names))
