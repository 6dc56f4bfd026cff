"""Dots of a TTGIR module, and the matrix unit that each one reached."""

from __future__ import annotations

from dataclasses import dataclass

from flagc.ir.layouts import NvidiaMmaLayout
from flagc.ir.module import Module, Operation
from flagc.ir.types import TensorType

# Triton's numbers for NVIDIA's matrix instructions, as in `#ttg.nvidia_mma`'s versionMajor.
MATRIX_VERSIONS = {"mma.sync": 2, "wgmma": 3, "tcgen05": 5}

_BY_OP = {
    "ttng.warp_group_dot": 3,
    "ttng.tc_gen5_mma": 5,
    "ttng.tc_gen5_mma_scaled": 5,
}
_UNDECIDED = ("tt.dot", "tt.dot_scaled")


@dataclass(frozen=True)
class Dot:
    """A dot; `version` is that of its matrix instruction, 0 when it has none."""

    op: Operation
    version: int

    @property
    def instruction(self) -> str:
        """The name of the matrix instruction, or 'no matrix instruction'."""
        names = {version: name for name, version in MATRIX_VERSIONS.items()}
        return names.get(self.version, "no matrix instruction")


def dots(module: Module) -> list[Dot]:
    """Return the dots of a module after Triton's `accelerate_matmul`, in program order."""
    return [Dot(op, _version(op)) for op in module.walk(*_UNDECIDED, *_BY_OP)]


def _version(op: Operation) -> int:
    if op.name in _BY_OP:
        return _BY_OP[op.name]
    tensor = TensorType.of(op.results[0])
    layout = tensor.layout if tensor is not None else None
    return layout.version_major if isinstance(layout, NvidiaMmaLayout) else 0
