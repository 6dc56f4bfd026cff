"""What of a staged kernel the cube cores do for a tile, and what its vector cores."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from flagc.ir.analysis.program_ids import of_a_tile
from flagc.ir.analysis.signs import integer_constant
from flagc.ir.analysis.tensor_axes import Flaw, nested_ops
from flagc.ir.analysis.tile_accesses import addresses_of, is_allocation, tile_of
from flagc.ir.dead_code import is_pure
from flagc.ir.module import Operation, Value, defining_op
from flagc.ir.staged.operations import StagedOp, core_of, staged_op
from flagc.passes.ascend.persistent_blocks import obstacle

__all__ = ["Flaw", "TileWork", "staged_ops", "tile_work"]

_QUESTIONS = ("staged.sub_block", "staged.grid_size")
_NO_VECTORS = "sums are to be on the vector cores: stage-epilogue{always=true}"
_RUN_EARLIER = "run it before {}: staged@before(pack-k):split-k-on-cores"


@dataclass(frozen=True)
class TileWork:
    """The ops of a kernel's one block, by who runs them. All lists are in program order.

    Attributes:
        ids: those that give program ids.
        scalars: computations that both kinds of cores may need, of those that depend on the ids.
        handed: allocations of the tiles of gm by which sums are handed over.
        cube: what cube cores run; none needs what vector cores compute.
        vector: what vector cores run; of what cube cores compute they need the tiles `handed`.
        loop: the K loop, one of `cube`.
        end: the return.
    """

    ids: tuple[Operation, ...]
    scalars: tuple[Operation, ...]
    handed: tuple[Operation, ...]
    cube: tuple[Operation, ...]
    vector: tuple[Operation, ...]
    loop: Operation
    end: Operation

    @property
    def ops(self) -> list[Operation]:
        """All of them that are of a tile; users come after what they use."""
        return [*self.ids, *self.scalars, *self.handed, *self.cube, *self.vector]


def staged_ops(ops: Iterable[Operation], name: str) -> list[StagedOp]:
    """Return the ops `staged.<name>` among `ops` and inside of them."""
    views = (staged_op(inner) for op in ops for inner in nested_ops(op))
    return [view for view in views if view is not None and view.name == name]


def tile_work(function: Operation) -> TileWork | Flaw:
    """Return who does what for a tile, or why it cannot be told apart or its K loop not be cut."""
    found = obstacle(function)
    if found is not None:
        return Flaw(*found)
    ops = [child.operation for child in function.regions[0].blocks[0].operations]
    lists: dict[str, list[Operation]] = {
        key: [] for key in ("ids", "scalars", "handed", "AIC", "AIV")
    }
    for op in ops[:-1]:
        kind = _kind(op)
        if isinstance(kind, Flaw):
            return kind
        lists[kind].append(op)
    inside = set(of_a_tile(ops, lists["ids"]))
    lists["scalars"] = [op for op in lists["scalars"] if op in inside]
    loops = [op for op in lists["AIC"] if op.name == "scf.for"]
    if len(loops) != 1 or not staged_ops(loops, "mad"):
        return Flaw(function, f"it has {len(loops)} loops with products at its top level")
    if not staged_ops(lists["AIC"], "spill"):
        return Flaw(function, _NO_VECTORS)
    ids, scalars, handed, cube, vector = map(tuple, lists.values())
    work = TileWork(ids, scalars, handed, cube, vector, loops[0], ops[-1])
    return _loop_flaw(work) or _order_flaw(work) or work


def _kind(op: Operation) -> str | Flaw:
    """Return the list of `TileWork` that an op belongs to."""
    if op.name == "tt.get_program_id":
        return "ids"
    if is_pure(op) or op.name in _QUESTIONS:
        return "scalars"
    if is_allocation(op) and tile_of(op).memory == "gm":
        if addresses_of(op) is not None:
            return Flaw(op, _RUN_EARLIER.format("plan-memory"))
        return "handed"
    cores = set()
    for inner in nested_ops(op):
        view = staged_op(inner)
        if view is not None and view.name in ("set_flag", "wait_flag", "cross_set", "cross_wait"):
            return Flaw(inner, _RUN_EARLIER.format("insert-sync"))
        if view is not None and view.name in ("fixpipe", "read_accumulator"):
            return Flaw(inner, _NO_VECTORS)
        if is_allocation(inner):
            cores.add("AIV" if tile_of(inner).memory == "ub" else "AIC")
        elif view is not None and (core := core_of(view)) is not None:
            cores.add(core)
    if len(cores) != 1:
        return Flaw(op, "what cube and vector cores do here cannot be told apart")
    return cores.pop()


def _loop_flaw(work: TileWork) -> Flaw | None:
    """Say why parts of the K loop cannot be run by themselves."""
    loop = work.loop
    if str(loop.operands[0].type) != "i32":
        return Flaw(loop, "its counter is no i32")
    for start, result in zip(list(loop.operands)[3:], loop.results, strict=True):
        # All that it carries is whether anything has been added.
        if str(result.type) != "i1" or not _is_true(start):
            return Flaw(loop, "it carries more than sums, or they do not begin at zero")
    branches = [op for op in work.cube if op.name == "scf.if"]
    for branch in branches:
        if branch.operands[0] not in list(loop.results) or branch.results:
            return Flaw(branch, "it is open who needs this branch")
    allowed = [op for top in (loop, *branches) for op in nested_ops(top)]
    for view in staged_ops(work.cube, "mad"):
        if view.op not in allowed:
            return Flaw(view.op, "the product has terms outside of the K loop")
    for view in staged_ops(work.cube, "spill"):
        if view.op not in work.cube:
            return Flaw(view.op, "the sum is handed over in a loop or branch")
    return _proof_flaw(work, branches)


def _proof_flaw(work: TileWork, branches: list[Operation]) -> Flaw | None:
    """Refuse a sum that nobody makes zero, because one certain iteration adds to it.

    Where any iteration adds to it, any part of the loop does.
    """
    loop = work.loop
    end = list(loop.regions[0].blocks[0].operations)[-1].operation
    checked = [branch.operands[0] for branch in branches]
    for result, value in zip(loop.results, end.operands, strict=True):
        if result not in checked and not _is_false(value):
            return Flaw(loop, "not every iteration is known to add something")
    return None


def _order_flaw(work: TileWork) -> Flaw | None:
    """Refuse what needs results of the other kind of core, other than tiles in gm."""
    of_cube = {value for op in work.cube for value in op.results}
    of_vector = {value for op in work.vector for value in op.results}
    for ops, others in (
        (work.scalars, of_cube | of_vector),
        (work.cube, of_vector),
        (work.vector, of_cube),
    ):
        for op in ops:
            for inner in nested_ops(op):
                if any(value in others for value in inner.operands):
                    return Flaw(inner, "it needs what another kind of core computes")
    return None


def _is_true(value: Value) -> bool:
    return _boolean(value) is True


def _is_false(value: Value) -> bool:
    return _boolean(value) is False


def _boolean(value: Value) -> bool | None:
    op = defining_op(value)
    if op is None or op.name != "arith.constant":
        return None
    return bool(integer_constant(value))
