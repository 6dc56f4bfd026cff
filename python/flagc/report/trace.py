"""Instruction traces as files: one record a line for programs, or Chrome's trace format.

The emulator knows the order of instructions, not their times: in the Chrome format each instruction
of a core takes one microsecond after the one before it, so only the order means anything.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from flagc.bench.modelled import ModelledLaunch
from flagc.frontend.execution import Instruction
from flagc.frontend.launch import Launch
from flagc.report.files import write_files

LINES_SUFFIX = ".jsonl"


def write_trace(path: Path, launches: Sequence[Launch]) -> None:
    """Write the instructions of all executed launches to `path`.

    With the suffix `.jsonl` one JSON object a line; otherwise a file for chrome://tracing or
    ui.perfetto.dev, with one process a block and one track a core and pipe.

    Raises:
        EnvironmentProblem: the file cannot be written.
    """
    if path.suffix == LINES_SUFFIX:
        lines = (json.dumps(record) for record in _records(launches))
        content = "".join(f"{line}\n" for line in lines)
    else:
        events = list(_events(launches))
        content = json.dumps({"traceEvents": events, "displayTimeUnit": "ns"})
    write_files(path.parent, {path.name: content})


def write_timed_trace(path: Path, modelled: Sequence[ModelledLaunch]) -> None:
    """Write the instructions of modelled launches, with their modelled times.

    The format is by suffix, as in `write_trace`; here one process is a core (with its AIVs), one
    track a core kind and pipe, and times are microseconds since the launch's cores began.

    Raises:
        EnvironmentProblem: the file cannot be written.
    """
    if path.suffix == LINES_SUFFIX:
        lines = (
            json.dumps({"kernel": launch.kernel, "candidate": name, **asdict(instruction)})
            for launch in modelled
            for name, timing in launch.timings.items()
            for instruction in timing.trace
        )
        content = "".join(f"{line}\n" for line in lines)
    else:
        content = json.dumps({"traceEvents": list(_timed(modelled)), "displayTimeUnit": "ns"})
    write_files(path.parent, {path.name: content})


def _timed(modelled: Sequence[ModelledLaunch]) -> Iterator[dict[str, Any]]:
    """Events; launches and candidates follow each other in processes of their own."""
    process = 0
    for launch in modelled:
        for name, timing in launch.timings.items():
            numbers: dict[int, int] = {}
            tracks: dict[tuple[int, str], int] = {}
            for instruction in timing.trace:
                slot = instruction.slot
                if slot not in numbers:
                    numbers[slot] = process
                    process += 1
                    label = {"name": f"{launch.kernel} ({name}), core {slot}, {timing.chip}"}
                    yield _named("process_name", numbers[slot], 0, label)
                track = (slot, f"{instruction.core} {instruction.pipe}")
                if track not in tracks:
                    tracks[track] = len(tracks)
                    yield _named("thread_name", numbers[slot], tracks[track], {"name": track[1]})
                yield {
                    "ph": "X",
                    "name": instruction.name,
                    "cat": launch.kernel,
                    "pid": numbers[slot],
                    "tid": tracks[track],
                    "ts": round(instruction.start, 4),
                    "dur": round(instruction.end - instruction.start, 4),
                    "args": {"block": instruction.block},
                }


def _named(kind: str, process: int, thread: int, args: dict[str, Any]) -> dict[str, Any]:
    return {"ph": "M", "name": kind, "pid": process, "tid": thread, "args": args}


def _executed(launches: Sequence[Launch]) -> Iterator[tuple[str, int, Sequence[Instruction]]]:
    for launch in launches:
        for number, execution in enumerate(launch.executions):
            yield launch.source.name, number, execution.trace


def _records(launches: Sequence[Launch]) -> Iterator[dict[str, Any]]:
    for kernel, number, trace in _executed(launches):
        for instruction in trace:
            yield {"kernel": kernel, "launch": number, **asdict(instruction)}


def _events(launches: Sequence[Launch]) -> Iterator[dict[str, Any]]:
    clocks: dict[tuple[str, int, int, str], int] = {}
    named: set[int] = set()
    for kernel, number, trace in _executed(launches):
        for instruction in trace:
            block = instruction.block
            if block not in named:
                named.add(block)
                name = {"name": f"block {block}"}
                yield {"ph": "M", "name": "process_name", "pid": block, "args": name}
            clock = (kernel, number, block, instruction.core)
            start = clocks.get(clock, 0)
            clocks[clock] = start + 1
            yield {
                "ph": "X",
                "name": instruction.name,
                "cat": kernel,
                "pid": block,
                "tid": f"{instruction.core} {instruction.pipe}",
                "ts": start,
                "dur": 1,
                "args": {
                    "launch": number,
                    "operands": [hex(operand) for operand in instruction.operands],
                    "bytes_read": instruction.bytes_read,
                    "bytes_written": instruction.bytes_written,
                    "macs": instruction.macs,
                },
            }
