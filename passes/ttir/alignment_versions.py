"""Two versions of a kernel's body, of which the alignment of its arguments chooses one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from flagc.ir.analysis import affine
from flagc.ir.analysis.affine import Affine
from flagc.ir.analysis.descriptor_plan import ALIGNMENT, DescriptorPlan
from flagc.ir.builder import Builder
from flagc.ir.formula_ops import compute
from flagc.ir.module import Module, Operation, Value, defining_op
from flagc.ir.regions import append, copy_to, create_if


@dataclass(frozen=True)
class AlignmentChecks:
    """What must be multiples of 16: addresses, and formulas of the kernel's arguments."""

    pointers: tuple[Value, ...]
    byte_counts: tuple[Affine, ...]


def alignment_checks(plans: Sequence[DescriptorPlan]) -> AlignmentChecks | str:
    """Return what to check so that all `plans` are aligned, or why that cannot be checked."""
    pointers = [found.access.base for found in plans if not found.is_base_aligned]
    counts: list[Affine] = []
    for found in plans:
        for formula in found.unaligned:
            for product, number in formula.terms.items():
                # Program ids are left out: what they multiply is a multiple, then so is the term.
                count = Affine({tuple(s for s in product if _is_argument(s)): number})
                if count.number is not None and int(count.number) % ALIGNMENT:
                    return "a block may start at an unaligned address whatever the strides are"
                if count.number is None:
                    counts.append(count)
    return AlignmentChecks(tuple(dict.fromkeys(pointers)), tuple(dict.fromkeys(counts)))


def split_by_alignment(module: Module, function: Operation, checks: AlignmentChecks) -> Operation:
    """Put the body of `function` under an `scf.if` on `checks`, and a copy of it in the else.

    Returns the `scf.if`; the ops that were there before are in its first branch.
    """
    block = function.regions[0].blocks[0]
    ops = [op.operation for op in block.operations]
    body, end = ops[:-1], ops[-1]
    build = Builder(module, before=ops[0])
    condition = _condition(build, checks)
    version, then, otherwise = create_if(module, condition, [], before=end)
    copy_to(otherwise, body, {})
    append(module, otherwise, "scf.yield", location=end.location)
    last = append(module, then, "scf.yield", location=end.location)
    for op in body:
        op.move_before(last)
    return version


def _condition(build: Builder, checks: AlignmentChecks) -> Value:
    """Whether no bit below 16 is set in any of the numbers."""
    numbers = [build.op("tt.ptr_to_int", [pointer], "i64") for pointer in checks.pointers]
    numbers += [compute(build, count, "i64") for count in checks.byte_counts]
    bits = numbers[0]
    for number in numbers[1:]:
        bits = build.binary("arith.ori", bits, number)
    low = build.andi(bits, build.constant(ALIGNMENT - 1, "i64"))
    return build.cmpi("eq", low, build.constant(0, "i64"))


def _is_argument(symbol: affine.Symbol) -> bool:
    if symbol.kind != affine.SCALAR:
        return False
    value = symbol.operands[0]
    return defining_op(value) is None and value.owner.owner.name == "tt.func"
