"""Erase ops whose results nobody uses any more."""

from __future__ import annotations

from collections.abc import Iterable

from flagc.ir.module import Module, Operation, Value, defining_op

# Ops of these dialects compute and do nothing else (an integer division by zero is undefined, so
# it may go as well).
_PURE_DIALECTS = ("arith.", "math.")
_PURE_OPS = frozenset(
    {
        "tt.addptr",
        "tt.bitcast",
        "tt.broadcast",
        "tt.expand_dims",
        "tt.get_num_programs",
        "tt.get_program_id",
        "tt.int_to_ptr",
        "tt.make_range",
        "tt.make_tensor_descriptor",
        "tt.ptr_to_int",
        "tt.reshape",
        "tt.splat",
        "tt.trans",
        "tt.unsplat",
    }
)


def is_pure(op: Operation) -> bool:
    """Return whether `op` can be erased when its results are unused."""
    return op.name in _PURE_OPS or op.name.startswith(_PURE_DIALECTS)


def is_unused(op: Operation) -> bool:
    """Return whether no result of `op` has a use."""
    return all(not any(True for _ in result.uses) for result in op.results)


def erase_unused(values: Iterable[Value]) -> int:
    """Erase the pure ops that define `values`, and what only fed them, as far as unused.

    Returns how many ops went.
    """
    pending = [op for op in map(defining_op, values) if op is not None]
    erased = 0
    while pending:
        op = pending.pop()
        if not (is_pure(op) and is_unused(op)):
            continue
        feeding = [feeder for feeder in map(defining_op, op.operands) if feeder is not None]
        pending = [other for other in pending if other != op]
        op.erase()
        erased += 1
        for feeder in feeding:
            if feeder not in pending:
                pending.append(feeder)
    return erased


def erase_all_unused(module: Module) -> int:
    """Erase all pure ops of `module` that lead to nothing; returns how many went."""
    erased = 0
    for op in reversed(list(module.walk())):  # users stand after what they use
        if is_pure(op) and is_unused(op):
            op.erase()
            erased += 1
    return erased
