"""Results for programs: one JSON document on standard output."""

from __future__ import annotations

import base64
import dataclasses
from collections.abc import Collection
from typing import Any

from flagc.frontend.launch import Launch
from flagc.pipeline.compiler import Artifact, CompileResult
from flagc.pipeline.diagnostics import Diagnostic


def result_document(
    launch: Launch, result: CompileResult, dumped: Collection[str], files: dict[str, str]
) -> dict[str, Any]:
    """Return one compiled kernel as plain data.

    Args:
        dumped: the stages whose content is included.
        files: paths of written files by stage name and suffix.
    """
    return {
        **launch.describe(),
        "target": result.target,
        "cached": result.cached,
        "seconds": round(result.seconds, 6),
        "note": launch.note,
        "stages": [
            _artifact(a, a.stage in dumped, files.get(a.stage + a.suffix)) for a in result.artifacts
        ],
        "metadata": {k: plain(v) for k, v in result.metadata.items()},
        "diagnostics": [diagnostic_document(d) for d in result.findings.diagnostics],
        "tables": [dataclasses.asdict(table) for table in result.findings.tables],
        "statistics": result.findings.statistics,
        "pass_times": [dataclasses.asdict(timing) for timing in result.records.timings],
        "printed_ir": [dataclasses.asdict(printed) for printed in result.records.printed],
    }


def diagnostic_document(diagnostic: Diagnostic) -> dict[str, Any]:
    """Return a diagnostic as plain data."""
    document = dataclasses.asdict(diagnostic)
    document["text"] = str(diagnostic)
    return document


def plain(value: Any) -> Any:
    """Return `value` as JSON can hold it."""
    if isinstance(value, (str, int, float, bool)) or value is None:
        return value
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [plain(item) for item in value]
    return str(value)


def _artifact(artifact: Artifact, included: bool, file: str | None) -> dict[str, Any]:
    content = artifact.content
    document: dict[str, Any] = {
        "stage": artifact.stage,
        "bytes": len(content.encode() if isinstance(content, str) else content),
        "seconds": round(artifact.seconds, 6),
    }
    if file is not None:
        document["file"] = file
    if included:
        if isinstance(content, str):
            document["content"] = content
        else:
            document["content_base64"] = base64.b64encode(content).decode()
    return document
