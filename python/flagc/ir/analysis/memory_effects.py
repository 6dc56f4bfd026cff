"""Which memory an op reads and writes, as far as a kernel's pointers tell."""

from __future__ import annotations

from dataclasses import dataclass

from flagc.ir.dead_code import is_pure
from flagc.ir.module import Operation, Value, defining_op

_PURE = frozenset(
    {
        "scf.for", "scf.if", "scf.while", "scf.yield", "scf.condition", "tt.dot", "tt.reduce",
        "tt.reduce.return", "tt.scan", "tt.scan.return", "tt.return", "tt.join", "tt.split",
        "tt.cat", "tt.gather", "tt.histogram", "tt.fp_to_fp", "tt.clampf", "tt.mulhiui",
        "tt.precise_divf", "tt.precise_sqrt", "cf.br", "cf.cond_br", "tt.make_tensor_ptr",
        "tt.advance", "llvm.intr.assume",
    }
)  # fmt: skip
_WRITES = frozenset({"tt.store", "tt.atomic_rmw", "tt.atomic_cas"})
_SAME_OBJECT = frozenset(
    {"tt.addptr", "tt.broadcast", "tt.expand_dims", "tt.splat", "tt.reshape", "tt.trans",
     "tt.bitcast"}
)  # fmt: skip


@dataclass(frozen=True)
class Access:
    """One op's access to memory.

    `base` is the kernel argument that `pointer` was computed from, None when it is not known.
    """

    op: Operation
    writes: bool
    pointer: Value | None
    base: Value | None


def accesses_of(op: Operation) -> list[Access]:
    """Return the accesses of `op` itself; of an op that is not known, a write to anywhere."""
    if op.name == "tt.load" and not _is_volatile(op):
        return [Access(op, False, op.operands[0], base_of(op.operands[0]))]
    if op.name in _WRITES:
        return [Access(op, True, op.operands[0], base_of(op.operands[0]))]
    if is_pure(op) or op.name in _PURE or (_is_extern(op) and op.attributes["pure"].value):
        return []
    return [Access(op, True, None, None)]


def may_conflict(first: Access, second: Access) -> bool:
    """Return whether the order of the two shows.

    Different pointer arguments of a kernel are taken to be different buffers, or one buffer that
    is accessed at the same places, as in an update in place.
    """
    if not (first.writes or second.writes):
        return False
    return first.base is None or second.base is None or first.base == second.base


def base_of(pointer: Value) -> Value | None:
    """Return the block argument of the function that `pointer` is an offset of, or None."""
    seen: set[Value] = set()
    while pointer not in seen:
        seen.add(pointer)
        op = defining_op(pointer)
        if op is not None and op.name in _SAME_OBJECT:
            pointer = op.operands[0]
            continue
        if op is not None and op.name == "scf.for":
            index = list(op.results).index(pointer)
            pointer = op.operands[3 + index]
            continue
        if op is not None:
            return None
        owner = pointer.owner.owner.operation
        if owner.name == "tt.func":
            return pointer
        if owner.name != "scf.for" or pointer.arg_number == 0:
            return None
        pointer = owner.operands[2 + pointer.arg_number]
    return None


def _is_volatile(load: Operation) -> bool:
    return "isVolatile" in load.attributes and bool(load.attributes["isVolatile"].value)


def _is_extern(op: Operation) -> bool:
    return op.name in ("tt.extern_elementwise", "tt.elementwise_inline_asm")
