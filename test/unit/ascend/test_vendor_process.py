"""Child processes of the vendor: their failures as data."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from flagc.targets.ascend.vendor_process import (
    VendorError,
    parse_diagnostics,
    run_tool,
    split_dumps,
)

SHELL = Path("/bin/sh")


def run_shell(script: str, timeout: float = 10) -> str:
    return run_tool(SHELL, ["-c", script], "input", timeout=timeout).stdout


def test_stdin_and_stdout() -> None:
    assert run_shell("cat") == "input"


def test_error_status_carries_the_diagnostics() -> None:
    script = """echo 'loc("k.py":51:4): error: too big' >&2; exit 3"""
    with pytest.raises(VendorError, match="sh failed: too big") as caught:
        run_shell(script)
    assert (caught.value.kind, caught.value.returncode) == ("error", 3)
    assert caught.value.diagnostics[0].line == 51


def test_signal_is_a_crash() -> None:
    with pytest.raises(VendorError, match=r"crashed \(SIGSEGV\)") as caught:
        run_shell("kill -SEGV $$")
    assert caught.value.kind == "crash"


def test_time_limit_ends_grandchildren_too(tmp_path: Path) -> None:
    marker = tmp_path / "alive"
    started = time.monotonic()
    with pytest.raises(VendorError, match=r"did not finish within 0\.3 s") as caught:
        run_shell(f"(sleep 1; touch {marker}) & wait", timeout=0.3)
    assert caught.value.kind == "timeout"
    assert time.monotonic() - started < 1
    time.sleep(1.1)
    assert not marker.exists()


def test_backtrace_is_not_what_a_crash_said() -> None:
    script = "(echo reason; echo 'Stack dump:'; echo ' #0 0x00 (/bin/x+0x1)') >&2; kill -ABRT $$"
    with pytest.raises(VendorError) as caught:
        run_shell(script)
    assert caught.value.stderr_tail == "reason"


def test_location_forms() -> None:
    inlined = 'callsite("/a/triton/language/standard.py":129:31 at "acc"("k.py":14:19))'
    found = parse_diagnostics(
        "\n".join(
            [
                'loc("acc"("k.py":19:4)): error: named',
                f"loc({inlined}): error: inlined",
                'loc(fused["k.py":1:2, "k.py":3:4]): warning: fused',
                "<stdin>:7:3: error: in the input",
                "dir/k.py:8:9: error: plain",
                "dir/k.py:8:9: note: see current operation",
                "[ERROR] Cannot find hivmc under $PATH",
            ]
        )
    )
    places = [(entry.file, entry.line, entry.severity) for entry in found]
    assert places == [
        ("k.py", 19, "error"),
        ("k.py", 14, "error"),
        ("k.py", 1, "warning"),
        (None, 7, "error"),
        ("dir/k.py", 8, "error"),
    ]
    assert [note.text for note in found[-1].notes] == ["see current operation"]


def test_messages_between_dumps_are_kept_apart() -> None:
    stderr = (
        "before\n// -----// IR Dump After Foo (foo) //----- //\nmodule {\n}\n#loc = loc(unknown)\n"
        "k.py:1:2: warning: slow\n^\n// -----// IR Dump After Bar (bar) //----- //\nmodule {\n}\n"
    )
    messages, dumps = split_dumps(stderr)
    assert messages == "before\nk.py:1:2: warning: slow\n^\n"
    assert [(d.name, d.text) for d in dumps] == [
        ("foo", "module {\n}\n#loc = loc(unknown)\n"),
        ("bar", "module {\n}\n"),
    ]
