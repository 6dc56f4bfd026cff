"""An epilogue on the vector cores: its moves and vector ops."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from flagc.ir.analysis.vector_expressions import COLUMN, MATRIX, NUMBER, ROW, Node
from flagc.ir.builder import Builder
from flagc.ir.locations import source_location
from flagc.ir.module import Module, Operation, Value
from flagc.ir.regions import append
from flagc.ir.scalar_values import ScalarValues
from flagc.ir.staged.operations import create
from flagc.ir.staged.tiles import TileType, scratch_bytes
from flagc.passes.ascend.epilogue_groups import Group, Place, Store
from flagc.passes.ascend.epilogue_layout import Layout, Slot

_MOVES = ("sum", "load")


class EpilogueCode:
    """Creates what a group of stores becomes, before the last of them.

    `rows` and `columns` are those of the part of a tile that is computed at a time.
    """

    def __init__(
        self,
        module: Module,
        scalars: ScalarValues,
        group: Group,
        layout: Layout,
        size: tuple[int, int],
    ) -> None:
        self._module = module
        self._scalars = scalars
        self._group = group
        self._layout = layout
        self._rows, self._columns = size
        self._place: Operation = group.place
        self._location: Any = group.place.location
        self._tiles: dict[Slot, Value] = {}
        self._spilled: dict[Operation, Value] = {}

    def create(self) -> None:
        """Create all of it."""
        group, place = self._group, self._place
        self._m = self._scalars.limit(*group.rows, place, clamped=True)
        self._n = self._scalars.limit(*group.columns, place, clamped=True)
        # All that is computed of formulas comes before the loop that uses it.
        for block in group.places:
            self._scalars.at(block.row_stride, "i64", place)
            self._scalars.at(block.offset, "i64", place)
        for reader in group.readers:
            self._spill(reader)
        build = Builder(self._module, before=place)
        one, two = build.constant(1, "i32"), build.constant(2, "i32")
        height = build.binary("arith.maxsi", self._m, build.constant(0, "i32"))
        half = build.divsi(build.addi(height, one), two)
        core = create(self._module, "sub_block", results=["i32"], before=place).results[0]
        first = build.muli(core, half)
        count = build.binary("arith.minsi", half, build.subi(height, first))
        self._one = one
        self._scratch = self._scratch_tile()
        for node in self._layout.order:
            if node.form in (ROW, NUMBER):
                self._compute(node, one, self._width(node), first)
        self._loop(build, count, first)

    def _stand_at(self, op: Operation) -> None:
        """Give what comes next the op's source line; constants often have none."""
        known = source_location(op.location) is not None
        self._location = op.location if known else self._group.place.location

    def _spill(self, reader: Operation) -> None:
        accumulator = TileType.of(reader.operands[0])
        assert accumulator is not None
        kind = TileType("gm", accumulator.rows, accumulator.columns, accumulator.element)
        self._stand_at(reader)
        tile = self._alloc(kind)
        operands = {"source": reader.operands[0], "tile": tile, "m": self._m, "n": self._n}
        self._op("spill", operands)
        self._spilled[reader] = tile

    def _scratch_tile(self) -> Value | None:
        if not self._layout.compares:
            return None
        self._stand_at(self._place)
        return self._alloc(TileType("ub", 1, scratch_bytes(self._rows), "i8"))

    def _width(self, node: Node) -> Value:
        """Return the limit of the columns of a row, or of a number's 8."""
        if node.form == ROW:
            return self._n
        return Builder(self._module, before=self._place).constant(8, "i32")

    def _loop(self, build: Builder, count: Value, first: Value) -> None:
        """Parts of the vector core's rows, one after the other."""
        module = self._module
        zero, step = build.constant(0, "i32"), build.constant(self._rows, "i32")
        loop = module.create("scf.for", [zero, count, step], before=self._place, regions=1)
        body = loop.regions[0].blocks.append(module.type("i32"), arg_locs=[loop.location])
        end = append(module, body, "scf.yield", location=loop.location)
        self._place = end
        inside = Builder(module, before=end)
        rows = inside.subi(count, body.arguments[0])
        row = inside.addi(first, body.arguments[0])
        nodes = [node for node in self._layout.order if node.form in (MATRIX, COLUMN)]
        # Moves in come first, so that those for the next part need not wait for this one.
        for node in sorted(nodes, key=lambda node: node.kind not in _MOVES):
            if node.form == MATRIX:
                self._compute(node, rows, self._n, row)
            else:
                self._compute(node, self._one, rows, row)
        for store in self._group.stores:
            self._store(store, rows, row)

    def _store(self, store: Store, rows: Value, row: Value) -> None:
        block = store.block
        self._stand_at(block.op)
        stride = self._scalars.at(block.row_stride, "i64", self._group.place)
        operands = {
            "source": self._tile(store.node),
            "base": block.base,
            "offset": self._offset(block, stride, row),
            "row_stride": stride,
            "rows": rows,
            "columns": self._n,
        }
        self._op("store_ub", operands, {"atomic": '"add"'} if store.atomic else {})

    def _offset(self, block: Place, stride: Value | None, row: Value | None) -> Value:
        """Return where a part begins that has `row` for its first; `stride` None is 1."""
        start = self._scalars.at(block.offset, "i64", self._group.place)
        if row is None:
            return start
        build = Builder(self._module, before=self._place)
        wide = build.op("arith.extsi", [row], "i64")
        return build.addi(start, build.muli(wide, stride) if stride is not None else wide)

    def _tile(self, node: Node) -> Value:
        return self._tiles[self._layout.of[node]]

    def _slot(self, slot: Slot) -> Value:
        """Return the tile of a slot, a new one where it is used first."""
        if slot not in self._tiles:
            rows, columns = slot.shape(self._rows, self._columns)
            self._tiles[slot] = self._alloc(TileType("ub", rows, columns, slot.element))
        return self._tiles[slot]

    def _compute(self, node: Node, rows: Value, columns: Value, row: Value) -> None:
        """Create what gives a node; of its part of the matrix there are `rows` and `columns`."""
        if node.op is not None:
            self._stand_at(node.op)
        if node.kind in _MOVES:
            self._move(node, rows, columns, row)
            return
        tile = self._slot(self._layout.of[node])
        if node.kind == "number":
            self._op("vector_fill", {"value": self._number(node), "tile": tile})
            return
        given = [self._operand(node, operand) for operand in node.operands]
        names = {
            "cast": ("source",),
            "unary": ("source",),
            "binary": ("left", "right"),
            "select": ("left", "right", "if_true", "if_false"),
        }[node.kind]
        operands = dict(zip(names, given, strict=True))
        if self._scratch is not None and node.kind == "select":
            operands["scratch"] = self._scratch
        key = "rounding" if node.kind == "cast" else "kind"
        attributes = {key: f'"{node.name}"'} if node.name else {}
        limits = {"rows": rows, "columns": columns, "tile": tile}
        self._op(f"vector_{node.kind}", {**operands, **limits}, attributes)

    def _operand(self, node: Node, operand: Node) -> Value:
        """Return the tile of an operand; a column is repeated for each of a matrix's."""
        if node.form != MATRIX or operand.form != COLUMN:
            return self._tile(operand)
        slot = self._layout.expanded[operand]
        if slot not in self._tiles:
            target = self._slot(slot)
            self._op("vector_column", {"source": self._tile(operand), "tile": target})
        return self._tiles[slot]

    def _move(self, node: Node, rows: Value, columns: Value, row: Value) -> None:
        assert node.op is not None
        tile = self._slot(self._layout.of[node])
        limits = {"rows": rows, "columns": columns, "tile": tile}
        if node.kind == "sum":
            self._op("fetch", {"source": self._spilled[node.op], "row": row, **limits})
            return
        block = self._group.loads[node.op]
        stride = self._scalars.at(block.row_stride, "i64", self._group.place)
        if node.form == MATRIX:
            offset = self._offset(block, stride, row)
        else:
            offset = self._offset(block, None, row if node.form == COLUMN else None)
        operands = {"base": block.base, "offset": offset, "row_stride": stride, **limits}
        self._op("load_ub", operands)

    def _number(self, node: Node) -> Value:
        build = Builder(self._module, before=self._place)
        if isinstance(node.value, int | float):
            return build.constant(node.value, node.element)
        assert node.value is not None
        if str(node.value.type) in ("f16", "bf16"):
            return build.op("arith.extf", [node.value], "f32")
        return node.value

    def _alloc(self, kind: TileType) -> Value:
        attributes = {"buffers": "1 : i64"}
        return self._op("alloc", {}, attributes, [kind.text()]).results[0]

    def _op(
        self,
        name: str,
        operands: Mapping[str, Value],
        attributes: Mapping[str, str] | None = None,
        results: list[str] | None = None,
    ) -> Operation:
        return create(
            self._module,
            name,
            operands,
            attributes,
            results=results or [],
            before=self._place,
            location=self._location,
        )
