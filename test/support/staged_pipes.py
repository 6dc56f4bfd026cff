"""Run the dialect `staged` as pipes that only flags and barriers order, and find races.

What a loop's bounds and a branch's condition are is left to chance: a program has to be in order
whichever way it goes. Pipes have vector clocks, as in the emulator (`tools/aicore/race.h`), but
here an event must also not be set again before it is known that it was waited for.
"""

import random
from collections import defaultdict

from flagc.ir.analysis.memory_effects import base_of
from flagc.ir.module import Module, defining_op
from flagc.ir.staged.operations import (
    MOST_CROSS_SETS,
    VECTOR_PIPES,
    core_of,
    core_of_pipe,
    staged_op,
)
from flagc.ir.staged.tiles import TileType

_UNIT = 512  # bytes that are watched together
ARGUMENTS = (
    "%arg_a: !tt.ptr<f16>, %arg_b: !tt.ptr<f16>, %arg_c: !tt.ptr<f16>, %n: i32, %go: i1, %l: i64"
)
CONSTANTS = """
  %z = "arith.constant"() {value = 0 : i32} : () -> i32
  %one = "arith.constant"() {value = 1 : i32} : () -> i32
  %t = "arith.constant"() {value = true} : () -> i1
"""
_TILES = {
    "nd2nz": "%arg_{base}, %l, %l, %n, %n, {tile}",
    "fill": "{tile}",
    "load_l0a": "{source}, %z, %z, %n, %n, {tile}",
    "load_l0b": "{source}, %z, %z, %n, %n, {tile}",
    "load_bt": "{source}, %n, {tile}",
    "mad": "{a}, {b}, {c}, %n, %n, %n, %t",
    "fixpipe": "{source}, %arg_{base}, %l, %l, %n, %n",
    "spill": "{source}, {tile}, %n, %n",
    "fetch": "{source}, %z, %n, %n, {tile}",
    "vector_unary": "{source}, %n, %n, {tile}",
    "vector_cast": "{source}, %n, %n, {tile}",
    "store_ub": "{source}, %arg_{base}, %l, %l, %n, %n",
}
_TYPES = {
    "nd2nz": "!tt.ptr<f16>, i64, i64, i32, i32, {tile}",
    "fill": "{tile}",
    "load_l0a": "{source}, i32, i32, i32, i32, {tile}",
    "load_l0b": "{source}, i32, i32, i32, i32, {tile}",
    "load_bt": "{source}, i32, {tile}",
    "mad": "{a}, {b}, {c}, i32, i32, i32, i1",
    "fixpipe": "{source}, !tt.ptr<f16>, i64, i64, i32, i32",
    "spill": "{source}, {tile}, i32, i32",
    "fetch": "{source}, i32, i32, i32, {tile}",
    "vector_unary": "{source}, i32, i32, {tile}",
    "vector_cast": "{source}, i32, i32, {tile}",
    "store_ub": "{source}, !tt.ptr<f16>, i64, i64, i32, i32",
}


