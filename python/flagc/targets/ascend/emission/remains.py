"""What must not be left when instructions are emitted, and which pass would have removed it."""

from __future__ import annotations

from flagc.ir.module import Module, Operation
from flagc.ir.staged.operations import PREFIX
from flagc.ir.types import TensorType
from flagc.targets.ascend.emission.code import refuse

# Ops of Triton that emission knows.
_KNOWN = {
    *("tt.addptr", "tt.bitcast", "tt.int_to_ptr", "tt.ptr_to_int"),
    *("tt.get_program_id", "tt.get_num_programs", "tt.func", "tt.return"),
}
_SCALAR_DIALECTS = ("arith.", "math.", "scf.", "cf.")
_REMOVED_BY = {
    "tt.load": "stage-loads",
    "tt.descriptor_load": "stage-loads",
    "tt.dot": "stage-dot-on-cube",
    PREFIX + "read_tile": "stage-dot-on-cube",
    "tt.store": "stage-store",
    "tt.descriptor_store": "stage-store",
    "tt.atomic_rmw": "stage-store",
    PREFIX + "read_accumulator": "stage-store",
}


def refuse_remains(module: Module) -> None:
    """Refuse the first op that has no instruction, those first for which there is a pass.

    Raises:
        EmissionError: names the op, the kernel's line, and the pass.
    """
    ops = list(module.walk())
    for op in ops:
        if op.name in _REMOVED_BY:
            refuse(op, f"{op.name} is left, which the cube core cannot run: {_advice(op)}")
        if op.name == PREFIX + "alloc" and "addresses" not in op.attributes:
            refuse(op, "staged.alloc is left without addresses; run plan-memory")
    for op in ops:
        if TensorType.of(op.results[0]) is not None if len(op.results) else False:
            refuse(op, f"{op.name} is left, a tensor of which no staged op is made")
        if not op.name.startswith((PREFIX, *_SCALAR_DIALECTS)) and op.name not in _KNOWN:
            refuse(op, f"{op.name} is left, which the cube core cannot run")


def _advice(op: Operation) -> str:
    name = _REMOVED_BY[op.name]
    return f"run {name}, or see its remarks for why it left the op"
