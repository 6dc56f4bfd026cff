"""Let the pipes of an AI Core wait for each other where tiles pass from one to another."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from flagc.ir.analysis.flag_plan import (
    BETWEEN_CORES,
    FlagPlan,
    Group,
    Pair,
    is_between_cores,
    plan,
)
from flagc.ir.analysis.pipe_dependencies import chain_of, must_be_ordered
from flagc.ir.analysis.tensor_axes import nested_ops
from flagc.ir.analysis.tile_accesses import (
    Access,
    TileAccess,
    accesses,
    addresses_of,
    block_of,
    buffers_of,
    home_of,
    is_allocation,
    is_shared,
    loops_around,
    nested_accesses,
)
from flagc.ir.module import Module, Operation, defining_op
from flagc.ir.regions import Block
from flagc.ir.staged.operations import core_of, core_of_pipe, create, staged_op
from flagc.passes.ascend.unit_flags import set_unit_flags
from flagc.pipeline.context import PassContext
from flagc.pipeline.passes import Pass, register

_RETURNS = ("tt.return", "func.return")


@register
@dataclass(frozen=True)
class InsertSync(Pass):
    """Order the pipes with flags, as few as the tiles' ways through the pipes need.

    Where a tile passes from one pipe to another, the one sets a flag after its last use and the
    other waits before its first. Before a buffer is used again, its first pipe waits for its last
    one: those flags are set for all buffers at the kernel's start, and waited for at its end, so
    that every flag that is set is waited for once, whichever way the kernel goes. Tiles that are
    used side by side share flags.

    There are 8 events for each ordered pair of pipes. Where they do not suffice, tiles share more,
    then rotate fewer buffers, and at last go without flags. What flags do not order (such tiles,
    tiles that a loop fills and reads though it did not allocate them, tiles at the same addresses,
    global memory that is written and read) gets barriers for all pipes of a core.

    A cube core and its vector cores have flags of their own kind, and no barrier: what is not
    ordered by them is an error. So are tiles that blocks share, without a `grid_barrier` between
    those who fill them and those who read them, and before they are filled again.

    With `unit_flag`, M and FIX take turns on accumulators by themselves, fractal by fractal, where
    it is known which product is the last before the store: FIX then begins before M is through.
    """

    name = "insert-sync"
    level = "staged"
    unit_flag: bool = False

    def run(self, module: Module, context: PassContext) -> None:
        """Insert flags and barriers into every function."""
        for op in module.walk():
            if str(op.name) in ("tt.call", "func.call"):
                context.error(op, "calls are not handled: what the callee does to tiles is open")
            if is_allocation(op) and addresses_of(op) is None:
                context.error(op, "the tile has no addresses yet: run plan-memory before")
        for function in module.functions():
            by_tile = _by_tile(function)
            taking_turns: set[Operation] = set()
            if self.unit_flag:
                taking_turns = set_unit_flags(module, context, by_tile)
                by_tile = _by_tile(function)
            shared = {tile for tile in by_tile if is_shared(tile)}
            for tile in shared:
                _require_grid_barriers(context, tile, by_tile[tile])
            chains = (
                chain_of(tile, found)
                for tile, found in by_tile.items()
                if tile not in taking_turns | shared
            )
            known = [chain for chain in chains if chain is not None]
            flags = plan(known, _reserved(function))
            _apply(module, context, flags)
            _insert_flags(module, flags.groups)
            for group in flags.groups:
                _prime(module, function, group)
            _order_fills(module, function)
            flagged = {tile for group in flags.groups for tile in group.tiles}
            flagged |= taking_turns | shared
            _require_order_of_cores(context, function, flagged)
            count = 0
            for core in ("AIC", "AIV"):
                barriers = _Barriers(module, core, flagged)
                barriers.insert(function)
                count += barriers.count
            context.statistic("flags", sum(len(group.hand_offs) for group in flags.groups))
            context.statistic("barriers", count)


def _by_tile(function: Operation) -> dict[Operation, list[TileAccess]]:
    found: dict[Operation, list[TileAccess]] = {}
    for access in nested_accesses(function):
        if isinstance(access, TileAccess):
            found.setdefault(access.allocation, []).append(access)
    return found


def _reserved(function: Operation) -> dict[Pair, set[int]]:
    """Return the events of flags that the program has already."""
    found: dict[Pair, set[int]] = {}
    for op in nested_ops(function):
        view = staged_op(op)
        if view is not None and view.name in ("cross_set", "cross_wait", "grid_barrier"):
            found.setdefault(BETWEEN_CORES, set()).add(view.integer("flag"))
        if view is None or view.name not in ("set_flag", "wait_flag"):
            continue
        made = defining_op(view.operand("tile")) if view.has("tile") else None
        slots = buffers_of(made) if made is not None and is_allocation(made) else 1
        first = view.integer("event")
        pair = (view.text("from"), view.text("to"))
        found.setdefault(pair, set()).update(range(first, first + slots))
    return found


def _apply(module: Module, context: PassContext, flags: FlagPlan) -> None:
    """Take buffers away where events do not suffice, and say so."""
    for tile, slots in flags.fewer.items():
        addresses = addresses_of(tile) or []
        text = (
            f"{len(addresses)} buffers need more events than a pair of pipes has; "
            f"{slots} are used: ask multi-buffer for fewer, or share tiles"
        )
        context.remark(tile, text)
        kept = ", ".join(map(str, addresses[:slots]))
        tile.attributes["buffers"] = module.integer(slots)
        tile.attributes["addresses"] = module.attribute(f"array<i64: {kept}>")
    for tile in flags.unflagged:
        context.remark(tile, "no events are left for this tile: barriers order its uses instead")


def _insert_flags(module: Module, groups: Iterable[Group]) -> None:
    # Positions are those before the first flag is inserted.
    found = [(group, [child.operation for child in group.block.operations]) for group in groups]
    for group, ops in found:
        for number, hand_off in enumerate(group.hand_offs):
            _flag(module, "set", group, number, after=ops[hand_off.last])
            _flag(module, "wait", group, number, before=ops[hand_off.first])


def _flag(
    module: Module,
    name: str,
    group: Group,
    number: int,
    *,
    before: Operation | None = None,
    after: Operation | None = None,
) -> None:
    crosses = is_between_cores(group.hand_offs[number])
    operands = {"tile": group.tiles[0].results[0]} if group.slots > 1 and not crosses else {}
    attributes = _attributes(module, group, number, 0)
    name = f"cross_{name}" if crosses else f"{name}_flag"
    create(module, name, operands, attributes, before=before, after=after)


def _attributes(module: Module, group: Group, number: int, slot: int) -> dict[str, Any]:
    hand_off = group.hand_offs[number]
    pipes = {"from": f'"{hand_off.source}"', "to": f'"{hand_off.target}"'}
    if is_between_cores(hand_off):
        return {**pipes, "flag": module.integer(group.events[number])}
    return {**pipes, "event": module.integer(group.events[number] + slot)}


def _prime(module: Module, function: Operation, group: Group) -> None:
    """Set the flags of a rotation at the function's start, and wait for them at its end."""
    blocks = list(function.regions[0].blocks)
    first = next(iter(blocks[0].operations)).operation
    ends = [list(block.operations)[-1].operation for block in blocks]
    returns = [op for op in ends if str(op.name) in _RETURNS]
    for number, hand_off in enumerate(group.hand_offs):
        if not hand_off.is_rotation:
            continue
        crosses = is_between_cores(hand_off)
        set_name, wait_name = ("cross_set", "cross_wait") if crosses else ("set_flag", "wait_flag")
        for slot in range(group.slots):
            attributes = _attributes(module, group, number, slot)
            create(module, set_name, {}, attributes, before=first)
            for end in returns:
                create(module, wait_name, {}, attributes, before=end)


