"""The program of one kind of cores: what it runs of a kernel that the others run as well.

Scalar code and loops are everybody's until nothing is left that needs them.
"""

from __future__ import annotations

from flagc.ir.dead_code import is_pure, is_unused
from flagc.ir.module import Module, Operation
from flagc.ir.staged.operations import PREFIX, core_of, staged_op
from flagc.ir.unused_values import erase_unused_values

# Ops that ask or make something; what they give may go unused.
_QUESTIONS = frozenset(PREFIX + name for name in ("alloc", "block_index", "grid_size", "sub_block"))
_CONTROL = ("scf.for", "scf.if")
_ENDS = ("scf.yield",)


def is_mixed(module: Module) -> bool:
    """Return whether vector cores have anything to do."""
    return any(
        (view := staged_op(op)) is not None and core_of(view) == "AIV" for op in module.walk()
    )


def keep_core(module: Module, core: str) -> None:
    """Erase what other cores than those of kind `core` ("AIC" or "AIV") run, and what fed it."""
    for op in module.walk():
        view = staged_op(op)
        if view is not None and core_of(view) not in (None, core):
            op.erase()
    while _erase_idle(module) or erase_unused_values(module):
        pass


def _erase_idle(module: Module) -> int:
    """Erase loops and branches that do nothing, and unused results of ops that ask something."""
    erased = 0
    for op in list(module.walk())[::-1]:
        asks = op.name in _QUESTIONS
        if (asks or op.name in _CONTROL) and is_unused(op) and (asks or _is_idle(op)):
            op.erase()
            erased += 1
    return erased


def _is_idle(op: Operation) -> bool:
    """Return whether nothing in `op` has an effect. Inner ops that were idle are gone already."""
    return all(
        child.operation.name in _ENDS or is_pure(child.operation)
        for region in op.regions
        for block in region.blocks
        for child in block.operations
    )
