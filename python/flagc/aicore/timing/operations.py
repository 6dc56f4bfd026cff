"""Streams of operations for the timing model, built without the emulator.

The dtype is the layout of `Operation` in tools/aicore/timing/operation.h.
"""

from __future__ import annotations

from typing import Any

import numpy as np

OPERATION = np.dtype(
    [
        ("kind", "u1"),
        ("pipe", "u1"),
        ("other", "u1"),
        ("event", "u1"),
        ("name", "<u2"),
        ("region", "u1"),
        ("flags", "u1"),
        ("rows", "<u4"),
        ("row_bytes", "<u4"),
        ("pitch", "<i8"),
        ("address", "<i8"),
        ("work", "<u4"),
        ("rate", "<u4"),
    ]
)

SET, WAIT, BARRIER, CROSS_SET, CROSS_WAIT, SCALAR = range(6)
MAD, TO_L0, READ, WRITE, VECTOR, FILL = range(6, 12)

ND2NZ, TO_UB, BYPASS, UNIT_FLAG = 1, 2, 4, 8

# Numbered as flagc::aicore::Pipe.
PIPES = {"S": 0, "V": 1, "M": 2, "MTE1": 3, "MTE2": 4, "MTE3": 5, "ALL": 6, "FIX": 10}
PIPE_NAMES = {number: name for name, number in PIPES.items()}


class Stream:
    """The operations of one core for one block, in program order."""

    def __init__(self) -> None:
        self._rows: list[tuple[int, ...]] = []

    def _add(
        self,
        kind: int,
        pipe: str,
        other: int = 0,
        event: int = 0,
        name: int = 0,
        region: int = 0,
        flags: int = 0,
        rows: int = 0,
        row_bytes: int = 0,
        pitch: int = 0,
        address: int = 0,
        work: int = 0,
        rate: int = 0,
    ) -> None:
        self._rows.append(
            (
                *(kind, PIPES[pipe], other, event, name, region, flags),
                *(rows, row_bytes, pitch, address, work, rate),
            )
        )

    def set(self, source: str, target: str, event: int = 0) -> None:
        """`source` sets a flag for `target` when its instructions so far are done."""
        self._add(SET, source, PIPES[target], event)

    def wait(self, source: str, target: str, event: int = 0) -> None:
        """`target` waits for a flag that `source` sets."""
        self._add(WAIT, target, PIPES[source], event)

    def barrier(self, pipe: str = "ALL") -> None:
        """`pipe` (or every pipe) waits until its instructions so far are done."""
        self._add(BARRIER, pipe)

    def cross_set(self, pipe: str, flag: int) -> None:
        """Set a cross-core flag when the instructions of `pipe` so far are done."""
        self._add(CROSS_SET, pipe, event=flag, rate=2)

    def grid_set(self, pipe: str, flag: int) -> None:
        """The same for all cores of this kind in the launch, which get it when all have set it."""
        self._add(CROSS_SET, pipe, event=flag, rate=0)

    def cross_wait(self, flag: int) -> None:
        """Wait for a cross-core flag, of the other core kind of the block or of the launch."""
        self._add(CROSS_WAIT, "S", event=flag)

    def scalar(self, cycles: int) -> None:
        """Cycles of the scalar unit."""
        self._add(SCALAR, "S", work=cycles)

    def mad(self, steps: int, *, unit_flag: bool = False) -> None:
        """A matrix multiplication of `steps` fractal steps (one a cycle)."""
        self._add(MAD, "M", work=steps, flags=UNIT_FLAG if unit_flag else 0)

    def to_l0(self, size: int, rate: int) -> None:
        """`size` bytes from L1 at `rate` bytes a cycle (L0A 256, L0B 128, BT and FB 32)."""
        self._add(TO_L0, "MTE1", work=size, rate=rate)

    def read(
        self, region: int, address: int, rows: int, row_bytes: int, pitch: int, flags: int = ND2NZ
    ) -> None:
        """Global memory to L1, or with TO_UB to UB; `address` counts from the block's base."""
        self._add(
            READ,
            "MTE2",
            region=region,
            flags=flags,
            rows=rows,
            row_bytes=row_bytes,
            pitch=pitch,
            address=address,
        )

    def write(
        self,
        pipe: str,
        region: int,
        address: int,
        rows: int,
        row_bytes: int,
        pitch: int,
        source_bytes: int,
        flags: int = 0,
    ) -> None:
        """L0C (pipe FIX) or UB (MTE3) to global memory; `source_bytes` are those read on chip."""
        self._add(
            WRITE,
            pipe,
            region=region,
            flags=flags,
            rows=rows,
            row_bytes=row_bytes,
            pitch=pitch,
            address=address,
            work=source_bytes,
        )

    def vector(self, name: int, repeats: int, conflict: int = 0) -> None:
        """A vector instruction; `conflict` are cycles that banks add to each repeat."""
        self._add(VECTOR, "V", name=name, work=repeats, rate=conflict)

    def encoded(self) -> bytes:
        """The stream as the native module takes it."""
        array: Any = np.array(self._rows, dtype=OPERATION)
        return array.tobytes()  # type: ignore[no-any-return]

    def __len__(self) -> int:
        return len(self._rows)