def _order_fills(module: Module, function: Operation) -> None:
    """Let moves into a tile that was filled with zeros wait for that: both are MTE2's."""
    for op in nested_ops(function):
        view = staged_op(op)
        if view is None or view.name != "fill":
            continue
        users = (staged_op(use.owner.operation) for use in view.operand("tile").uses)
        if any(user is not None and user.name == "nd2nz" for user in users):
            create(module, "barrier", {}, {"pipe": '"MTE2"'}, after=op)


def _require_grid_barriers(
    context: PassContext, allocation: Operation, found: list[TileAccess]
) -> None:
    """Refuse a tile that blocks share where no barrier of the grid keeps its users apart."""
    home = home_of(found)
    if home is None:
        context.error(allocation, "blocks of the function share the users of this tile")
    ops = [child.operation for child in home.block.operations]
    users = dict(zip(home.numbers, home.statements, strict=True))
    runs_again = bool(loops_around(home.statements[0][0]))
    open_: set[str] = set()  # pipes that have used the tile since a barrier that waits for them
    for number in [*range(len(ops))] * (2 if runs_again else 1):
        for view in map(staged_op, nested_ops(ops[number])):
            if view is not None and view.name == "grid_barrier":
                open_.discard(view.text("from"))
        if number in users:
            open_ |= {access.pipe for access in users[number][1]}
        if len(open_) > 1:
            text = "blocks share this tile: a grid_barrier is to stand between writing and reading"
            context.error(users[number][1][0].op, text)


