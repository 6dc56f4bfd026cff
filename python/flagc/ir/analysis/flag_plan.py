"""Which flags and events the hand-offs of a function's tiles use.

Tiles that are used side by side (A and B of a product) share flags. There are 8 events for each
ordered pair of pipes; `plan` says what was given up where they do not suffice.

Flags between the kinds of cores count, so that one stands for all buffers of a tile.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from flagc.ir.analysis.pipe_dependencies import Chain, HandOff
from flagc.ir.analysis.tile_accesses import block_of, loops_around, nested_accesses
from flagc.ir.module import Operation
from flagc.ir.regions import Block
from flagc.ir.staged.operations import CROSS_FLAGS, EVENTS, core_of_pipe

Pair = tuple[str, str]
# All pairs of pipes of different cores have these flags in common.
BETWEEN_CORES: Pair = ("AIC", "AIV")


@dataclass(frozen=True)
class Group:
    """Tiles that share flags.

    Attributes:
        chains: the tiles, all with one home block and as many slots.
        block: that home block.
        slots: how many buffers rotate.
        hand_offs: from the last use of any of the tiles to the first use of any.
        events: the first event of each hand-off; `slots` of them follow each other, but for a
            hand-off from core to core, which has one flag.
    """

    chains: tuple[Chain, ...]
    block: Block
    slots: int
    hand_offs: tuple[HandOff, ...]
    events: tuple[int, ...] = ()

    @property
    def tiles(self) -> list[Operation]:
        """The allocations of the tiles."""
        return [chain.allocation for chain in self.chains]


@dataclass
class FlagPlan:
    """What to do.

    Attributes:
        groups: tiles with flags.
        unflagged: tiles for which no events were left.
        fewer: tiles that rotate fewer buffers than they have, and how many.
    """

    groups: list[Group] = field(default_factory=list)
    unflagged: list[Operation] = field(default_factory=list)
    fewer: dict[Operation, int] = field(default_factory=dict)


def plan(chains: Sequence[Chain], reserved: dict[Pair, set[int]]) -> FlagPlan:
    """Return the flags for `chains`; `reserved` holds events that are in use already."""
    wanted = [chain for chain in chains if chain.hand_offs]
    groups = _grouped(wanted, _is_side_by_side)
    result = FlagPlan()
    placed = _placed(groups, reserved)
    if isinstance(placed, tuple):
        groups = _grouped(wanted, lambda *_: True)
        placed = _placed(groups, reserved)
    while isinstance(placed, tuple):
        users = [group for group in groups if placed in _pairs(group)]
        deepest = max(users, key=lambda group: group.slots)
        if deepest.slots > 1:
            fewer = replace(deepest, slots=deepest.slots - 1)
            groups[groups.index(deepest)] = fewer
            result.fewer.update(dict.fromkeys(fewer.tiles, fewer.slots))
        else:
            # Barriers cost least where they are executed least.
            rarest = min(users, key=lambda group: len(loops_around(group.tiles[0])))
            groups.remove(rarest)
            result.unflagged += rarest.tiles
        placed = _placed(groups, reserved)
    result.groups = placed
    return result


def is_between_cores(hand_off: HandOff) -> bool:
    """Return whether a cube core hands a tile to its vector cores, or they hand it back."""
    return core_of_pipe(hand_off.source) != core_of_pipe(hand_off.target)


def _pairs(group: Group) -> list[Pair]:
    return [
        BETWEEN_CORES if is_between_cores(hand_off) else (hand_off.source, hand_off.target)
        for hand_off in group.hand_offs
    ]


def _placed(groups: list[Group], reserved: dict[Pair, set[int]]) -> list[Group] | Pair:
    """Return the groups with their events, or a pair of pipes that has too few."""
    used = {pair: set(events) for pair, events in reserved.items()}
    result = []
    for group in groups:
        events = []
        for pair in _pairs(group):
            taken = used.setdefault(pair, set())
            count, most = (1, CROSS_FLAGS) if pair == BETWEEN_CORES else (group.slots, EVENTS)
            starts = range(most - count + 1)
            free = (first for first in starts if not taken & set(range(first, first + count)))
            first = next(free, None)
            if first is None:
                return pair
            taken.update(range(first, first + count))
            events.append(first)
        result.append(replace(group, events=tuple(events)))
    return result


def _grouped(
    chains: Sequence[Chain], may_join: Callable[[Block, HandOff, HandOff], bool]
) -> list[Group]:
    groups: list[Group] = []
    for chain in chains:
        alone = Group((chain,), chain.block, chain.slots, chain.hand_offs)
        for number, group in enumerate(groups):
            joined = _joined(group, alone, may_join)
            if joined is not None:
                groups[number] = joined
                break
        else:
            groups.append(alone)
    return groups


def _joined(
    group: Group, other: Group, may_join: Callable[[Block, HandOff, HandOff], bool]
) -> Group | None:
    """Return both groups as one, if the flags of one can stand for those of the other."""
    if group.block != other.block or group.slots != other.slots or _pairs(group) != _pairs(other):
        return None
    first, second = group.tiles[0], other.tiles[0]
    if group.slots > 1 and block_of(first) != block_of(second):
        return None
    hand_offs = []
    for one, two in zip(group.hand_offs, other.hand_offs, strict=True):
        if one.is_rotation != two.is_rotation or not may_join(group.block, one, two):
            return None
        both = replace(one, last=max(one.last, two.last), first=min(one.first, two.first))
        if not both.is_rotation and both.last >= both.first:
            return None
        hand_offs.append(both)
    return Group((*group.chains, *other.chains), group.block, group.slots, tuple(hand_offs))


def _is_side_by_side(block: Block, one: HandOff, two: HandOff) -> bool:
    """Return whether sharing a flag delays nobody: only the waiting (setting) pipe is between."""
    ops = [child.operation for child in block.operations]
    between = (
        (one.target, min(one.first, two.first), max(one.first, two.first)),
        (one.source, min(one.last, two.last), max(one.last, two.last)),
    )
    return all(
        access.pipe == pipe
        for pipe, start, end in between
        for op in ops[start:end]
        for access in nested_accesses(op)
    )
