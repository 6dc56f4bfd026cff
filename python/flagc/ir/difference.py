"""Which ops differ between two versions of a module."""

from __future__ import annotations

import difflib
from dataclasses import dataclass

from flagc.ir.locations import SourceLocation, source_location
from flagc.ir.module import Module, Operation


@dataclass(frozen=True)
class OperationChange:
    """An op that exists, in this form, only in one of two modules."""

    op: str
    location: SourceLocation | None

    def __str__(self) -> str:
        return f"'{self.op}'" + (f" ({self.location.short})" if self.location else "")


def summarise_changes(changes: list[OperationChange], limit: int = 6) -> str:
    """Return `5 ops: 'tt.dot' (gemm.py:44), ...`: one op of each name, at most `limit` names."""
    first_of_each = {change.op: change for change in reversed(changes)}
    named = [str(change) for change in changes if first_of_each[change.op] is change]
    more = ", ..." if len(named) > limit else ""
    count = f"{len(changes)} ops: " if len(changes) > 1 else ""
    return count + ", ".join(named[:limit]) + more


def changed_operations(before: str, after: str) -> list[OperationChange]:
    """Return the ops of `after` that are new or changed, then those of `before` that went.

    Both are modules in generic text. An op counts as changed when its attributes or the types of
    its operands or results did.
    """
    old = _signatures(Module.parse(before, "any"))
    new = _signatures(Module.parse(after, "any"))
    matcher = difflib.SequenceMatcher(
        None, [text for text, _ in old], [text for text, _ in new], autojunk=False
    )
    added: list[OperationChange] = []
    removed: list[OperationChange] = []
    for tag, old_from, old_to, new_from, new_to in matcher.get_opcodes():
        if tag == "equal":
            continue
        added += [change for _, change in new[new_from:new_to]]
        removed += [change for _, change in old[old_from:old_to]]
    return added + removed


def _signatures(module: Module) -> list[tuple[str, OperationChange]]:
    """Return for each op a text that changes when the op itself (not its operands) changes."""
    return [
        (_signature(op), OperationChange(op.name, source_location(op.location)))
        for op in module.walk()
    ]


def _signature(op: Operation) -> str:
    attributes = ", ".join(f"{key} = {value}" for key, value in op.attributes.items())
    operands = ", ".join(str(operand.type) for operand in op.operands)
    results = ", ".join(str(result.type) for result in op.results)
    return f"{op.name}({operands}) {{{attributes}}} -> {results}"
