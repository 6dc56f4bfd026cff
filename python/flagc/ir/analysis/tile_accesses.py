"""Which tiles of on-chip memories, and which global memory, the ops of the dialect `staged` touch.

accesses(op)            # what one op touches
home_of(accesses)       # the innermost block that holds all of a tile's accesses
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from flagc.ir.analysis import memory_effects
from flagc.ir.analysis.tensor_axes import nested_ops
from flagc.ir.module import Operation, Value, defining_op
from flagc.ir.regions import Block
from flagc.ir.staged.operations import PREFIX, staged_op
from flagc.ir.staged.tiles import TileType

_ALLOCATION = PREFIX + "alloc"
# The pipe of ops that the scalar unit runs itself.
_SCALAR = "S"
LOOPS = ("scf.for", "scf.while")
_STORES = ("fixpipe", "store_ub")


@dataclass(frozen=True)
class TileAccess:
    """An instruction's access to a tile. Equal ones may be of several instructions.

    Attributes:
        op: the op that makes the instruction.
        pipe: the pipe that runs it.
        writes: whether it changes the tile.
        allocation: the `staged.alloc` of the tile.
        is_certain: whether no other tile can be meant (tiles that loops carry may be several).
    """

    op: Operation = field(compare=False)
    pipe: str
    writes: bool
    allocation: Operation
    is_certain: bool = True


@dataclass(frozen=True)
class GlobalAccess:
    """An instruction's access to global memory; `base` is the kernel's argument, if known."""

    op: Operation = field(compare=False)
    pipe: str
    writes: bool
    base: Value | None


Access = TileAccess | GlobalAccess


def is_allocation(op: Operation) -> bool:
    """Return whether `op` makes a tile."""
    return str(op.name) == _ALLOCATION


def accesses(op: Operation) -> list[Access]:
    """Return what the instruction that `op` stands for touches, ops inside of `op` left out."""
    view = staged_op(op)
    if view is None:
        return [
            GlobalAccess(op, _SCALAR, access.writes, access.base)
            for access in memory_effects.accesses_of(op)
            if access.pointer is not None
        ]
    if view.pipe is None:
        return []
    found: list[Access] = []
    for tile, use in view.tiles():
        owners = allocations_of(tile)
        is_certain = len(owners) == 1 and defining_op(tile) == owners[0]
        for owner in owners:
            found.append(TileAccess(op, view.pipe, use.effect != "read", owner, is_certain))
    if "base" in view.definition.operands:
        base = memory_effects.base_of(view.operand("base"))
        found.append(GlobalAccess(op, view.pipe, view.name in _STORES, base))
    return found


def nested_accesses(op: Operation) -> list[Access]:
    """Return what `op` and the ops inside of it touch, in program order."""
    return [access for inner in nested_ops(op) for access in accesses(inner)]


def allocations_of(tile: Value) -> list[Operation]:
    """Return the allocations that `tile` may come from; loops and branches may carry tiles."""
    found: list[Operation] = []
    pending, seen = [tile], set()
    while pending:
        value = pending.pop()
        if value in seen:
            continue
        seen.add(value)
        op = defining_op(value)
        if op is not None and is_allocation(op):
            if op not in found:
                found.append(op)
        else:
            pending += _sources(value, op)
    return found


def _sources(value: Value, op: Operation | None) -> list[Value]:
    """Return what else a value may be: of its type, whatever goes into the op that gives it."""
    kind = str(value.type)
    owner = op if op is not None else value.owner.owner.operation
    values = list(owner.operands)
    for region in owner.regions:
        for block in region.blocks:
            values += list(list(block.operations)[-1].operation.operands)
            for use in (use for argument in block.arguments for use in argument.uses):
                if _is_branch(use.owner.operation):
                    values += list(use.owner.operation.operands)
    return [other for other in values if str(other.type) == kind]


def _is_branch(op: Operation) -> bool:
    return str(op.name).startswith("cf.")


def tile_of(allocation: Operation) -> TileType:
    """Return the type of the tile that `allocation` makes."""
    tile = TileType.of(allocation.results[0])
    assert tile is not None  # the dialect's verifier has seen it
    return tile


def buffers_of(allocation: Operation) -> int:
    """Return how many buffers rotate."""
    view = staged_op(allocation)
    assert view is not None
    return view.integer("buffers", 1)


def is_shared(allocation: Operation) -> bool:
    """Return whether all blocks of the launch share the tile."""
    view = staged_op(allocation)
    assert view is not None
    return view.flag("shared")


def addresses_of(allocation: Operation) -> list[int] | None:
    """Return the address of each buffer; None before `plan-memory`."""
    if "addresses" not in allocation.attributes:
        return None
    return [int(entry) for entry in allocation.attributes["addresses"]]


def may_overlap(first: Operation, second: Operation) -> bool:
    """Return whether two allocations share bytes; without addresses they do not."""
    one, other = tile_of(first), tile_of(second)
    if one.memory != other.memory:
        return False
    starts, others = addresses_of(first) or [], addresses_of(second) or []
    return any(
        start < another + other.bytes and another < start + one.bytes
        for start in starts
        for another in others
    )


def block_of(op: Operation) -> Block:
    """Return the block that `op` lies in."""
    for region in op.parent.operation.regions:
        for block in region.blocks:
            if any(child.operation == op for child in block.operations):
                return block
    raise AssertionError("an op lies in its parent")


def enclosing(op: Operation) -> Iterator[Operation]:
    """Yield `op` and the ops that it lies in, from the inside out, up to the function."""
    current: Operation | None = op
    while current is not None and current.parent is not None:
        yield current
        current = current.parent.operation


def loops_around(op: Operation) -> list[Operation]:
    """Return the loops that `op` lies in, from the inside out."""
    found = list(enclosing(op))[1:]
    return [owner for owner in found if str(owner.name) in LOOPS]


@dataclass(frozen=True)
class Home:
    """The innermost block that holds all accesses to a tile.

    Attributes:
        block: the block.
        statements: the ops of the block in which accesses lie, in order, with those accesses.
        numbers: the position of each of them in the block.
    """

    block: Block
    statements: tuple[tuple[Operation, tuple[TileAccess, ...]], ...]
    numbers: tuple[int, ...]


def home_of(found: Iterable[TileAccess]) -> Home | None:
    """Return the home of a tile with these accesses; None when blocks of a function share them."""
    by_op = list(found)
    paths = [list(enclosing(access.op))[::-1] for access in by_op]
    depth = 0
    while all(len(path) > depth + 1 for path in paths) and len({p[depth] for p in paths}) == 1:
        depth += 1
    statements = [path[depth] for path in paths]
    block = block_of(statements[0])
    order = [child.operation for child in block.operations]
    if any(statement not in order for statement in statements):
        return None
    numbers = sorted({order.index(statement) for statement in statements})
    grouped = tuple(
        (
            order[number],
            tuple(a for a, s in zip(by_op, statements, strict=True) if s == order[number]),
        )
        for number in numbers
    )
    return Home(block, grouped, tuple(numbers))
