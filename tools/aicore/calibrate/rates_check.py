"""Vector rates of the model against the published figures of single instructions."""

from __future__ import annotations

from typing import Any

import numpy as np
from evaluate import published

from flagc.aicore.timing.rates import instruction_names, vector_rate

TYPES = {"fp16": "f16", "fp32": "f32", "16": "u16", "32": "u32"}
TWO_SOURCES = frozenset(("VADD", "VDIV", "VSUB", "VMUL", "VMAX", "VMIN", "VAND", "VOR", "VSEL"))


def _instruction(name: str, kind: str) -> str | None:
    """The emulator's name of MindStudio's instruction, None where the emulator has none."""
    wanted = f"{name}.{TYPES.get(kind, kind)}"
    for known in instruction_names():
        if known == wanted or known.startswith(wanted + "."):
            return known
    return None


def vector_errors() -> Any:
    """Absolute relative errors of cycles an instruction, over all repeats that are published."""
    errors = []
    for (table, case, _), row in published().items():
        if table != "T13-vector":
            continue
        name, kind, _, repeat = case.split(" ")
        instruction = _instruction(name, kind)
        if instruction is None:
            continue
        rate = vector_rate(instruction)
        # Measured with both sources in one group of banks.
        slope = rate.slope + (1 if name in TWO_SOURCES else 0)
        errors.append(abs(max(rate.floor, slope * int(repeat)) / row["value"] - 1))
    return np.array(errors)
