"""Split a loop into iterations that need no masks and a masked rest."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from flagc.ir.analysis.index_values import IndexValues
from flagc.ir.analysis.integer_facts import Facts
from flagc.ir.analysis.tail import TailCondition, safe_end, tail_condition
from flagc.ir.builder import Builder
from flagc.ir.formula_ops import compute, convert, widest
from flagc.ir.module import Module, Operation, Value
from flagc.ir.regions import append, block_operations, copy_to, create_if
from flagc.passes.ttir.masked_ops import drop_conditions, masked_ops
from flagc.pipeline.context import PassContext
from flagc.pipeline.passes import Pass, register

_LOOPS = ("scf.for", "scf.while")


@register
@dataclass(frozen=True)
class PeelKTail(Pass):
    """Run the iterations whose masks are known to hold without them, then the others with them.

    for start in range(0, K, 64):            for start in range(0, K / 64 * 64, 64):
        mask = start + arange(64) < K   =>       ...                    # no mask
        ...                                  if K % 64 != 0: ...        # masked, once

    A loop is split at the first iteration in which a condition may fail that gets harder from one
    iteration to the next: `start + arange < K`, `arange < K - step * 64`, also a causal mask.
    Other conditions (rows below M) stay. Where more than one iteration may be left, the rest is a
    loop; `tail_loop` makes it one in any case, which the vendor's Ascend compiler needs: it fails
    on a product that is summed up in an `scf.if`. Only innermost loops are split, as their bodies
    are doubled. Conditions are those of loads, stores and `tl.where`.

    Taken for granted is what `drop-proven-masks` takes for granted; run that first, so that no tail
    is made that is never needed.
    """

    name = "peel-k-tail"
    level = "ttir"
    tail_loop: bool = False

    def run(self, module: Module, context: PassContext) -> None:
        """Split every innermost loop in which that takes out a condition."""
        loops = [loop for loop in module.walk("scf.for") if not _has_loop(loop)]
        if not loops:
            context.remark(None, "not applied: the kernel has no loop")
        for loop in loops:
            values = IndexValues()
            facts = Facts(values)
            found = _conditions(values, facts, loop)
            if isinstance(found, str):
                context.remark(loop, f"loop left as it is: {found}")
                continue
            _split(module, values, facts, loop, found, self.tail_loop)
            context.statistic("loops split")
            context.statistic("conditions taken out", len(found))


@dataclass(frozen=True)
class _Droppable:
    """An op with a mask, and the conditions of it that hold before the tail."""

    op: Operation
    mask: Value
    conditions: list[TailCondition]


def _has_loop(loop: Operation) -> bool:
    return any(op.name in _LOOPS for op in _nested(loop))


def _nested(op: Operation) -> Iterator[Operation]:
    for region in op.regions:
        for block in region.blocks:
            for child in list(block.operations):
                yield child.operation
                yield from _nested(child.operation)


def _conditions(values: IndexValues, facts: Facts, loop: Operation) -> list[_Droppable] | str:
    """Return the ops with conditions that only fail at the loop's end, or why there are none."""
    if not facts.is_non_negative(values.index(loop.operands[0])):
        return "it may start below 0"
    found = []
    for op, mask in masked_ops(_nested(loop)):
        conditions = tail_condition(values, facts, loop, mask)
        if conditions:
            found.append(_Droppable(op, mask, conditions))
    if not found:
        return "no mask in it has a condition that fails only in the last iterations"
    if all(condition.always for entry in found for condition in entry.conditions):
        return "its masks always hold; drop-proven-masks drops them"
    return found


def _split(
    module: Module,
    values: IndexValues,
    facts: Facts,
    loop: Operation,
    found: list[_Droppable],
    tail_loop: bool,
) -> None:
    """Let `loop` end before the tail, and add the tail after it."""
    limits = [c.margin for entry in found for c in entry.conditions if not c.always]
    end = safe_end(values, facts, loop, list(dict.fromkeys(limits)))
    build = Builder(module, before=loop)
    kind = str(loop.operands[0].type)
    wide = widest(end.formula, "i32" if kind == "index" else kind)
    middle = convert(build, compute(build, end.formula, wide), kind)
    last = loop.operands[1]
    _add_tail(module, loop, middle, last, is_single=end.leaves_at_most_one and not tail_loop)
    loop.operands[1] = middle
    for entry in found:
        dropped = [condition.value for condition in entry.conditions]
        drop_conditions(module, entry.op, entry.mask, dropped)


def _add_tail(module: Module, loop: Operation, middle: Value, last: Value, is_single: bool) -> None:
    """Add a copy of the loop's body behind it, for the iterations from `middle` to `last`."""
    body = loop.regions[0].blocks[0]
    operations = [op.operation for op in body.operations]
    results = list(loop.results)
    types = [result.type for result in results]
    location = loop.location
    following = _next(loop)
    if is_single:
        condition = Builder(module, before=loop).cmpi("slt", middle, last)
        tail, then, otherwise = create_if(module, condition, types, before=following)
    else:
        tail = module.create(
            "scf.for",
            [middle, last, loop.operands[2], *results],
            types,
            # One or a few iterations: buffers for a pipeline would cost more than they bring.
            {"tt.num_stages": "1 : i32"},
            before=following,
            regions=1,
            location=location,
        )
        kinds = [argument.type for argument in body.arguments]
        then = tail.regions[0].blocks.append(*kinds, arg_locs=[location] * len(kinds))
    for number, result in enumerate(results):
        result.replace_all_uses_with(tail.results[number])
        if not is_single:
            tail.operands[3 + number] = result
    if is_single:
        append(module, otherwise, "scf.yield", results, location=location)
        arguments = [middle, *results]
    else:
        arguments = list(then.arguments)
    copy_to(then, operations, dict(zip(body.arguments, arguments, strict=True)))


def _next(op: Operation) -> Operation:
    """Return the op after `op`, which is no terminator."""
    ops = block_operations(op)
    return ops[ops.index(op) + 1]
