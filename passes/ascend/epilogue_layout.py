"""Which tiles of UB an epilogue is computed in, and how many rows fit at a time."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from flagc.ir.analysis.vector_expressions import COLUMN, MATRIX, NUMBER, ROW, Node, in_order
from flagc.ir.staged.tiles import FRACTAL_ROWS, scratch_bytes
from flagc.ir.staged.verify_vector import COLUMN as COLUMN_WIDTH
from flagc.ir.staged.verify_vector import MOST_REPEATS
from flagc.ir.types import element_bits

# Bytes of f32 that are computed at a time: a few such parts of a tile in flight keep moves and
# arithmetic busy at once, and one instruction has rows enough to be worth starting.
_PART_BYTES = 16384
# A comparison reads 64 lanes, at most one row further than it should: rows are this long.
_LEAST_COLUMNS = 32
_DEPTH = 2  # buffers of tiles that moves fill or empty (multi-buffer)


@dataclass(eq=False)
class Slot:
    """A tile of UB that values lie in, one after the other.

    Attributes:
        form: what of a part of the matrix it holds; "expanded": a column, repeated to 8 columns.
        is_moved: whether moves fill or empty it.
    """

    form: str
    element: str
    is_moved: bool

    def shape(self, rows: int, columns: int) -> tuple[int, int]:
        """Return rows and columns of the tile for parts of this size."""
        return {
            MATRIX: (rows, columns),
            ROW: (1, columns),
            COLUMN: (1, rows),
            NUMBER: (1, COLUMN_WIDTH),
            "expanded": (rows, COLUMN_WIDTH),
        }[self.form]

    def bytes(self, rows: int, columns: int) -> int:
        """Return what its buffers take."""
        height, width = self.shape(rows, columns)
        size = height * width * element_bits(self.element) // 8
        return size * (_DEPTH if self.is_moved else 1)


class Layout:
    """Slots of the expressions `roots`, which are stored."""

    def __init__(self, roots: list[Node]) -> None:
        self.order = list(in_order(roots))
        self.of: dict[Node, Slot] = {}
        self.expanded: dict[Node, Slot] = {}
        self._left = Counter(operand for node in self.order for operand in node.operands)
        self._left.update(roots)  # what is stored stays
        self._free: list[Slot] = []
        self._slots: list[Slot] = []
        for node in self.order:
            if node.kind in ("sum", "load"):
                self.of[node] = self._new(node.form, node.element, is_moved=True)
        stored = set(roots)
        for node in self.order:
            if node not in self.of:
                self._place(node, is_stored=node in stored)

    @property
    def compares(self) -> bool:
        """Whether there are comparisons, which need scratch memory."""
        return any(node.kind == "select" for node in self.order)

    def _new(self, form: str, element: str, *, is_moved: bool = False) -> Slot:
        slot = Slot(form, element, is_moved)
        self._slots.append(slot)
        return slot

    def _place(self, node: Node, *, is_stored: bool) -> None:
        """Give a computed node a slot; what it is the last to use becomes free, also for itself."""
        for operand in node.operands:
            if node.form == MATRIX and operand.form == COLUMN and operand not in self.expanded:
                self.expanded[operand] = self._new("expanded", operand.element)
        for operand in dict.fromkeys(node.operands):
            self._left[operand] -= node.operands.count(operand)
            slot = self.of[operand]
            if not self._left[operand] and operand.form == MATRIX and not slot.is_moved:
                self._free.append(slot)
        free = [slot for slot in self._free if slot.element == node.element]
        if free and node.form == MATRIX and not is_stored:
            self._free.remove(free[0])
            self.of[node] = free[0]
        else:
            self.of[node] = self._new(node.form, node.element, is_moved=is_stored)

    def bytes(self, rows: int, columns: int) -> int:
        """Return the bytes of UB for parts of this size."""
        scratch = scratch_bytes(rows) if self.compares else 0
        return scratch + sum(slot.bytes(rows, columns) for slot in self._slots)

    def rows(self, half: int, columns: int, capacity: int, asked: int) -> int | None:
        """Return how many rows are computed at a time; None when not even the fewest fit.

        `half` is what a vector core has of a tile, `asked` what the user wants, 0 for a choice.
        """
        wanted = asked or _PART_BYTES // (4 * columns)
        most = min(wanted, MOST_REPEATS, -(-half // FRACTAL_ROWS) * FRACTAL_ROWS)
        rows = max(most // FRACTAL_ROWS, 1) * FRACTAL_ROWS
        while rows > FRACTAL_ROWS and self.bytes(rows, columns) > capacity:
            rows -= FRACTAL_ROWS
        return rows if self.bytes(rows, columns) <= capacity else None


def padded_columns(columns: int) -> int:
    """Return the columns of tiles of UB for so many columns of an accumulator."""
    return max(columns, _LEAST_COLUMNS)