def _require_order_of_cores(
    context: PassContext, function: Operation, flagged: set[Operation]
) -> None:
    """Refuse what the two kinds of cores both touch and no flag orders."""
    cores: dict[str, set[Access]] = {"AIC": set(), "AIV": set()}
    for access in nested_accesses(function):
        cores[core_of_pipe(access.pipe)].add(access)
    for one in cores["AIC"]:
        for two in cores["AIV"]:
            if must_be_ordered(one, two) and not _is_flagged(one, two, flagged):
                text = (
                    "a vector core touches here what the cube core touches as well, and no flag "
                    "orders them: hand it over in a tile of gm"
                )
                context.error(two.op, text)


def _is_flagged(one: Access, two: Access, flagged: set[Operation]) -> bool:
    return (
        isinstance(one, TileAccess)
        and isinstance(two, TileAccess)
        and one.allocation == two.allocation
        and one.allocation in flagged
    )


class _Barriers:
    """Inserts `barrier ALL` where accesses of two pipes of a core are not ordered otherwise."""

    def __init__(self, module: Module, core: str, flagged: set[Operation]) -> None:
        self.count = 0
        self._module = module
        self._core = core
        self._flagged = flagged
        self._everything: list[Access] = []

    def insert(self, function: Operation) -> None:
        """Insert the barriers that `function` needs."""
        self._everything = self._nested(function)
        blocks = list(function.regions[0].blocks)
        for block in blocks:
            pending = self._block(block, set())
            if len(blocks) > 1 and pending:
                # Who comes next is open: branches may go anywhere.
                self._create(list(block.operations)[-1].operation)

    def _own(self, found: list[Access]) -> list[Access]:
        return [access for access in found if core_of_pipe(access.pipe) == self._core]

    def _nested(self, op: Operation) -> list[Access]:
        return self._own(nested_accesses(op))

    def _block(self, block: Block, pending: set[Access]) -> set[Access]:
        """Insert barriers; return the accesses since the last one, `pending` ones included."""
        for op in [child.operation for child in block.operations]:
            if op.regions:
                branch = self._branches if str(op.name) == "scf.if" else self._loop
                pending = branch(op, pending)
                continue
            if self._is_barrier(op):
                pending = set()
            found = set(self._own(accesses(op)))
            if self._conflict(pending, found):
                self._create(op)
                pending = set()
            pending = pending | found
        return pending

    def _branches(self, op: Operation, pending: set[Access]) -> set[Access]:
        blocks = [block for region in op.regions for block in region.blocks]
        ends = [self._block(block, pending) for block in blocks]
        if any(True for _ in loops_around(op)):
            ends = [self._closed(*branch) for branch in zip(blocks, ends, strict=True)]
        is_complete = len(ends) == len(op.regions)
        return set().union(*ends, set() if is_complete else pending)

    def _closed(self, block: Block, end: set[Access]) -> set[Access]:
        """End a branch whose own tiles are at odds with something else by a barrier.

        Those who come later would need one each time, also when the branch was not taken.
        """
        ops = [child.operation for child in block.operations]
        own: set[Access] = {
            access
            for op in ops
            for access in self._nested(op)
            if isinstance(access, TileAccess) and block_of(access.allocation) == block
        }
        outside = {access for access in self._everything if access not in own}
        if not self._conflict(own & end, outside):
            return end
        self._create(ops[-1])
        return set()

    def _loop(self, op: Operation, pending: set[Access]) -> set[Access]:
        inside = set(self._nested(op))
        if self._conflict(pending, inside):
            self._create(op)
            pending = set()
        blocks = [block for region in op.regions for block in region.blocks]
        end: set[Access] = set()
        for block in blocks:
            end = self._block(block, end)
        if self._conflict(end, self._exposed(blocks)):
            self._create(list(blocks[-1].operations)[-1].operation)
            end = set()
        # A while loop is left after its first block, whatever its last one did.
        return pending | (end if len(blocks) == 1 else inside)

    def _conflict(self, earlier: set[Access], later: set[Access]) -> bool:
        return any(
            must_be_ordered(one, two) and not _is_flagged(one, two, self._flagged)
            for one in earlier
            for two in later
        )

    def _create(self, before: Operation) -> None:
        attributes = {"pipe": '"ALL"'}
        if self._core == "AIV":
            attributes["core"] = '"AIV"'
        create(self._module, "barrier", {}, attributes, before=before)
        self.count += 1

    def _is_barrier(self, op: Operation) -> bool:
        view = staged_op(op)
        return (
            view is not None
            and view.name == "barrier"
            and view.text("pipe") == "ALL"
            and core_of(view) == self._core
        )

    def _exposed(self, blocks: Iterable[Block]) -> set[Access]:
        """Return the accesses that may come before the first barrier for all pipes."""
        found: set[Access] = set()
        for block in blocks:
            for child in block.operations:
                op = child.operation
                if self._is_barrier(op):
                    return found
                found |= set(self._own(accesses(op)))
                for region in op.regions:
                    found |= self._exposed(region.blocks)
        return found
