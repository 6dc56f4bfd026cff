"""Let several cores share the depth of a tile's product, and add up their parts in order."""

from __future__ import annotations

from dataclasses import dataclass

from flagc.ir.builder import Builder
from flagc.ir.equal_ops import merge_equal_scalars
from flagc.ir.module import Module, Operation, Value
from flagc.ir.regions import append, copy_before, create_if
from flagc.ir.staged.operations import BLOCKS_PER_PROGRAM, CROSS_FLAGS, MAX_BLOCKS, create
from flagc.ir.staged.tiles import TileType
from flagc.ir.unused_values import erase_unused_values
from flagc.passes.ascend.persistent_blocks import coordinates, grid_sizes
from flagc.passes.ascend.split_tile import Flaw, TileWork, staged_ops, tile_work
from flagc.pipeline.context import PassContext
from flagc.pipeline.passes import Pass, register

# Bytes of parts that a block has room for, where the user names no number: between two barriers as
# much is computed as a launch of small tiles has.
_ROOM = 1 << 20
# Flags of the barriers: insert-sync takes the lower ones.
_PARTS_ARE_THERE, _PARTS_ARE_TAKEN = CROSS_FLAGS - 1, CROSS_FLAGS - 2


@register
@dataclass(frozen=True)
class SplitKOnCores(Pass):
    """Cut the K loop of each tile into `ways` parts, and share the parts out to the cores.

    for part in range(block, tiles * ways, cores):      # cube cores
        k loop over the part of K; spill to the part's place in the workspace
    grid_barrier {FIX -> MTE2}                          # all parts are there
    for tile in range(block, tiles, cores):             # vector cores
        fetch a part, add the others one after the other; epilogue; store

    For products of few tiles and a long K, whose tiles would leave cores idle. Parts are added in
    their order, whoever was last, so that results are the same each time; they are summed in
    another order than without the pass. Tiles whose K loop has fewer iterations than `ways` have
    fewer parts.

    At most `cores` blocks are launched (0: the target's cube cores), so that all run at once, which
    the barrier needs. A block has room for `slots` parts in the workspace (0: 1 MiB); what the
    blocks have no room for comes in a further round, after another barrier.

    The sums have to be on vector cores (`stage-epilogue{always=true}`), the K loop at the kernel's
    top level. It takes the place of `persistent-blocks`, and runs before `pack-k`.
    """

    name = "split-k-on-cores"
    level = "staged"
    ways: int = 4
    cores: int = 0
    slots: int = 0

    def run(self, module: Module, context: PassContext) -> None:
        """Rewrite the kernel."""
        cores = self.cores or int(getattr(context.target, "cube_cores", 0))
        if self.ways < 2 or self.cores < 0 or self.slots < 0:
            context.error(None, "ways is at least 2; cores and slots must not be negative")
        if not cores:
            context.error(None, "say how many cores: this target's number is not known")
        if self.ways > cores:
            context.error(None, f"ways = {self.ways}: there are {cores} cores to share a tile")
        function = context.only_function()
        if function is None:
            return
        work = tile_work(function)
        if isinstance(work, Flaw):
            context.remark(work.op, f"not applied: {work.reason}")
            return
        bytes_of_part = sum(_tile(op.results[0]).reserved_bytes for op in work.handed)
        slots = self.slots or max(1, _ROOM // bytes_of_part)
        _Split(module, work, self.ways, cores, slots).create()
        function.attributes[MAX_BLOCKS] = module.integer(cores)
        function.attributes[BLOCKS_PER_PROGRAM] = module.integer(self.ways)
        erase_unused_values(module)
        merge_equal_scalars(module)
        context.statistic("kernels split")


def _tile(value: Value) -> TileType:
    tile = TileType.of(value)
    assert tile is not None
    return tile


class _Split:
    """Creates the loops over parts and over tiles at the function's end, and erases the rest."""

    def __init__(self, module: Module, work: TileWork, ways: int, cores: int, slots: int) -> None:
        self._module = module
        self._work = work
        self._ways = ways
        self._cores = cores
        self._slots = slots
        self._shared: dict[Value, Value] = {}

    def create(self) -> None:
        """Create all of it."""
        work, module = self._work, self._module
        build = Builder(module, before=work.end)
        self._sizes = grid_sizes(module, work.end)
        self._block = build.op("staged.block_index", [], "i32")
        self._number = {
            number: build.constant(number, "i32")
            for number in (0, 1, self._ways, self._cores, self._cores * self._slots // self._ways)
        }
        for op in work.handed:
            self._share(op)
        tiles = build.muli(build.muli(self._sizes[0], self._sizes[1]), self._sizes[2])
        step = self._number[self._cores * self._slots // self._ways]
        last, first = self._loop(self._number[0], tiles, step, work.end)
        build = Builder(module, before=last)
        end = build.binary("arith.minsi", build.addi(first, step), tiles)
        self._parts(build, first, end, last)
        self._barrier("FIX", "AIV.MTE2", _PARTS_ARE_THERE, last)
        self._tiles(build, first, end, last)
        _, then, otherwise = create_if(module, build.cmpi("slt", end, tiles), [], before=last)
        append(module, otherwise, "scf.yield", location=last.location)
        inside = append(module, then, "scf.yield", location=last.location)
        self._barrier("AIV.MTE2", "FIX", _PARTS_ARE_TAKEN, inside)
        for op in reversed(work.ops):
            op.erase()

    def _share(self, op: Operation) -> None:
        """Make the tile of gm one of all blocks, with room for `slots` parts of each."""
        kind = _tile(op.results[0])
        tall = TileType("gm", kind.rows * self._slots, kind.columns, kind.element)
        attributes = {"buffers": "1 : i64", "shared": "true"}
        made = create(
            self._module, "alloc", {}, attributes, results=[tall.text()], before=self._work.end,
            location=op.location,
        )  # fmt: skip
        self._shared[op.results[0]] = made.results[0]

    def _barrier(self, source: str, target: str, flag: int, before: Operation) -> None:
        number = self._module.integer(flag)
        attributes = {"from": f'"{source}"', "to": f'"{target}"', "flag": number}
        create(self._module, "grid_barrier", {}, attributes, before=before)

    def _loop(
        self, start: Value, end: Value, step: Value, before: Operation
    ) -> tuple[Operation, Value]:
        """Create an empty loop; return its last op and its counter."""
        module = self._module
        loop = module.create("scf.for", [start, end, step], before=before, regions=1)
        body = loop.regions[0].blocks.append(start.type, arg_locs=[loop.location])
        return append(module, body, "scf.yield", location=loop.location), body.arguments[0]

    def _begin(self, tile: Value, last: Operation) -> dict[Value, Value]:
        """Compute before `last` what a tile's ops of both kinds of cores are given."""
        build = Builder(self._module, before=last)
        place = coordinates(build, tile, self._sizes)
        values = dict(self._shared)
        for op in self._work.ids:
            values[op.results[0]] = place[op.attributes["axis"].value]
        copy_before(last, self._work.scalars, values)
        return values

    def _extents(self, build: Builder, values: dict[Value, Value]) -> tuple[Value, Value]:
        """Return of a tile's K loop how far one part goes, and how many parts are not empty.

        The first one counts as such in any case.
        """
        start, end, step = (values.get(v, v) for v in list(self._work.loop.operands)[:3])
        one, ways = self._number[1], self._number[self._ways]

        def divided(length: Value, unit: Value) -> Value:
            quotient = build.divsi(build.addi(length, build.subi(unit, one)), unit)
            return build.binary("arith.maxsi", quotient, one)

        iterations = divided(build.subi(end, start), step)
        share = divided(iterations, ways)
        return build.muli(share, step), divided(iterations, share)

    def _parts(self, build: Builder, first: Value, end: Value, before: Operation) -> None:
        """The cube cores' loop: products of parts."""
        ways = self._number[self._ways]
        start = build.muli(first, ways)
        begin, finish = build.addi(start, self._block), build.muli(end, ways)
        last, number = self._loop(begin, finish, self._number[self._cores], before)
        build = Builder(self._module, before=last)
        tile, way = build.divsi(number, ways), build.remsi(number, ways)
        values = self._begin(tile, last)
        length, count = self._extents(build, values)
        slot = build.subi(number, start)
        copy_before(last, self._work.cube, values)
        ops = [child.operation for child in last.block.operations]
        (loop,) = [op for op in ops if op.name == "scf.for"]
        is_there = Builder(self._module, before=loop).cmpi("slt", way, count)
        _limit_loop(Builder(self._module, before=loop), loop, way, length)
        spills = staged_ops(ops, "spill")
        for op in ops:
            if op.name == "scf.if":
                self._fill_if_stored(op, is_there, values)
        for spill in spills:
            self._spill_part(spill.op, is_there, slot)

    def _fill_if_stored(
        self, branch: Operation, is_there: Value, values: dict[Value, Value]
    ) -> None:
        """Make zeros, for a product without terms, only for a part that somebody adds."""
        build = Builder(self._module, before=branch)
        condition = build.andi(branch.operands[0], is_there)
        spill = staged_ops(self._work.cube, "spill")[0]
        for name in ("m", "n"):
            limit = spill.operand(name)
            limit = values.get(limit, limit)
            condition = build.andi(condition, build.cmpi("sgt", limit, self._number[0]))
        branch.operands[0] = condition

    def _spill_part(self, op: Operation, is_there: Value, slot: Value) -> None:
        """Replace a copied spill by one to the part's place."""
        build = Builder(self._module, before=op)
        source, tile, m, n = list(op.operands)
        rows = build.constant(_tile(source).rows, "i32")
        operands = {
            **{"source": source, "tile": tile, "n": n, "row": build.muli(slot, rows)},
            "m": build.select(is_there, m, self._number[0]),
        }
        create(self._module, "spill", operands, before=op, location=op.location)
        op.erase()

    def _tiles(self, build: Builder, first: Value, end: Value, before: Operation) -> None:
        """The vector cores' loop: sums of parts, and what is done to them."""
        begin = build.addi(first, self._block)
        last, tile = self._loop(begin, end, self._number[self._cores], before)
        build = Builder(self._module, before=last)
        values = self._begin(tile, last)
        _, count = self._extents(build, values)
        slot = build.muli(build.subi(tile, first), self._number[self._ways])
        copy_before(last, self._work.vector, values)
        rows = {self._shared[op.results[0]]: _tile(op.results[0]).rows for op in self._work.handed}
        for fetch in staged_ops([child.operation for child in last.block.operations], "fetch"):
            self._fetch_parts(fetch.op, slot, count, rows[fetch.operand("source")])

    def _fetch_parts(self, op: Operation, slot: Value, count: Value, rows: int) -> None:
        """Let a copied fetch take a tile's first part, and add the others to it."""
        module = self._module
        build = Builder(module, before=op)
        source, row, height, width, total = list(op.operands)
        part_rows = build.constant(rows, "i32")
        row = build.addi(row, build.muli(slot, part_rows))
        op.operands[1] = row
        after = _next_op(op)
        last, way = self._loop(self._number[1], count, self._number[1], after)
        build = Builder(module, before=last)
        place = build.addi(row, build.muli(way, part_rows))
        part = create(
            module, "alloc", {}, {"buffers": "1 : i64"}, results=[total.type], before=last,
            location=op.location,
        ).results[0]  # fmt: skip
        limits = {"rows": height, "columns": width}
        taken = {"source": source, "row": place, **limits, "tile": part}
        create(module, "fetch", taken, before=last, location=op.location)
        added = {"left": total, "right": part, **limits, "tile": total}
        create(module, "vector_binary", added, {"kind": '"add"'}, before=last, location=op.location)


def _next_op(op: Operation) -> Operation:
    """Return the op that follows `op` in its block."""
    ops = [child.operation for child in op.block.operations]
    return ops[ops.index(op) + 1]


def _limit_loop(build: Builder, loop: Operation, way: Value, length: Value) -> None:
    """Let a K loop run part number `way`, which is `length` long."""
    start, end = list(loop.operands)[:2]
    first = build.addi(start, build.muli(way, length))
    loop.operands[0] = first
    loop.operands[1] = build.binary("arith.minsi", end, build.addi(first, length))
