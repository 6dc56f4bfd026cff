"""Take conditions out of the masks of loads and stores, and out of what selects choose by."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from flagc.ir.analysis.accesses import mask_of
from flagc.ir.analysis.masks import PASSED_ON, is_true
from flagc.ir.builder import Builder
from flagc.ir.dead_code import erase_unused
from flagc.ir.module import Module, Operation, Value, defining_op
from flagc.ir.types import TensorType

_MASKED = ("tt.load", "tt.store", "arith.select")


def masked_ops(ops: Iterator[Operation]) -> Iterator[tuple[Operation, Value]]:
    """Yield the ops among `ops` that have a mask, or select lane by lane, with their mask."""
    for op in ops:
        if op.name not in _MASKED:
            continue
        mask = op.operands[0] if op.name == "arith.select" else mask_of(op)
        if mask is not None and (op.name != "arith.select" or TensorType.of(mask) is not None):
            yield op, mask


def drop_conditions(module: Module, op: Operation, mask: Value, dropped: Collection[Value]) -> None:
    """Rewrite `op` without the conditions `dropped` of its mask, which always hold.

    A load whose mask goes altogether loses its `other` as well; a select becomes its first value.
    """
    build = Builder(module, before=op)
    kept = mask_without(build, mask, dropped)
    if kept is not None and kept == mask:
        return
    number = {"tt.load": 1, "tt.store": 2, "arith.select": 0}[op.name]
    if kept is not None:
        op.operands[number] = kept
        erase_unused([mask])
        return
    operands = list(op.operands)
    if op.name == "arith.select":
        module.replace(op, [operands[1]])
    else:
        attributes = {name: op.attributes[name] for name in op.attributes}
        if op.name == "tt.load":
            attributes["operandSegmentSizes"] = module.attribute("array<i32: 1, 0, 0>")
        types = [result.type for result in op.results]
        new = module.create(op.name, operands[:number], types, attributes, before=op)
        module.replace(op, list(new.results))
    erase_unused([mask, *operands[2:]])


def mask_without(build: Builder, mask: Value, dropped: Collection[Value]) -> Value | None:
    """Return `mask` without the conditions whose values are `dropped`; None when all of it is.

    Ops are created only for what changes.
    """
    if mask in dropped:
        return None
    op = defining_op(mask)
    if op is None or not (op.name == "arith.andi" or op.name in PASSED_ON):
        return None if op is not None and is_true(op) else mask
    before = list(op.operands)
    after = [mask_without(build, operand, dropped) for operand in before]
    kept = [value for value in after if value is not None]
    if kept == before:
        return mask
    if not kept:
        return None
    if op.name == "arith.andi":
        return kept[0] if len(kept) == 1 else build.andi(*kept)
    attributes = {name: op.attributes[name] for name in op.attributes}
    return build.op(op.name, kept, op.results[0].type, attributes)
