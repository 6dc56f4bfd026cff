"""Erase what a module computes, or carries round its loops, and nobody uses."""

from __future__ import annotations

from flagc.ir.analysis.loop_carried import carried_by
from flagc.ir.dead_code import erase_all_unused, is_pure
from flagc.ir.module import Module, Operation, Value, defining_op


def erase_unused_values(module: Module) -> int:
    """Erase pure ops whose results lead to nothing, and values that loops carry in vain.

    Returns how many ops and carried values went.
    """
    used = _used(module)
    loops = list(module.walk("scf.for"))[::-1]  # inner ones and later ones first
    unused = [_unused_numbers(loop, used) for loop in loops]
    for loop, numbers in zip(loops, unused, strict=True):
        _yield_what_came(loop, numbers)
    erased = 0
    for loop, numbers in zip(loops, unused, strict=True):
        erased += erase_all_unused(module) + len(numbers)
        if numbers:
            _drop_carried(module, loop, numbers)
    return erased + erase_all_unused(module)


def _unused_numbers(loop: Operation, used: set[Value]) -> list[int]:
    arguments = list(loop.regions[0].blocks[0].arguments)[1:]
    pairs = enumerate(zip(loop.results, arguments, strict=True))
    return [number for number, pair in pairs if not used.intersection(pair)]


def _yield_what_came(loop: Operation, numbers: list[int]) -> None:
    """Let values that are carried in vain depend on nothing."""
    body = loop.regions[0].blocks[0]
    end = list(body.operations)[-1].operation
    for number in numbers:
        end.operands[number] = body.arguments[number + 1]


def _used(module: Module) -> set[Value]:
    """Return the values that effects and control flow depend on."""
    used: set[Value] = set()
    pending: list[Value] = []
    for op in module.walk():
        if op.name == "scf.for":
            pending += list(op.operands)[:3]
        elif not is_pure(op) and not _is_end_of_loop(op):
            pending += list(op.operands)
    while pending:
        value = pending.pop()
        if value not in used:
            used.add(value)
            pending += _sources(value)
    return used


def _is_end_of_loop(op: Operation) -> bool:
    return bool(op.name == "scf.yield" and op.parent.operation.name == "scf.for")


def _sources(value: Value) -> list[Value]:
    """Return what `value` is made of, directly."""
    op = defining_op(value)
    if op is None:
        loop = value.owner.owner.operation
        is_carried = loop.name == "scf.for" and value.arg_number > 0
        return [*carried_by(loop, value), loop.results[value.arg_number - 1]] if is_carried else []
    if op.name == "scf.for":
        number = list(op.results).index(value)
        argument = op.regions[0].blocks[0].arguments[number + 1]
        return [argument, *carried_by(op, argument)]
    return list(op.operands)


def _drop_carried(module: Module, loop: Operation, numbers: list[int]) -> None:
    """Make `loop` anew without the values that it carries at `numbers`."""
    kept = [number for number in range(len(loop.results)) if number not in numbers]
    body = loop.regions[0].blocks[0]
    end = list(body.operations)[-1].operation
    yielded = [end.operands[number] for number in kept]
    module.create("scf.yield", yielded, before=end)
    end.erase()
    operands = list(loop.operands)
    attributes = {name: loop.attributes[name] for name in loop.attributes}
    new = module.create(
        "scf.for",
        [*operands[:3], *(operands[3 + number] for number in kept)],
        [loop.results[number].type for number in kept],
        attributes,
        before=loop,
        regions=1,
        location=loop.location,
    )
    for number in numbers[::-1]:
        body.erase_argument(number + 1)
    body.append_to(new.regions[0])
    for number, result in zip(kept, new.results, strict=True):
        loop.results[number].replace_all_uses_with(result)
    loop.erase()
