"""Give every mask at most one lower and one upper bound for an index."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from flagc.ir.analysis.signs import cannot_be_negative, integer_constant
from flagc.ir.builder import Builder
from flagc.ir.dead_code import erase_unused
from flagc.ir.module import Module, Operation, Value, defining_op
from flagc.ir.types import TensorType, element_bits, element_of
from flagc.pipeline.context import PassContext
from flagc.pipeline.passes import Pass, register

# Predicates of arith.cmpi, and what each is with its operands exchanged.
_PREDICATES = {2: "slt", 3: "sle", 4: "sgt", 5: "sge"}
_EXCHANGED = {"slt": "sgt", "sle": "sge", "sgt": "slt", "sge": "sle"}
_TIGHTER = {"slt": "minsi", "sle": "minsi", "sgt": "maxsi", "sge": "maxsi"}


@dataclass
class _Group:
    """Comparisons of one index in one direction: `index predicate bound`, for each bound."""

    predicate: str
    index: Value
    bounds: list[Value] = field(default_factory=list)


@register
@dataclass(frozen=True)
class MergeMaskBounds(Pass):
    """Merge `x < a && x < b` into `x < min(a, b)`, likewise `<=`, and `max` for lower bounds.

    The bounds are scalars, so one comparison of tensors is left. The index may be compared in
    two widths (`x` and its sign extension); the wider one is used. Bounds that always hold
    (`x >= 0` of an index that cannot be negative) go.

    The vendor's Ascend adapter crashes on masks with more than one bound of a kind
    (discrete-mask-access-conversion).
    """

    name = "merge-mask-bounds"
    level = "ttir"

    def run(self, module: Module, context: PassContext) -> None:
        """Rewrite every conjunction of which some comparisons can be merged."""
        for op in module.walk("arith.andi"):
            if element_of(op.results[0]) == "i1" and not _is_part_of_another(op):
                _merge(module, op, context)


def _is_part_of_another(op: Operation) -> bool:
    uses = [use.owner.operation for use in op.results[0].uses]
    return bool(uses) and all(user.name == "arith.andi" for user in uses)


def _merge(module: Module, root: Operation, context: PassContext) -> None:
    terms = list(_terms(root.results[0]))
    groups: dict[tuple[str, Value], _Group] = {}
    rest: list[Value] = []
    always = 0
    for term in terms:
        bound = _bound(term)
        if bound is None:
            rest.append(term)
        elif _always_holds(*bound):
            always += 1
        else:
            predicate, index, limit = bound
            group = groups.setdefault((predicate, _narrow(index)), _Group(predicate, index))
            group.bounds.append(limit)
            if _width(index) > _width(group.index):
                group.index = index
    merged = [group for group in groups.values() if len(group.bounds) > 1]
    if not merged and not always:
        return
    build = Builder(module, before=root)
    parts = rest + [_comparison(build, group) for group in groups.values()]
    result = parts[0] if parts else build.constant(True, root.results[0].type)
    for part in parts[1:]:
        result = build.andi(result, part)
    context.statistic("bounds merged", sum(len(group.bounds) - 1 for group in merged))
    context.statistic("bounds that always hold dropped", always)
    module.replace(root, [result])
    erase_unused(terms)


def _terms(mask: Value) -> Iterator[Value]:
    """Yield what `mask` is the conjunction of, each value once."""
    seen: list[Value] = []
    pending = [mask]
    while pending:
        value = pending.pop()
        op = defining_op(value)
        if op is not None and op.name == "arith.andi":
            pending += reversed(list(op.operands))
        elif value not in seen:
            seen.append(value)
            yield value


def _bound(term: Value) -> tuple[str, Value, Value] | None:
    """Return (predicate, index, scalar limit) if `term` compares a tensor with a scalar."""
    op = defining_op(term)
    if op is None or op.name != "arith.cmpi" or TensorType.of(term) is None:
        return None
    predicate = _PREDICATES.get(op.attributes["predicate"].value)
    if predicate is None:
        return None
    left, right = op.operands
    if _is_uniform(right) and not _is_uniform(left):
        return predicate, left, right
    if _is_uniform(left) and not _is_uniform(right):
        return _EXCHANGED[predicate], right, left
    return None


def _is_uniform(value: Value) -> bool:
    op = defining_op(value)
    is_splat = op is not None and op.name == "tt.splat"
    return is_splat or integer_constant(value) is not None


def _always_holds(predicate: str, index: Value, limit: Value) -> bool:
    number = integer_constant(limit)
    if number is None or not cannot_be_negative(index):
        return False
    return (predicate == "sge" and number <= 0) or (predicate == "sgt" and number < 0)


def _narrow(index: Value) -> Value:
    op = defining_op(index)
    return op.operands[0] if op is not None and op.name == "arith.extsi" else index


def _comparison(build: Builder, group: _Group) -> Value:
    """Compare the group's index with the tightest of its bounds."""
    element = element_of(group.index)
    limits = [_scalar(build, bound, element) for bound in group.bounds]
    limit = limits[0]
    for other in limits[1:]:
        limit = build.binary(f"arith.{_TIGHTER[group.predicate]}", limit, other)
    bound = build.op("tt.splat", [limit], group.index.type)
    return build.cmpi(group.predicate, group.index, bound)


def _scalar(build: Builder, bound: Value, element: str) -> Value:
    """Return the number that fills `bound`, as an integer of type `element`, at least as wide."""
    number = integer_constant(bound)
    if number is not None:
        return build.constant(number, element)
    op = defining_op(bound)
    assert op is not None
    scalar = op.operands[0]
    return scalar if element_of(scalar) == element else build.op("arith.extsi", [scalar], element)


def _width(value: Value) -> int:
    return element_bits(element_of(value))
