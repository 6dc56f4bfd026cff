"""`--verify-diagnostics`: diagnostics against `// expected-remark@+1 {{text}}` comments."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from flagc.pipeline.diagnostics import Diagnostic
from flagc.pipeline.target import IrSource

# The comment syntax of mlir-opt's -verify-diagnostics.
_EXPECTED = re.compile(
    r"//\s*expected-(?P<severity>error|warning|remark)\s*"
    r"(?:@(?P<line>[+-]\d+|\d+|unknown|above|below))?\s*\{\{(?P<text>.*?)\}\}"
)


@dataclass
class _Expectation:
    severity: str
    line: int | None  # None: at a place that is no line of this file
    text: str
    written_at: int


def check_expected(source: IrSource, diagnostics: Sequence[Diagnostic]) -> list[str]:
    """Return what is wrong: expected diagnostics that did not come, and others that did.

    A diagnostic matches when severity and line are as expected and its message contains the text.
    """
    open_expectations = _expectations(source.content)
    problems = []
    for diagnostic in diagnostics:
        line = None
        if diagnostic.location is not None and diagnostic.location.file == str(source.path):
            line = diagnostic.location.line
        match = next(
            (
                expected
                for expected in open_expectations
                if expected.severity == diagnostic.severity
                and expected.line == line
                and expected.text in diagnostic.message
            ),
            None,
        )
        if match is None:
            problems.append(f"unexpected {diagnostic}")
        else:
            open_expectations.remove(match)
    for expected in open_expectations:
        place = f"{source.path}:{expected.written_at}"
        problems.append(f"{place}: error: expected {expected.severity} '{expected.text}' not seen")
    return problems


def _expectations(content: str) -> list[_Expectation]:
    expectations = []
    for number, line in enumerate(content.splitlines(), start=1):
        for match in _EXPECTED.finditer(line):
            target = _target_line(match["line"], number)
            expectations.append(_Expectation(match["severity"], target, match["text"], number))
    return expectations


def _target_line(spec: str | None, number: int) -> int | None:
    if spec is None:
        return number
    if spec == "unknown":
        return None
    if spec in ("above", "below"):
        return number - 1 if spec == "above" else number + 1
    return number + int(spec) if spec[0] in "+-" else int(spec)
