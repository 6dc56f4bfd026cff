"""Reduce mean, count and sum of squares by sums, one after the other."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass

from flagc.ir.analysis.formulas import (
    Formula,
    add,
    apply,
    argument,
    constant,
    div,
    formula,
    larger,
    mul,
    sub,
)
from flagc.ir.builder import Builder
from flagc.ir.module import Module, Operation, Value
from flagc.ir.regions import create_reduce
from flagc.ir.types import TensorType, element_of
from flagc.pipeline.context import PassContext
from flagc.pipeline.passes import Pass, register

# What is combined: mean, count and sum of squared differences from the mean, of two sides.
Side = tuple[Formula, Formula, Formula]
_EQUAL = "arith.cmpf 1"
_ONE, _ZERO = constant(1.0), constant(0.0)


@register
@dataclass(frozen=True)
class SplitWelfordReduce(Pass):
    """Split a `tt.reduce` of Welford's (mean, count, M2) into sums of one value each.

        count = sum(count[i])
        mean  = sum(mean[i] * count[i]) / count
        M2    = sum(M2[i] + count[i] * (mean[i] - mean)^2)

    which is what any order of combining pairs gives, but for rounding. Two ways to combine are
    known, with the three values in any order: by sums with `max(count, 1)` as divisor (FlagGems;
    the counts are whole numbers), and by `delta * where(count == 0, 0, count2 / count)` (PyTorch
    Inductor). Others of three values and more stay, with a remark.

    The vendor's Ascend adapter aborts on reductions of more than two values
    ("reduceOp.getSrcs().size() <= 2").
    """

    name = "split-welford-reduce"
    level = "ttir"

    def run(self, module: Module, context: PassContext) -> None:
        """Split each such reduction."""
        for op in module.walk("tt.reduce"):
            if len(op.operands) < 3:
                continue
            found = _recognise(op)
            if found is None:
                context.remark(
                    op,
                    "not applied: this reduction of several values does not combine (mean, "
                    "count, M2) in a known way",
                )
                continue
            _split(module, op, *found)
            context.statistic("reductions split")


def _by_sums(left: Side, right: Side) -> Side:
    (mean1, count1, m2_1), (mean2, count2, m2_2) = left, right
    count = add(count1, count2)
    mean = div(add(mul(mean1, count1), mul(mean2, count2)), larger(count, _ONE))
    squares = add(m2_1, mul(mean1, count1, mean1), m2_2, mul(mean2, count2, mean2))
    return mean, count, sub(squares, mul(count, mean, mean))


def _by_delta(left: Side, right: Side) -> Side:
    (mean1, count1, m2_1), (mean2, count2, m2_2) = left, right
    count, delta = add(count1, count2), sub(mean2, mean1)
    is_empty = apply(_EQUAL, count, _ZERO)
    share = apply("arith.select", is_empty, _ZERO, div(count2, count))
    mean = add(mean1, mul(delta, share))
    return mean, count, add(m2_1, m2_2, mul(delta, delta, count1, share))


_COMBINATIONS: tuple[Callable[[Side, Side], Side], ...] = (_by_sums, _by_delta)


def _recognise(op: Operation) -> tuple[Callable[[Side, Side], Side], tuple[int, ...]] | None:
    """Return how `op` combines, and at which places mean, count and M2 stand."""
    block = op.regions[0].blocks[0]
    if len(op.operands) != 3 or len(op.regions[0].blocks) != 1:
        return None
    combined = [formula(value, block) for value in list(block.operations)[-1].operation.operands]
    for combine, places in itertools.product(_COMBINATIONS, itertools.permutations(range(3))):
        mean, count, m2 = places
        left = (argument(mean), argument(count), argument(m2))
        right = (argument(mean + 3), argument(count + 3), argument(m2 + 3))
        if combine(left, right) == tuple(combined[place] for place in places):
            return combine, places
    return None


def _split(
    module: Module,
    op: Operation,
    combine: Callable[[Side, Side], Side],
    places: tuple[int, ...],
) -> None:
    axis = int(op.attributes["axis"].value)
    means, counts, m2s = (op.operands[place] for place in places)
    build = Builder(module, before=op)

    def total(value: Value, name: str = "arith.addf") -> Value:
        return create_reduce(module, name, value, axis, op)

    count = total(counts)
    weighted = total(build.binary("arith.mulf", means, counts))
    one = build.constant(1.0, count.type)
    if combine is _by_sums:
        mean = build.binary("arith.divf", weighted, build.binary("arith.maxnumf", count, one))
    else:
        # Of nothing at all, combining pairs leaves the mean of one of them.
        is_empty = build.cmpf("oeq", count, build.constant(0.0, count.type))
        divided = build.binary("arith.divf", weighted, build.select(is_empty, one, count))
        mean = build.select(is_empty, total(means, "arith.maxnumf"), divided)
    difference = build.binary("arith.subf", means, _repeat(build, mean, means, axis))
    squares = build.binary("arith.mulf", difference, difference)
    m2 = total(build.binary("arith.addf", m2s, build.binary("arith.mulf", counts, squares)))
    by_place = dict(zip(places, (mean, count, m2), strict=True))
    module.replace(op, [by_place[place] for place in range(3)])


def _repeat(build: Builder, value: Value, like: Value, axis: int) -> Value:
    """Bring the result of a reduction along `axis` back to the shape it had."""
    tensor = TensorType.of(value)
    if tensor is None:
        return build.op("tt.splat", [value], like.type)
    shape = list(tensor.shape)
    shape.insert(axis, 1)
    kind = TensorType(tuple(shape), element_of(value)).text()
    expanded = build.op("tt.expand_dims", [value], kind, {"axis": f"{axis} : i32"})
    return build.op("tt.broadcast", [expanded], like.type)
