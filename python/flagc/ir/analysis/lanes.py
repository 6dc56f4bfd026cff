"""Follow lanes of a tensor forward: which values may differ there, and can anyone see it?

A source is a tensor in which only some positions along one dimension may change. `LaneFlow` finds
every value that may change in consequence, and along which dimensions; what it cannot follow is
reported as an obstacle:

    flow = LaneFlow(source, dim)      # e.g. the row offsets, dimension 0
    flow.dims[value]                  # {0}: changed in the rows concerned
    flow.loads                        # loads whose addresses change
    flow.stores                       # stores whose addresses, values or masks change
    flow.obstacle                     # None, or (op, why)

A row that changes in the left operand of a `tt.dot` changes the same row of the product and no
other; along the contracted dimension it changes everything, which is an obstacle.
"""

from __future__ import annotations

from collections.abc import Iterable

from flagc.ir.module import Operation, Value, defining_op

Obstacle = tuple[Operation, str]

_DIVISIONS = frozenset(
    {"arith.divsi", "arith.divui", "arith.remsi", "arith.remui", "arith.ceildivsi",
     "arith.ceildivui", "arith.floordivsi"}
)  # fmt: skip
_ELEMENTWISE_OPS = frozenset(
    {"tt.addptr", "tt.bitcast", "tt.clampf", "tt.fp_to_fp", "tt.int_to_ptr", "tt.mulhiui",
     "tt.precise_divf", "tt.precise_sqrt", "tt.ptr_to_int"}
)  # fmt: skip


class LaneFlow:
    """What changes when lanes along dimension `dim` of `source` change."""

    def __init__(self, source: Value, dim: int) -> None:
        self.dims: dict[Value, frozenset[int]] = {}
        self.loads: list[Operation] = []
        self.stores: list[Operation] = []
        self.dots: list[Operation] = []
        self.obstacle: Obstacle | None = None
        self._source = source
        self._pending: list[Value] = []
        self._mark(source, {dim})
        while self._pending:
            value = self._pending.pop()
            for use in list(value.uses):
                self._follow(value, use.owner.operation, use.operand_number)

    def _mark(self, value: Value, dims: Iterable[int]) -> None:
        known = self.dims.get(value, frozenset())
        more = known | frozenset(dims)
        if more != known:
            self.dims[value] = more
            self._pending.append(value)

    def _stop(self, op: Operation, why: str) -> None:
        """Remember the first obstacle; what lies behind is not followed."""
        self.obstacle = self.obstacle or (op, why)

    def _follow(self, value: Value, op: Operation, number: int) -> None:
        """Mark what `op` makes of `value`, its operand `number`."""
        dims = self.dims[value]
        if op.name in _DIVISIONS and number == 1:
            self._stop(op, "the lanes divide something here")
        elif op.name in _ELEMENTWISE_OPS or op.name.startswith(("arith.", "math.")):
            for result in op.results:
                self._mark(result, dims)
        elif op.name == "tt.expand_dims":
            axis = int(op.attributes["axis"].value)
            self._mark(op.results[0], (dim + (axis <= dim) for dim in dims))
        elif op.name == "tt.broadcast":
            self._mark(op.results[0], dims)
        elif op.name == "tt.trans":
            order = list(op.attributes["order"])
            self._mark(op.results[0], (order.index(dim) for dim in dims))
        elif op.name == "tt.dot":
            self._follow_dot(op, dims, number)
        elif op.name == "tt.reduce":
            self._follow_reduce(op, dims)
        elif op.name in ("tt.load", "tt.store"):
            self._follow_access(op, dims, number)
        elif op.name in ("scf.for", "scf.yield"):
            self._follow_control(op, dims, number)
        else:
            self._stop(op, "lanes cannot be followed through this op")

    def _follow_dot(self, op: Operation, dims: frozenset[int], number: int) -> None:
        rank = op.results[0].type.rank
        contracted = {0: rank - 1, 1: rank - 2}.get(number)
        if contracted in dims:
            self._stop(op, "the lanes are summed up here")
            return
        _add(self.dots, op)
        self._mark(op.results[0], dims)

    def _follow_reduce(self, op: Operation, dims: frozenset[int]) -> None:
        axis = int(op.attributes["axis"].value)
        if axis in dims:
            self._stop(op, "the lanes are reduced to one value here")
            return
        for result in op.results:
            self._mark(result, (dim - (axis < dim) for dim in dims))

    def _follow_access(self, op: Operation, dims: frozenset[int], number: int) -> None:
        """Loads: pointer, mask?, other?. Stores: pointer, value, mask?."""
        if op.name == "tt.store":
            _add(self.stores, op)
            return
        if number == 1 and list(op.attributes["operandSegmentSizes"])[1] == 1:
            self._stop(op, "the lanes decide here what is loaded")
            return
        if number == 0:
            _add(self.loads, op)
        self._mark(op.results[0], dims)

    def _follow_control(self, op: Operation, dims: frozenset[int], number: int) -> None:
        """Values enter a loop as its initial values and come around by `scf.yield`."""
        owner = op if op.name == "scf.for" else op.parent.operation
        index = number - 3 if op.name == "scf.for" else number
        if owner.name not in ("scf.for", "scf.if") or index < 0:
            self._stop(op, "lanes cannot be followed through this op")
            return
        if self._is_source_inside(owner):
            # What holds of the lanes inside (which iteration's they are) is not known outside.
            self._stop(op, "the lanes leave the loop or branch here in which they were computed")
            return
        if owner.name == "scf.for":
            # Argument 0 is the counter.
            self._mark(owner.regions[0].blocks[0].arguments[index + 1], dims)
        self._mark(owner.results[index], dims)

    def _is_source_inside(self, owner: Operation) -> bool:
        op = defining_op(self._source)
        while op is not None:
            if op == owner:
                return True
            op = op.parent.operation if op.parent is not None else None
        return False


def _add(ops: list[Operation], op: Operation) -> None:
    if op not in ops:
        ops.append(op)
