"""Let M and FIX take turns on accumulators fractal by fractal, for `insert-sync`."""

from __future__ import annotations

from flagc.ir.analysis.index_values import IndexValues
from flagc.ir.analysis.last_products import Turns, Unknown, turns_of
from flagc.ir.analysis.tile_accesses import TileAccess, tile_of
from flagc.ir.builder import Builder
from flagc.ir.module import Module, Operation, Value
from flagc.ir.regions import append, create_if
from flagc.ir.staged.operations import create
from flagc.mlir import ir
from flagc.pipeline.context import PassContext

# AscendC, UnitFlag of Mmad and Fixpipe: others follow, or this is the last one.
_MORE, _LAST = 2, 3


def set_unit_flags(
    module: Module, context: PassContext, by_tile: dict[Operation, list[TileAccess]]
) -> set[Operation]:
    """Set unit flags where the last product of an accumulator is known.

    Returns the allocations of the accumulators that need no other flags.
    """
    values = IndexValues()
    found: dict[Operation, Turns] = {}
    for allocation, accesses in by_tile.items():
        pipes = {access.pipe for access in accesses}
        if tile_of(allocation).memory != "l0c" or pipes != {"M", "FIX"}:
            continue
        turns = turns_of(accesses, values)
        if isinstance(turns, Unknown):
            context.remark(turns.op, f"unit-flag is left out: {turns.reason}")
        else:
            found[allocation] = turns
    for turns in found.values():
        _mark_product(module, turns)
        _mark_store(module, turns)
    context.statistic("accumulators with unit flags", len(found))
    return set(found)


def _mark_product(module: Module, turns: Turns) -> None:
    """Give the product its unit flag, by whether it is the last one."""
    product = turns.product.op
    if not turns.loops:
        product.attributes["unit_flag"] = module.integer(_LAST)
        return
    build = Builder(module, before=product)
    is_last = _in_last_iteration(build, turns.loops[0])
    for loop in turns.loops[1:]:
        is_last = build.andi(is_last, _in_last_iteration(build, loop))
    _either(module, product, is_last, (_LAST, _MORE))


def _in_last_iteration(build: Builder, loop: Operation) -> Value:
    _, end, step = list(loop.operands)[:3]
    following = build.addi(loop.regions[0].blocks[0].arguments[0], step)
    return build.cmpi("sge", following, end)


def _mark_store(module: Module, turns: Turns) -> None:
    """Give the store its unit flag; where the accumulator was cleared, M has set none."""
    store = turns.store.op
    if turns.cleared is None:
        store.attributes["unit_flag"] = module.integer(_LAST)
        return
    first = next(iter(turns.cleared.regions[0].blocks[0].operations)).operation
    create(module, "barrier", {}, {"pipe": '"ALL"'}, before=first)
    was_cleared = turns.cleared.operands[0]
    plain = _either(module, store, was_cleared, (0, _LAST))
    create(module, "barrier", {}, {"pipe": '"ALL"'}, before=plain)
    create(module, "barrier", {}, {"pipe": '"ALL"'}, after=plain)


def _either(module: Module, op: Operation, condition: Value, flags: tuple[int, int]) -> Operation:
    """Replace `op` by two of it in a branch, with these unit flags; return the first."""
    _, then, otherwise = create_if(module, condition, [], before=op)
    copies = []
    for block, flag in zip((then, otherwise), flags, strict=True):
        copy = op.clone(ir.InsertionPoint(block)).operation
        copy.attributes["unit_flag"] = module.integer(flag)
        append(module, block, "scf.yield", location=op.location)
        copies.append(copy)
    op.erase()
    return copies[0]
