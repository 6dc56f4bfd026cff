"""Move several iterations' tiles of a K loop to L1 at once: long rows, few large packets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from flagc.ir.analysis.index_values import IndexValues
from flagc.ir.analysis.memory_effects import accesses_of
from flagc.ir.analysis.packable_moves import Move, Unpackable, moves_of
from flagc.ir.analysis.packing import choose_steps
from flagc.ir.analysis.signs import integer_constant
from flagc.ir.analysis.tensor_axes import nested_ops
from flagc.ir.builder import Builder
from flagc.ir.dead_code import erase_unused
from flagc.ir.formula_ops import convert
from flagc.ir.module import Module, Operation, Value
from flagc.ir.regions import append, copy_before
from flagc.ir.staged.operations import create, staged_op
from flagc.pipeline.context import PassContext
from flagc.pipeline.passes import Pass, register


@register
@dataclass(frozen=True)
class PackK(Pass):
    """Cut K loops into packs: L1 gets the tiles of `steps` iterations by one move.

    for k in range(0, K, 4 * 64):                       # steps = 4
        nd2nz(a + k, min(K - k, 256) columns)           # one move of A, one of B
        for j in range(k, min(k + 4 * 64, K), 64):
            load_l0a(column j - k), ...                 # as before, from its part of the tile

    Global memory is read in long rows and large packets then. A packs by `steps_a`, B by `steps_b`
    iterations (loops nest where these differ); they default to `steps`. 0 chooses: as many as pay
    off most and as L1 holds twice.

    A move can be packed when each iteration's tile follows the one before in memory, the tile is
    only loaded to L0A or L0B by the loop, and the loop writes no global memory. Others stay.
    """

    name = "pack-k"
    level = "staged"
    steps: int = 0
    steps_a: int = 0
    steps_b: int = 0

    def run(self, module: Module, context: PassContext) -> None:
        """Pack the moves of every loop that has some."""
        if min(self.steps, self.steps_a, self.steps_b) < 0:
            context.error(None, "steps must not be negative")
        loops = [op for op in module.walk("scf.for") if _has_moves(op)]
        for loop in loops:
            values = IndexValues()
            moves = self._moves(context, loop, values)
            if not moves:
                continue
            steps = self._steps(context, loop, moves)
            for number in sorted(set(steps.values()), reverse=True):
                together = [move for move in moves if steps[move.feeds] == number]
                if number > 1:
                    _pack(module, loop, together, number)
                    context.statistic("moves packed", len(together))

    def _moves(self, context: PassContext, loop: Operation, values: IndexValues) -> list[Move]:
        """Return the moves that can be packed; say why others cannot."""
        if (writer := _writer(loop)) is not None:
            text = "not applied: the loop writes global memory, which its later loads may read"
            context.remark(writer, text)
            return []
        moves = []
        for found in moves_of(loop, values):
            if isinstance(found, Unpackable):
                context.remark(found.op, f"not applied: {found.reason}")
            else:
                moves.append(found)
        return moves

    def _steps(
        self, context: PassContext, loop: Operation, moves: Sequence[Move]
    ) -> dict[str, int]:
        """Return how many iterations A's moves and B's take together."""
        given = {"a": self.steps_a or self.steps, "b": self.steps_b or self.steps}
        capacity = int(getattr(context.target, "l1_bytes", 0))
        steps = choose_steps(loop, moves, given, capacity)
        # Loops nest: the one number has to be a multiple of the other.
        small, large = sorted(steps.values())
        if large % small:
            context.error(
                loop,
                f"steps-a = {steps['a']} and steps-b = {steps['b']}: one is to divide the other",
            )
        return steps


def _has_moves(loop: Operation) -> bool:
    views = (staged_op(child.operation) for child in loop.regions[0].blocks[0].operations)
    return any(view is not None and view.name == "nd2nz" for view in views)


def _writer(loop: Operation) -> Operation | None:
    for op in list(nested_ops(loop))[1:]:
        view = staged_op(op)
        if view is not None:
            if view.name == "fixpipe":
                return op
        elif any(access.writes and access.pointer is not None for access in accesses_of(op)):
            return op
    return None


def _pack(module: Module, loop: Operation, moves: Sequence[Move], steps: int) -> None:
    """Put a loop over packs around `loop`, and the moves of each pack before it."""
    start, end, step, *initial = list(loop.operands)
    build = Builder(module, before=loop)
    number = integer_constant(step)
    pack = build.constant((number or 1) * steps, step.type)
    if number is None:
        pack = build.muli(step, pack)
    kinds = [result.type for result in loop.results]
    outer = module.create("scf.for", [start, end, pack, *initial], kinds, before=loop, regions=1)
    body = outer.regions[0].blocks.append(
        start.type, *kinds, arg_locs=[loop.location] * (1 + len(kinds))
    )
    for old, new in zip(loop.results, outer.results, strict=True):
        old.replace_all_uses_with(new)
    last = append(module, body, "scf.yield", location=loop.location)
    first, *carried = list(body.arguments)
    loop.move_before(last)
    inside = loop.regions[0].blocks[0]
    known = dict(zip(inside.arguments, body.arguments, strict=True))
    build = Builder(module, before=loop)
    left = _iterations(build, first, end, step, is_whole=False)
    tiles = [_move_pack(module, loop, move, steps, known, left) for move in moves]
    loop.operands[0] = first
    loop.operands[1] = build.binary("arith.minsi", build.addi(first, pack), end)
    for position, value in enumerate(carried):
        loop.operands[3 + position] = value
    append(module, body, "scf.yield", list(loop.results), location=loop.location)
    last.erase()
    build = Builder(module, before=next(iter(inside.operations)).operation)
    done = _iterations(build, first, inside.arguments[0], step, is_whole=True)
    for move, tile in zip(moves, tiles, strict=True):
        _read_part(module, move, tile, done)


def _iterations(build: Builder, first: Value, end: Value, step: Value, *, is_whole: bool) -> Value:
    """Return how many iterations there are from `first` to `end`, as i32.

    `is_whole` says that the step divides the distance.
    """
    length = build.subi(end, first)
    number = integer_constant(step)
    if number != 1:
        if not is_whole:
            rounding = build.constant((number or 0) - 1, step.type)
            if number is None:
                rounding = build.addi(step, rounding)
            length = build.addi(length, rounding)
        length = build.divsi(length, step)
    return convert(build, length, "i32")


def _move_pack(
    module: Module,
    loop: Operation,
    move: Move,
    steps: int,
    known: Mapping[Value, Value],
    left: Value,
) -> Value:
    """Move the tiles of `steps` iterations before `loop`, no more than `left`; return the tile."""
    values = dict(known)
    copy_before(loop, move.slice, values)
    build = Builder(module, before=loop)
    kind = module.type(move.packed(steps).text())
    where = move.view.op.location
    tile = create(
        module, "alloc", {}, {"buffers": module.integer(1)}, results=[kind], before=loop,
        location=where,
    ).results[0]  # fmt: skip
    names = [name for name in move.view.definition.operands if name != "tile"]
    operands = {name: move.view.operand(name) for name in names}
    operands = {name: values.get(value, value) for name, value in operands.items()}
    limit = build.muli(left, build.constant(move.depth, "i32"))
    if move.is_limited:
        limit = build.binary("arith.minsi", operands[move.along], limit)
    operands[move.along] = limit
    create(module, "nd2nz", {**operands, "tile": tile}, before=loop, location=where)
    return tile


def _read_part(module: Module, move: Move, tile: Value, done: Value) -> None:
    """Let the readers of the tile take the part of iteration number `done` of the pack."""
    # A tile's rows and columns are where its part starts: `row`, `column`.
    start = move.along.removesuffix("s")
    for reader in move.readers:
        build = Builder(module, before=reader.op)
        shift = build.muli(done, build.constant(move.depth, "i32"))
        names = list(reader.definition.operands)
        number = names.index(start)
        reader.op.operands[number] = build.addi(reader.op.operands[number], shift)
        reader.op.operands[names.index("source")] = tile
    inputs = list(move.view.op.operands)
    move.view.op.erase()
    move.allocation.erase()
    erase_unused(inputs)
