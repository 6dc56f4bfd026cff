"""Compilers' diagnostics on file descriptor 2 are captured and understood."""

import os

from flagc.pipeline.stderr_capture import captured_stderr, compiler_messages


def test_capture_takes_what_native_code_writes_and_nests() -> None:
    with captured_stderr() as outer:
        os.write(2, b"outer\n")
        with captured_stderr() as inner:
            os.write(2, b"inner\n")
    assert (outer.text, inner.text) == ("outer\n", "inner\n")


def test_messages_with_locations_and_notes() -> None:
    text = (
        "kernel.py:14:8: error: 'tt.dot' op operands differ\n"
        "        acc = tl.dot(a, b)\n"
        'kernel.py:14:8: note: see current operation: %1 = "tt.dot"()\n'
        'loc("other.py":3:4): warning: something: odd\n'
        "error: no place\n"
    )
    first, second, third = compiler_messages(text)
    assert (first.severity, str(first.location)) == ("error", "kernel.py:14:8")
    assert first.message == "'tt.dot' op operands differ"
    assert first.notes == ('see current operation: %1 = "tt.dot"()',)
    assert (second.severity, str(second.location)) == ("warning", "other.py:3:4")
    assert second.message == "something: odd"
    assert (third.location, third.message) == (None, "no place")


def test_unknown_location_is_none() -> None:
    (message,) = compiler_messages("<unknown>:0: error: x\nfile.mlir:0:0: error: nowhere\n")[-1:]
    assert message.location is None
