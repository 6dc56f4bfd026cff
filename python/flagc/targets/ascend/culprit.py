"""Find the op on which a tool crashes without a word, by taking ops out.

Each candidate op is replaced by a value that needs nothing (zero; for a chosen pointer, one of the
choices), a store is erased, and what no longer has a use goes with it. Of the replacements that
cure the crash, the one that removes the fewest ops names the culprit.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from flagc.ir.locations import SourceLocation, source_location
from flagc.ir.module import Module, Operation

# Ops worth suspecting: what touches memory or moves values across lanes, and control flow.
_SUSPECTS = frozenset(
    {
        *("tt.load", "tt.store", "tt.atomic_rmw", "tt.atomic_cas", "tt.reduce", "tt.scan"),
        *("tt.cat", "tt.join", "tt.split", "tt.gather", "tt.histogram", "tt.reshape", "tt.trans"),
        *("tt.dot", "tt.dot_scaled", "tt.bitcast", "tt.int_to_ptr", "tt.ptr_to_int"),
        *("arith.select", "arith.andi", "arith.ori", "scf.if", "scf.while", "scf.for"),
        *("tt.fp_to_fp", "tt.call", "tt.extern_elementwise", "arith.remsi", "arith.divsi"),
    }
)
_KEPT = (
    *("tt.store", "tt.atomic", "tt.return", "tt.func", "tt.call", "tt.assert", "tt.print"),
    *("scf.", "cf.", "tt.reduce.return", "tt.scan.return", "builtin."),
)


@dataclass(frozen=True)
class Culprit:
    """The op that a crash depends on most closely, or the first of `count` alike."""

    op: str
    location: SourceLocation | None
    count: int = 1

    def __str__(self) -> str:
        where = f" ({self.location.short})" if self.location else ""
        return f"'{self.op}'{where}" if self.count == 1 else f"its {self.count} '{self.op}'{where}"


def find_culprit(
    generic_text: str, crashes: Callable[[Module], bool], *, seconds: float = 20.0
) -> Culprit | None:
    """Return the culprit in the TTIR module `generic_text`, or None when none was found in time.

    All ops of one name are taken out at once first; then those of the name that cured the crash,
    one by one. `crashes` tells whether the tool still crashes on a changed module; a module that
    it cannot be given at all must count as crashing.
    """
    deadline = time.monotonic() + seconds
    by_name: dict[str, list[int]] = {}
    for index, op in enumerate(Module.parse(generic_text, "ttir").walk()):
        if op.name in _SUSPECTS:
            by_name.setdefault(op.name, []).append(index)
    kind = _least_cure(generic_text, list(by_name.values()), crashes, deadline)
    if kind is None:
        return None
    single = _least_cure(generic_text, [[index] for index in kind], crashes, deadline)
    ops = list(Module.parse(generic_text, "ttir").walk())
    blamed = single or kind
    first = ops[blamed[0]]
    return Culprit(first.name, source_location(first.location), len(blamed))


def _least_cure(
    generic_text: str,
    groups: list[list[int]],
    crashes: Callable[[Module], bool],
    deadline: float,
) -> list[int] | None:
    """Return the group whose removal cures the crash with the fewest ops removed, or None."""
    best: tuple[int, list[int]] | None = None
    for group in groups:
        if time.monotonic() > deadline:
            break
        module = Module.parse(generic_text, "ttir")
        ops = list(module.walk())
        if not all([_take_out(module, ops[index]) for index in reversed(group)]):
            continue
        _erase_unused(module)
        removed = len(ops) - sum(1 for _ in module.walk())
        if (best is None or removed < best[0]) and not crashes(module):
            best = (removed, group)
    return best[1] if best else None


def _take_out(module: Module, op: Operation) -> bool:
    """Replace `op` by values that need nothing; tell whether that was possible."""
    values = []
    for result in op.results:
        text = str(result.type)
        if "!tt." in text:
            same = [operand for operand in op.operands if operand.type == result.type]
            if not same:
                return False
            values.append(same[0])
            continue
        element = text.removeprefix("tensor<").removesuffix(">").split("x")[-1].split(",")[0]
        zero = "0.0" if element.startswith(("f", "bf")) else "0"
        value = f"dense<{zero}> : {text}" if text.startswith("tensor") else f"{zero} : {text}"
        if text == "i1":
            value = "false"
        constant = module.create("arith.constant", (), [result.type], {"value": value}, before=op)
        values.append(constant.results[0])
    module.replace(op, values)
    return True


def _erase_unused(module: Module) -> None:
    """Erase ops whose results have no use; users come before what they use."""
    for op in reversed(list(module.walk())):
        if op.name.startswith(_KEPT) or not len(op.results):
            continue
        if all(next(iter(result.uses), None) is None for result in op.results):
            op.erase()
