"""Make a loop that counts a counted loop."""

from __future__ import annotations

from dataclasses import dataclass

from flagc.ir.analysis.signs import integer_constant
from flagc.ir.builder import Builder
from flagc.ir.module import Module, Operation, Value, defining_op
from flagc.ir.regions import append, copy_to
from flagc.pipeline.context import PassContext
from flagc.pipeline.passes import Pass, register

_BELOW = {2: (0, 1), 4: (1, 0)}  # slt; sgt the other way round


@dataclass(frozen=True)
class _Count:
    """What a loop counts: its argument number `place`, by `step`, as long as it is below `end`."""

    place: int
    end: Value
    step: int


@register
@dataclass(frozen=True)
class WhileToFor(Pass):
    """Turn `while i < n: ...; i += c` into `scf.for`, where the loop does nothing else with `i`.

    `n` does not change in the loop, `c` is a positive constant, and the condition is nothing but
    the comparison. Counting is taken not to overflow. Other loops stay: most wait for something.

    The vendor's Ascend compiler aborts on some `scf.while` loops ("PlanMemory Traverse IR Failed"),
    and overlaps transfers with work in `scf.for` only.
    """

    name = "while-to-for"
    level = "ttir"

    def run(self, module: Module, context: PassContext) -> None:
        """Rewrite inner loops first, as a loop's body is copied."""
        for loop in reversed(list(module.walk("scf.while"))):
            count = _count(loop)
            if count is not None:
                _rewrite(module, loop, count)
                context.statistic("loops counted")


def _count(loop: Operation) -> _Count | None:
    """Return what `loop` counts, or None if it is another kind of loop."""
    before, after = (region.blocks[0] for region in loop.regions)
    conditions = [child.operation for child in before.operations]
    compare, end = conditions[0], conditions[-1]
    if len(conditions) != 2 or compare.name != "arith.cmpi":
        return None
    if list(end.operands) != [compare.results[0], *before.arguments]:
        return None
    operands = _BELOW.get(compare.attributes["predicate"].value)
    if operands is None:
        return None
    counter, bound = (compare.operands[number] for number in operands)
    if counter not in list(before.arguments) or bound in list(before.arguments):
        return None
    place = counter.arg_number
    step = _step(list(after.operations)[-1].operation.operands[place], after.arguments[place])
    return _Count(place, bound, step) if step is not None else None


def _step(following: Value, counter: Value) -> int | None:
    """Return the positive constant that is added to `counter` to give `following`."""
    op = defining_op(following)
    if op is None or op.name != "arith.addi" or counter not in list(op.operands):
        return None
    other = op.operands[1] if op.operands[0] == counter else op.operands[0]
    number = integer_constant(other)
    return number if number is not None and number > 0 else None


def _rewrite(module: Module, loop: Operation, count: _Count) -> None:
    build = Builder(module, before=loop)
    initial = list(loop.operands)
    start = initial.pop(count.place)
    step = build.constant(count.step, start.type)
    counted = module.create(
        "scf.for",
        [start, count.end, step, *initial],
        [value.type for value in initial],
        before=loop,
        regions=1,
    )
    where = loop.location
    types = [start.type, *(value.type for value in initial)]
    block = counted.regions[0].blocks.append(*types, arg_locs=[where] * len(types))
    body = loop.regions[1].blocks[0]
    arguments = list(block.arguments)
    arguments.insert(count.place, arguments.pop(0))
    values = dict(zip(body.arguments, arguments, strict=True))
    *ops, end = [child.operation for child in body.operations]
    copy_to(block, ops, values)
    yielded = [values.get(value, value) for value in end.operands]
    del yielded[count.place]
    append(module, block, "scf.yield", yielded, location=end.location)
    results = list(counted.results)
    is_used = any(True for _ in loop.results[count.place].uses)
    results.insert(count.place, _last(build, start, count) if is_used else start)
    module.replace(loop, results)


def _last(build: Builder, start: Value, count: _Count) -> Value:
    """Return the counter after the loop: the first number not below the end."""
    zero, step = (build.constant(number, start.type) for number in (0, count.step))
    distance = build.binary("arith.maxsi", build.subi(count.end, start), zero)
    rounded = build.addi(distance, build.constant(count.step - 1, start.type))
    return build.addi(start, build.muli(build.divsi(rounded, step), step))
