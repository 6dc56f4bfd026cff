"""Compute each scalar once: merge arithmetic that is the same, where one op can serve for both."""

from __future__ import annotations

from typing import Any

from flagc.ir.module import Module, Operation
from flagc.ir.types import TensorType

_Known = dict[tuple[Any, ...], Operation]


def merge_equal_scalars(module: Module) -> int:
    """Replace scalar `arith` ops by equal ones before them; return how many went."""
    merged = 0
    for function in module.functions():
        merged += _merge(function, {})
    return merged


def _merge(op: Operation, known: _Known) -> int:
    merged = 0
    for region in op.regions:
        for block in region.blocks:
            inside = dict(known)  # what the block adds is not there after it
            for child in [entry.operation for entry in block.operations]:
                earlier = inside.setdefault(_key(child), child) if _is_scalar(child) else child
                if earlier == child:
                    merged += _merge(child, inside)
                    continue
                child.results[0].replace_all_uses_with(earlier.results[0])
                child.erase()
                merged += 1
    return merged


def _is_scalar(op: Operation) -> bool:
    is_one = op.name.startswith("arith.") and len(op.results) == 1
    return is_one and TensorType.of(op.results[0]) is None


def _key(op: Operation) -> tuple[Any, ...]:
    attributes = sorted(
        (name, str(op.attributes[name])) for name in op.attributes if name != "overflowFlags"
    )
    return (op.name, tuple(op.operands), str(op.results[0].type), tuple(attributes))
