"""Random expressions: as Triton source, and as exact values with a bound on what is lost.

Every node knows its dtype and a bound on its magnitude, by which the generator keeps away from
overflow and from division by zero: what those give on the hardware is not public.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import torch

from fuzz.operations import FLOAT, FLOAT_OPERATIONS, INTEGER_OPERATIONS, Operation, Values, rounded

INTEGER_BITS = {"i8": 8, "i16": 16, "i32": 32, "i64": 64}
TRITON = {
    "fp32": "tl.float32",
    "fp16": "tl.float16",
    "bf16": "tl.bfloat16",
    "i64": "tl.int64",
    "i32": "tl.int32",
    "i16": "tl.int16",
    "i8": "tl.int8",
}


def room(kind: str) -> float:
    """The largest magnitude that an operand may have: the result of an operation still fits."""
    if kind in FLOAT:
        return FLOAT[kind].room
    return 2.0 ** min(INTEGER_BITS[kind] // 2 - 1, 20)


def most(kind: str) -> float:
    """The largest power of two that the dtype holds, for integers up to 2**46."""
    if kind in FLOAT:
        return FLOAT[kind].most
    return 2.0 ** min(INTEGER_BITS[kind] - 2, 46)


@dataclass(frozen=True)
class Node:
    """An expression of Triton. `text` has {0}, {1}, ... for the operands, or is an input's name."""

    text: str
    kind: str
    bound: float
    operands: tuple[Node, ...] = ()
    evaluate: Callable[..., Values] | None = field(default=None, compare=False)

    def source(self) -> str:
        return self.text.format(*(operand.source() for operand in self.operands))

    def values(self, inputs: dict[str, torch.Tensor]) -> Values:
        if self.evaluate is None:
            exact = inputs[self.text].double()
            return Values(exact, torch.zeros_like(exact))
        return self.evaluate(*(operand.values(inputs) for operand in self.operands))


def random_expression(
    random: np.random.Generator, inputs: list[Node], depth: int, kind: str
) -> Node:
    """An expression of dtype `kind` over some of `inputs`, at most `depth` operations deep."""
    if depth == 0:
        return cast(inputs[random.integers(len(inputs))], kind)
    if random.integers(8) == 0:  # by way of another dtype
        other = str(random.choice([name for name in (*FLOAT, "i32") if name != kind]))
        return cast(random_expression(random, inputs, depth - 1, other), kind)
    operations = FLOAT_OPERATIONS if kind in FLOAT else INTEGER_OPERATIONS
    operation = operations[random.integers(len(operations))]
    operands = tuple(
        clamped(random_expression(random, inputs, int(random.integers(depth)), kind), room(kind))
        for _ in range(operation.arity)
    )
    return applied(operation, operands, kind)


def applied(operation: Operation, operands: tuple[Node, ...], kind: str) -> Node:
    bounds = [operand.bound for operand in operands]
    return Node(
        f"({operation.text}).to({TRITON[kind]})",
        kind,
        operation.bound(*bounds),
        operands,
        lambda *values: operation.evaluate(kind, *values),
    )


def clamped(node: Node, limit: float) -> Node:
    """The node, cut to a range if it does not keep to it anyway; `limit` is a power of two."""
    if node.bound <= limit:
        return node
    value = f"{limit}" if node.kind in FLOAT else f"{int(limit)}"
    text = f"tl.minimum(tl.maximum({{0}}, -{value}), {value}).to({TRITON[node.kind]})"
    return Node(
        text,
        node.kind,
        limit,
        (node,),
        lambda a: Values(a.exact.clamp(-limit, limit), a.lost.clamp(max=2 * limit)),
    )


def cast(node: Node, kind: str) -> Node:
    """The node in another dtype, cut to what that holds."""
    if node.kind == kind:
        return node
    node = clamped(node, min(most(kind), most(node.kind)))
    if kind in FLOAT:
        evaluate: Callable[[Values], Values] = lambda a: rounded(kind, a.exact, a.lost)  # noqa: E731
    else:
        evaluate = truncated if node.kind in FLOAT else unchanged
    return Node(f"({{0}}).to({TRITON[kind]})", kind, node.bound, (node,), evaluate)


def unchanged(a: Values) -> Values:
    """To an integer dtype that holds the value."""
    return a


def truncated(a: Values) -> Values:
    """To a whole number, towards zero; within what is lost of one, either neighbour may come."""
    whole = a.exact.trunc()
    moved = ((a.exact + a.lost).trunc() != whole) | ((a.exact - a.lost).trunc() != whole)
    return Values(whole, torch.where(moved, 1.0 + a.lost.ceil(), 0.0))
