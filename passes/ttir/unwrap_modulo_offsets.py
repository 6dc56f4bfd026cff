"""Load the rows and columns of a tile under a mask, where a kernel wraps their offsets."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from flagc.ir.analysis.index_expressions import along, is_position
from flagc.ir.analysis.lanes import LaneFlow
from flagc.ir.builder import Builder
from flagc.ir.module import Module, Operation, Value, defining_op
from flagc.ir.types import TensorType
from flagc.pipeline.context import PassContext
from flagc.pipeline.passes import Pass, register

_LESS = {2: (0, 1), 6: (0, 1), 4: (1, 0), 8: (1, 0)}  # slt, ult; sgt, ugt the other way round


@register
@dataclass(frozen=True)
class UnwrapModuloOffsets(Pass):
    """Replace wrapped offsets `x % size` of loads by `x`, with the loads masked by `x < size`.

    Triton's matmul tutorial wraps the offsets of the last tile's rows and columns so that its loads
    need no mask there. The lanes beyond the end then hold rows from the start, which the store's
    mask `x < size` drops. On Ascend wrapped rows are gathered one by one, through buffers for which
    the unified buffer has no room; masked ones are plain copies.

    Rewritten is `x % size` of which the following is proven:

    * below `size` nothing changes: `x` is not negative. Taken for granted are that index arithmetic
      does not overflow and that what indices are divided by is positive.
      `assume_non_negative` takes this for granted altogether (tile numbers read from memory).
    * from `size` on nobody sees the change: it reaches stores only in lanes that the store's own
      mask drops, it decides no branch and no load, and it is not summed up with other lanes.

    The pass says why it leaves wrapped offsets of a matrix product alone. Other `%` of indices
    (a flat index taken apart) it passes over in silence.
    """

    name = "unwrap-modulo-offsets"
    level = "ttir"
    assume_non_negative: bool = False

    def run(self, module: Module, context: PassContext) -> None:
        """Examine every remainder of tensors on its own."""
        for op in module.walk("arith.remsi"):
            shape = _shape(op.results[0])
            dims = [dim for dim, size in enumerate(shape) if size != 1]
            if len(dims) != 1:
                continue
            flow = LaneFlow(op.results[0], dims[0])
            reason = self._obstacle(op, dims[0], flow)
            if reason is None:
                _unwrap(module, op, dims[0], flow)
                context.statistic("offsets unwrapped")
                context.statistic("loads masked", len(flow.loads))
            elif flow.loads and flow.dots:
                context.remark(reason[0], f"wrapped offsets stay: {reason[1]}")

    def _obstacle(self, op: Operation, dim: int, flow: LaneFlow) -> tuple[Operation, str] | None:
        """Return the op because of which `op` must stay, and why; None when it may go."""
        if flow.obstacle is not None:
            return flow.obstacle
        if not flow.loads:
            return op, "no load depends on them"
        offset, size = along(op.operands[0], dim), along(op.operands[1], None)
        if offset is None or size is None:
            return op, "they are no function of one index, or the size is none"
        if not (self.assume_non_negative or is_position(op.operands[0])):
            return op, (
                "they may be negative as far as is known; if they never are, use "
                "unwrap-modulo-offsets{assume-non-negative=true}"
            )
        for load in flow.loads:
            if not _can_mask(op, dim, load, flow):
                return load, "this load's shape is reached by other ways than expand_dims"
        for store in flow.stores:
            affected: frozenset[int] = frozenset().union(
                *(flow.dims.get(operand, frozenset()) for operand in store.operands)
            )
            for affected_dim in affected:
                if not _drops(store, affected_dim, offset, size):
                    return store, (
                        "this store's mask does not drop the lanes beyond the size they wrap at"
                    )
        return None


def _can_mask(op: Operation, dim: int, load: Operation, flow: LaneFlow) -> bool:
    """Return whether a condition on `op`'s lanes can be brought to the load's shape."""
    if len(_shape(op.results[0])) == 1:
        return True
    same_rank = len(_shape(load.results[0])) == len(_shape(op.results[0]))
    return same_rank and flow.dims[load.operands[0]] == frozenset({dim})


def _drops(store: Operation, dim: int, offset: object, size: object) -> bool:
    """Return whether the store's mask is false wherever `offset`, along `dim`, reaches `size`."""
    if len(store.operands) < 3:
        return False
    for term, term_dim in _conjuncts(store.operands[2], dim):
        operands = _LESS.get(term.attributes["predicate"].value)
        if operands is None:
            continue
        low, high = (term.operands[index] for index in operands)
        if along(low, term_dim) == offset and along(high, None) == size:
            return True
    return False


def _conjuncts(mask: Value, dim: int) -> Iterator[tuple[Operation, int]]:
    """Yield the comparisons that hold wherever `mask` does, with `dim` as one of theirs."""
    op = defining_op(mask)
    if op is None:
        return
    if op.name == "arith.andi":
        for operand in op.operands:
            yield from _conjuncts(operand, dim)
    elif op.name == "arith.cmpi":
        yield op, dim
    elif op.name == "tt.broadcast":
        if _shape(op.operands[0])[dim] == _shape(mask)[dim]:
            yield from _conjuncts(op.operands[0], dim)
    elif op.name == "tt.expand_dims":
        axis = int(op.attributes["axis"].value)
        if axis != dim:
            yield from _conjuncts(op.operands[0], dim - (axis < dim))


def _unwrap(module: Module, op: Operation, dim: int, flow: LaneFlow) -> None:
    offset, size = op.operands
    in_range = Builder(module, before=op).cmpi("slt", offset, size)
    for load in flow.loads:
        dims = flow.dims[load.operands[0]]
        build = Builder(module, before=load)
        masks = [_spread(build, in_range, target, load) for target in sorted(dims)]
        _add_masks(module, build, load, masks)
    module.replace(op, [offset])


def _spread(build: Builder, condition: Value, dim: int, load: Operation) -> Value:
    """Bring `condition` on lanes to the load's shape, where those lanes lie along `dim`."""
    shape = _shape(load.results[0])
    if len(_shape(condition)) == 1:
        for axis in range(len(shape)):
            if axis != dim:
                sizes = list(_shape(condition))
                sizes.insert(axis, 1)
                condition = build.op(
                    "tt.expand_dims",
                    [condition],
                    TensorType(tuple(sizes), "i1").text(),
                    {"axis": f"{axis} : i32"},
                )
    if _shape(condition) == shape:
        return condition
    return build.op("tt.broadcast", [condition], TensorType(shape, "i1").text())


def _add_masks(module: Module, build: Builder, load: Operation, masks: list[Value]) -> None:
    pointer, *rest = load.operands
    result = load.results[0]
    _, has_mask, has_other = list(load.attributes["operandSegmentSizes"])
    conditions = ([rest[0]] if has_mask else []) + masks
    mask = conditions[0]
    for condition in conditions[1:]:
        mask = build.andi(mask, condition)
    other = rest[-1] if has_other else build.zero(result.type)
    attributes = {name: load.attributes[name] for name in load.attributes}
    attributes["operandSegmentSizes"] = module.attribute("array<i32: 1, 1, 1>")
    module.replace(load, [build.op("tt.load", [pointer, mask, other], result.type, attributes)])


def _shape(value: Value) -> tuple[int, ...]:
    tensor = TensorType.of(value)
    return tensor.shape if tensor is not None else ()