class Text:
    """Writes a function of the dialect, line by line; tiles are known by their names.

    Every tile has an address of its own unless one is given.
    """

    def __init__(self, *, with_addresses=True):
        self._with_addresses = with_addresses
        self._lines = []
        self._types = {}
        self._next = defaultdict(int)
        self._loops = 0

    def tile(self, name, memory, rows=16, columns=16, element="f16", buffers=1, addresses=None):
        """Allocate a tile."""
        view = TileType(memory, rows, columns, element)
        if addresses is None:
            size = -(-view.bytes // 512) * 512
            addresses = [self._next[memory] + size * slot for slot in range(buffers)]
            self._next[memory] += size * buffers
        self._types[name] = view.text()
        attributes = f"buffers = {buffers} : i32"
        if self._with_addresses:
            attributes += f", addresses = array<i64: {', '.join(map(str, addresses))}>"
        self._lines.append(f'%{name} = "staged.alloc"() {{{attributes}}} : () -> {view.text()}')
        return name

    def op(self, op_name, base="a", attributes="", **tiles):
        """Add an op; operands that are no tiles do not matter here."""
        names = {key: f"%{name}" for key, name in tiles.items()}
        types = {key: self._types[name] for key, name in tiles.items()}
        operands = _TILES[op_name].format(base=base, **names)
        kinds = _TYPES[op_name].format(**types)
        self._lines.append(f'"staged.{op_name}"({operands}) {attributes} : ({kinds}) -> ()')

    def line(self, text):
        """Add a line as it is."""
        self._lines.append(text)

    def loop(self):
        """Begin a loop; `end` ends it."""
        self._loops += 1
        self._lines.append('"scf.for"(%z, %n, %one) ({')
        self._lines.append(f"^bb0(%i{self._loops}: i32):")

    def end(self):
        """End a loop."""
        self._lines.append('"scf.yield"() : () -> ()')
        self._lines.append("}) : (i32, i32, i32) -> ()")

    def branch(self):
        """Begin a branch that may not be taken; `otherwise` begins its other side."""
        self._lines.append('"scf.if"(%go) ({')

    def otherwise(self):
        """Begin the other side of a branch."""
        self._lines += ['"scf.yield"() : () -> ()', "}, {"]

    def end_branch(self, *, has_other=False):
        """End a branch."""
        self._lines.append('"scf.yield"() : () -> ()')
        self._lines.append("}) : (i1) -> ()" if has_other else "}, {}) : (i1) -> ()")

    def module(self):
        """Return the module."""
        kinds = ", ".join(part.split(": ")[1] for part in ARGUMENTS.split(", "))
        body = CONSTANTS + "\n".join(self._lines)
        return Module.parse(
            f'"tt.func"() ({{\n^bb0({ARGUMENTS}):\n{body}\n"tt.return"() : () -> ()\n}}) '
            f'{{function_type = ({kinds}) -> (), sym_name = "kernel"}} : () -> ()',
            "staged",
        )


class Disorder(AssertionError):
    """The program is not in order."""


class Pipes:
    """One run of one function."""

    def __init__(self, seed):
        self.instructions = 0
        self._random = random.Random(seed)
        self._clocks = defaultdict(lambda: defaultdict(int))
        self._flags = defaultdict(list)
        self._waits = {}
        self._executed = defaultdict(int)
        self._slots = {}
        self._written = {}
        self._read = defaultdict(dict)

    def run(self, module):
        """Execute the module's function.

        Raises:
            Disorder: a race, a flag that is waited for without being set, or one left over.
        """
        (function,) = module.functions()
        self._block(function.regions[0].blocks[0])
        left = [key for key, value in self._flags.items() if value]
        if left:
            raise Disorder(f"flags left over: {left}")

    def _block(self, block):
        for child in block.operations:
            self._op(child.operation)

    def _op(self, op):
        if op.name == "scf.for":
            for _ in range(self._random.randrange(6)):
                self._block(op.regions[0].blocks[0])
        elif op.name == "scf.while":
            while True:
                self._block(op.regions[0].blocks[0])
                if self._random.random() < 0.3:
                    break
                self._block(op.regions[1].blocks[0])
        elif op.name == "scf.if":
            region = self._random.choice(list(op.regions))
            for block in region.blocks:
                self._block(block)
        elif (view := staged_op(op)) is not None:
            self._staged(view)

    def _staged(self, view):
        if view.name == "alloc":
            buffers = view.integer("buffers", 1)
            self._slots[view.op] = self._executed[view.op] % buffers
            self._executed[view.op] += 1
        elif view.name in ("set_flag", "wait_flag"):
            self._flag(view)
        elif view.name in ("cross_set", "cross_wait"):
            self._cross_flag(view)
        elif view.name == "barrier":
            if view.text("pipe") == "ALL":
                self._meet(core_of(view))
        elif view.pipe is not None:
            self._instruction(view)

    def _flag(self, view):
        source, target = view.text("from"), view.text("to")
        event = view.integer("event")
        if view.has("tile"):
            event += self._slots[defining_op(view.operand("tile"))]
        assert event < 8
        key = (source, target, event)
        if view.name == "set_flag":
            self._see(source, self._clocks[_scalar(source)])
            if self._flags[key]:
                raise Disorder(f"{key} is set twice")
            if self._clocks[source][target] < self._waits.get(key, 0):
                raise Disorder(f"{key} is set again, and may not have been waited for")
            self._flags[key].append(dict(self._clocks[source]))
        else:
            if not self._flags[key]:
                raise Disorder(f"{key} is waited for and not set")
            self._tick(target)
            self._see(target, self._flags[key].pop())
            self._waits[key] = self._clocks[target][target]

    def _cross_flag(self, view):
        """Flags between cores count; one core's vector cores are taken for one here."""
        source, target = view.text("from"), view.text("to")
        waiting = self._flags[("cross", view.integer("flag"))]
        if view.name == "cross_set":
            self._see(source, self._clocks[_scalar(source)])
            waiting.append(dict(self._clocks[source]))
            if len(waiting) > MOST_CROSS_SETS:
                raise Disorder("a flag between cores is set too often")
        else:
            if not waiting:
                raise Disorder("a flag between cores is waited for and not set")
            self._tick(target)
            self._see(target, waiting.pop(0))

    def _tick(self, pipe):
        self._see(pipe, self._clocks[_scalar(pipe)])
        self._clocks[pipe][pipe] += 1

    def _see(self, pipe, clocks):
        for other, time in dict(clocks).items():
            self._clocks[pipe][other] = max(self._clocks[pipe][other], time)

    def _meet(self, core):
        pipes = VECTOR_PIPES if core == "AIV" else ("M", "MTE1", "MTE2", "FIX")
        scalar = _scalar(pipes[0])
        for pipe in pipes:
            self._see(scalar, self._clocks[pipe])
        for pipe in pipes:
            self._see(pipe, self._clocks[scalar])

    def _instruction(self, view):
        self.instructions += 1
        self._tick(view.pipe)
        for tile, use in view.tiles():
            alloc = staged_op(defining_op(tile))
            address = int(alloc.op.attributes["addresses"][self._slots[alloc.op]])
            kind = TileType.of(tile)
            end = address + kind.bytes
            for unit in range(address // _UNIT, -(-end // _UNIT)):
                self._touch(view, (kind.memory, unit), use.effect != "read")
        if "base" in view.definition.operands:
            base = base_of(view.operand("base"))
            self._touch(view, ("memory", base.arg_number), view.name in ("fixpipe", "store_ub"))

    def _touch(self, view, place, writes):
        seen, pipe = self._clocks[view.pipe], view.pipe
        writer, time = self._written.get(place, (pipe, 0))
        others = self._read[place].items() if writes else ()
        for other, when in [(writer, time), *others]:
            if other != pipe and seen[other] < when:
                raise Disorder(f"{pipe} and {other} race for {place}: {view.op}")
        if writes:
            self._written[place] = (pipe, seen[pipe])
            self._read[place] = {}
        else:
            self._read[place][pipe] = seen[pipe]


def _scalar(pipe):
    """Return the scalar unit that gives a pipe its work."""
    return "S of AIV" if core_of_pipe(pipe) == "AIV" else "S"


def assert_in_order(module, runs=12):
    """Run the module many times, each time another way."""
    assert sum(_instructions(module, seed) for seed in range(runs)) > runs


def _instructions(module, seed):
    pipes = Pipes(seed)
    pipes.run(module)
    return pipes.instructions
