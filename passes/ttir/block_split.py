"""Whether and how the ops of a block can be cut along one axis, and into which loops.

The ops that work on the axis go into a loop over its chunks. A reduction along the axis ends a
loop: what uses its result runs after that loop, and values of the axis that are needed again are
computed again, in the next one. Each loop is a *phase*.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from flagc.ir.analysis.memory_effects import Access, accesses_of, may_conflict
from flagc.ir.analysis.tensor_axes import (
    SOURCES,
    Flaw,
    Key,
    TensorAxes,
    nested_ops,
)
from flagc.ir.module import Operation, defining_op
from flagc.mlir import ir

# Ops that can combine the chunks' results, with the number that changes nothing.
IDENTITIES: dict[str, float | str] = {
    "arith.addf": -0.0, "arith.mulf": 1.0,
    "arith.maxnumf": float("-inf"), "arith.maximumf": float("-inf"),
    "arith.minnumf": float("inf"), "arith.minimumf": float("inf"),
    "arith.addi": 0, "arith.muli": 1, "arith.andi": -1, "arith.ori": 0, "arith.xori": 0,
    "arith.maxui": 0, "arith.minui": -1, "arith.maxsi": "smallest", "arith.minsi": "largest",
}  # fmt: skip
# Of these the order of the chunks shows in the last bits.
ROUNDED = frozenset({"arith.addf", "arith.mulf"})


@dataclass(frozen=True)
class BlockSplit:
    """How to cut a block along `axis`.

    Attributes:
        block: the block whose ops are cut.
        outside: ops that stay as they are, in the order they have to run, by phase.
        loops: ops of the loop of each phase, in order; [] for a phase without one.
        sums: the reductions that each loop finishes.
    """

    axis: Key
    block: ir.Block
    outside: list[list[Operation]]
    loops: list[list[Operation]]
    sums: list[list[Operation]]

    @property
    def reorders_sums(self) -> bool:
        """Whether floating-point sums are added in another order."""
        return any(combiner(op).name in ROUNDED for group in self.sums for op in group)  # type: ignore[union-attr]

    @property
    def has_sums(self) -> bool:
        """Whether something is reduced along the axis."""
        return any(self.sums)


def combiner(reduce: Operation) -> Operation | None:
    """Return the op that combines two elements if it is one of `IDENTITIES`, else None."""
    block = reduce.regions[0].blocks[0]
    ops = [op.operation for op in block.operations]
    if len(ops) != 2 or ops[0].name not in IDENTITIES:
        return None
    arguments, operands = list(block.arguments), list(ops[0].operands)
    same = operands in (arguments, arguments[::-1])
    return ops[0] if same and ops[1].operands[0] == ops[0].results[0] else None


def touches(axes: TensorAxes, op: Operation, axis: Key) -> bool:
    """Return whether `op` itself has an operand or a result with a dimension on `axis`."""
    if any(axes.dimension(op, i, axis) is not None for i in range(len(op.operands))):
        return True
    results = () if op.name in SOURCES else op.results
    return any(axes.result_dimension(result, axis) is not None for result in results)


def plan_split(axes: TensorAxes, axis: Key) -> BlockSplit | Flaw:
    """Return how to cut along `axis`, or what forbids it."""
    if axis in axes.flaws:
        return axes.flaws[axis]
    touching = {op for op in axes.ops if touches(axes, op, axis)}
    block = _common_block(touching)
    if block is None:
        some = next(iter(axes.ops))
        return Flaw(some, "its ops are in blocks of which none encloses the others")
    planner = _Planner(axes, axis, touching, block)
    flaw = planner.place() or planner.collect()
    if flaw is not None:
        return flaw
    return BlockSplit(axis, block, planner.outside, planner.loops, planner.sums)


def _common_block(ops: set[Operation]) -> ir.Block | None:
    """Return the innermost block that holds all of `ops`, directly or nested."""
    common: list[ir.Block] | None = None
    for op in ops:
        chain = list(_blocks_around(op))
        common = chain if common is None else [block for block in common if block in chain]
    return common[0] if common else None


def _blocks_around(op: Operation) -> Iterator[ir.Block]:
    while op.name not in ("tt.func", "builtin.module"):
        yield op.block
        op = op.block.owner.operation if hasattr(op.block.owner, "operation") else op.block.owner


@dataclass
class _Planner:
    axes: TensorAxes
    axis: Key
    touching: set[Operation]
    block: ir.Block
    phases: dict[Operation, int] = field(default_factory=dict)
    inside: set[Operation] = field(default_factory=set)
    finished: set[Operation] = field(default_factory=set)
    accesses: dict[Operation, list[Access]] = field(default_factory=dict)
    outside: list[list[Operation]] = field(default_factory=list)
    loops: list[list[Operation]] = field(default_factory=list)
    sums: list[list[Operation]] = field(default_factory=list)

    def place(self) -> Flaw | None:
        """Give every op of the block its phase, and tell which ones go into loops."""
        self.finished = set(self.axes.reductions.get(self.axis, []))
        units = [op.operation for op in self.block.operations]
        for op in self.finished:
            if op not in units:
                return Flaw(op, "it is reduced within a loop")
            if combiner(op) is None:
                return Flaw(op, "it is reduced by more than one simple op")
        for unit in units:
            flaw = self._place(unit)
            if flaw is not None:
                return flaw
        last = units[-1]
        if last in self.inside:
            return Flaw(last, "the enclosing op passes on what was computed along it")
        del self.phases[last]
        return None

    def collect(self) -> Flaw | None:
        """Fill in the loops' ops: what ends in the phase, and all that leads there."""
        for phase in range(max(self.phases.values(), default=0) + 1):
            members = [op for op, number in self.phases.items() if number == phase]
            self.outside.append([op for op in members if op not in self.inside])
            ends = [op for op in members if op in self.inside and self._ends_phase(op)]
            self.sums.append([op for op in ends if op in self.finished])
            needed = self._leading_to(ends)
            self.loops.append([op for op in self.phases if op in needed])
            flaw = self._repeated(phase)
            if flaw is not None:
                return flaw
        return None

    def _place(self, unit: Operation) -> Flaw | None:
        nested = list(nested_ops(unit))
        definers = self._definers(unit)
        if any(op in self.touching for op in nested) or any(
            op in self.inside and op not in self.finished for op in definers
        ):
            self.inside.add(unit)
        self.accesses[unit] = [access for op in nested for access in accesses_of(op)]
        if unit in self.inside:
            for access in self.accesses[unit]:
                along = self.axes.dimension(access.op, 0, self.axis) if access.op.operands else None
                if access.writes and along is None:
                    return Flaw(access.op, "it would be repeated for each chunk")
        after = [self.phases[op] + (op in self.finished) for op in definers]
        for earlier, phase in self.phases.items():
            gap = self._gap(earlier, unit)
            if isinstance(gap, Flaw):
                return gap
            after += [] if gap is None else [phase + gap]
        self.phases[unit] = max(after, default=0)
        return None

    def _definers(self, unit: Operation) -> set[Operation]:
        """Return the ops of the block whose results `unit` uses."""
        found = set()
        for op in nested_ops(unit):
            for value in op.operands:
                definer = defining_op(value)
                if definer is not None and definer in self.phases:
                    found.add(definer)
        return found

    def _gap(self, earlier: Operation, later: Operation) -> int | Flaw | None:
        """Return how many phases `later` must be after `earlier`, None for no constraint."""
        if not self.accesses[earlier] or not self.accesses[later]:
            return None
        gap: int | None = None
        for first in self.accesses[earlier]:
            for second in self.accesses[later]:
                if not may_conflict(first, second):
                    continue
                lanes = first.op == earlier and second.op == later
                lanes = lanes and first.pointer is not None and first.pointer == second.pointer
                both = earlier in self.inside and later in self.inside
                if both and not lanes and not (first.writes and second.writes):
                    return Flaw(second.op, "memory is read and written there at several places")
                if both and lanes and first.writes and not second.writes:
                    return Flaw(second.op, "memory is read there after it was written")
                needs_loop_end = earlier in self.inside and not (both and lanes)
                gap = max(gap or 0, int(needs_loop_end))
        return gap

    def _ends_phase(self, op: Operation) -> bool:
        return op in self.finished or any(access.writes for access in self.accesses[op])

    def _leading_to(self, ends: list[Operation]) -> set[Operation]:
        needed: set[Operation] = set()
        pending = list(ends)
        while pending:
            op = pending.pop()
            if op in needed:
                continue
            needed.add(op)
            pending += [
                definer
                for definer in self._definers(op)
                if definer in self.inside and definer not in self.finished
            ]
        return needed

    def _repeated(self, phase: int) -> Flaw | None:
        """Check that computing again in this phase reads and writes what it did before."""
        written = [
            (op, access)
            for op, number in self.phases.items()
            if number < phase or op not in self.inside
            for access in self.accesses[op]
            if access.writes
        ]
        for op in self.loops[phase]:
            for access in self.accesses[op]:
                if access.writes and self.phases[op] < phase:
                    return Flaw(access.op, "it would be repeated in a later loop")
                for writer, write in written:
                    again = self.phases[writer] >= self.phases[op]
                    if not access.writes and again and may_conflict(access, write):
                        return Flaw(access.op, "what it reads is overwritten before the last use")
        return None
