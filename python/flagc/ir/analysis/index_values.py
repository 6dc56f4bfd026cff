"""What the integers and pointers of TTIR are, as formulas of scalars and of positions in a block.

    values = IndexValues()
    values.index(rows)        # 128*pid + lane 0
    values.pointer(a_ptrs)    # base %a_ptr, offset stride*(128*pid + lane 0) + lane 1

Scalars that are no arithmetic (kernel arguments, program ids, loop counters, numbers from memory)
stand for themselves. A tensor must be arithmetic of such scalars and of `tt.make_range`; anything
else raises `NotAffine`, which says what it is and where.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from flagc.ir.analysis import affine
from flagc.ir.analysis.affine import Affine, Symbol, Symbols
from flagc.ir.analysis.integer_ranges import numeric_range
from flagc.ir.analysis.loop_carried import carried_by, is_defined_inside, iteration_number
from flagc.ir.analysis.signs import integer_constant
from flagc.ir.module import Operation, Value, defining_op
from flagc.ir.types import PointerType, TensorType, element_bits, element_of

_SAME_NUMBER = frozenset(
    {"arith.extsi", "arith.extui", "arith.trunci", "arith.index_cast", "arith.index_castui",
     "tt.splat", "tt.broadcast", "tt.unsplat"}
)  # fmt: skip
_DIVISIONS = frozenset({"arith.divsi", "arith.divui"})
_REMAINDERS = frozenset({"arith.remsi", "arith.remui"})
_EXTREMES = {
    "arith.minsi": affine.MINIMUM,
    "arith.minui": affine.MINIMUM,
    "arith.maxsi": affine.MAXIMUM,
    "arith.maxui": affine.MAXIMUM,
}


class NotAffine(Exception):
    """A value is no formula of the kind wanted: at which op, and why."""

    def __init__(self, op: Operation | None, reason: str) -> None:
        super().__init__(reason)
        self.op = op
        self.reason = reason


@dataclass(frozen=True)
class Pointer:
    """`base + offset`; the offset counts elements. `base` is a scalar pointer, not computed on."""

    base: Value
    offset: Affine


class IndexValues:
    """Formulas of the values of one module, each computed once.

    They know values by their identity: the module has to live as long as they are used, and a pass
    makes new ones after it has changed the module.
    """

    def __init__(self) -> None:
        self.symbols = Symbols()
        self._known: dict[Value, Affine | Pointer | NotAffine] = {}
        self._carried: list[Value] = []

    def index(self, value: Value) -> Affine:
        """Return what an integer, or a tensor of integers, is.

        Raises:
            NotAffine: it is no formula of scalars and lanes.
        """
        found = self._of(value)
        assert isinstance(found, Affine)
        return found

    def pointer(self, value: Value) -> Pointer:
        """Return what a pointer, or a tensor of pointers, is.

        Raises:
            NotAffine: the addresses are no formula of scalars and lanes.
        """
        found = self._of(value)
        assert isinstance(found, Pointer)
        return found

    def scalar(self, value: Value) -> Affine:
        """Return the symbol that stands for a scalar."""
        return self.symbols.get(affine.SCALAR, value)

    def moved(self, formula: Affine, place: Callable[[int], int]) -> Affine:
        """Return `formula` with lanes of dimension d taken along dimension `place(d)`."""

        def move(symbol: Symbol) -> Affine:
            if symbol.kind == affine.LANE:
                dim, size = symbol.operands
                return self.symbols.get(affine.LANE, place(dim), size)
            moved = [
                operand.mapped(move) if isinstance(operand, Affine) else operand
                for operand in symbol.operands
            ]
            return self.symbols.get(symbol.kind, *moved)

        return formula.mapped(move)

    def _of(self, value: Value) -> Affine | Pointer:
        if value not in self._known:
            try:
                self._known[value] = self._compute(value)
            except NotAffine as problem:
                self._known[value] = problem
        found = self._known[value]
        if isinstance(found, NotAffine):
            raise found
        return found

    def _compute(self, value: Value) -> Affine | Pointer:
        op = defining_op(value)
        if op is None:
            return self._argument(value)
        number = integer_constant(value)
        if number is not None:
            return Affine.constant(number)
        try:
            return self._result(op)
        except NotAffine:
            if TensorType.of(value) is None:
                return self._opaque(value)
            raise

    def _opaque(self, value: Value) -> Affine | Pointer:
        """A scalar that stands for itself."""
        if PointerType.of(value) is not None:
            return Pointer(value, Affine({}))
        return self.scalar(value)

    def _result(self, op: Operation) -> Affine | Pointer:
        name = op.name
        if name in _SAME_NUMBER or _is_plain_bitcast(op):
            if element_of(op.operands[0]) == "i1":
                raise NotAffine(op, "the index depends on a condition")
            return self._of(op.operands[0])
        if name == "tt.make_range":
            start, end = (int(op.attributes[key].value) for key in ("start", "end"))
            lanes = self.symbols.get(affine.LANE, 0, end - start)
            return lanes + start if end - start > 1 else Affine.constant(start)
        if name in ("tt.expand_dims", "tt.trans", "tt.reshape"):
            return self._rearranged(op)
        if name == "tt.addptr":
            pointer, more = self.pointer(op.operands[0]), self.index(op.operands[1])
            return Pointer(pointer.base, pointer.offset + more)
        if name.startswith("arith."):
            return self._arithmetic(op)
        raise NotAffine(op, _reason(op))

    def _arithmetic(self, op: Operation) -> Affine:
        if len(op.operands) != 2 or op.name == "arith.cmpi":
            raise NotAffine(op, _reason(op))
        left, right = (self.index(operand) for operand in op.operands)
        if op.name == "arith.addi":
            return left + right
        if op.name == "arith.subi":
            return left - right
        if op.name == "arith.muli":
            return left * right
        if op.name == "arith.shli" and right.number is not None:
            return left * 2 ** int(right.number)
        if op.name in _DIVISIONS:
            return self.quotient(left, right)
        if op.name in _REMAINDERS:
            return self.remainder(left, right)
        if op.name in _EXTREMES:
            return left if left == right else self.symbols.get(_EXTREMES[op.name], left, right)
        raise NotAffine(op, _reason(op))

    def quotient(self, left: Affine, right: Affine) -> Affine:
        """Return `left / right`, rounded towards zero."""
        exact, rest = _split(left, right)
        if exact is not None and rest.number == 0:
            return exact
        if exact is not None and exact.number == 0:
            return Affine({})
        return self.symbols.get(affine.QUOTIENT, left, right)

    def remainder(self, left: Affine, right: Affine) -> Affine:
        """Return `left % right`, which has the sign of `left`."""
        exact, rest = _split(left, right)
        if exact is not None and (rest.number == 0 or exact.number == 0):
            return rest
        return self.symbols.get(affine.REMAINDER, left, right)

    def _rearranged(self, op: Operation) -> Affine | Pointer:
        place = places(op)
        if place is None:
            raise NotAffine(op, "the tensor is reshaped")
        source = self._of(op.operands[0])
        if isinstance(source, Pointer):
            return Pointer(source.base, self.moved(source.offset, place))
        return self.moved(source, place)

    def _argument(self, value: Value) -> Affine | Pointer:
        """An argument of a block: of the kernel, a loop's counter, or carried round a loop."""
        owner = value.owner.owner.operation
        is_scalar = TensorType.of(value) is None
        if owner.name == "scf.for" and value.arg_number > 0:
            try:
                return self._carried_value(owner, value)
            except NotAffine:
                if not is_scalar:
                    raise
        if is_scalar:
            return self._opaque(value)
        raise NotAffine(owner, f"the tensor comes around by '{owner.name}'")

    def _carried_value(self, loop: Operation, value: Value) -> Affine | Pointer:
        """The first value, and what the loop adds, as often as it has gone round."""
        if value in self._carried:
            raise NotAffine(loop, "values carried by the loop depend on one another")
        initial, yielded = carried_by(loop, value)
        start = self._of(initial)
        with self._assuming(value):
            end = self._of(yielded)
        if isinstance(end, Pointer):
            assert isinstance(start, Pointer)
            step = end.offset if end.base == value else None
        else:
            step = end - self.scalar(value)
        if step is None or any(_varies(symbol, loop, value) for symbol in step.all_symbols()):
            raise NotAffine(loop, "what the loop adds to the index is not the same every time")
        if isinstance(start, Pointer):
            return Pointer(start.base, start.offset + iteration_number(self, loop, step))
        return start + iteration_number(self, loop, step)

    @contextmanager
    def _assuming(self, value: Value) -> Iterator[None]:
        """Let `value` stand for itself; what is computed meanwhile is forgotten afterwards."""
        element = TensorType.of(value)
        pointer = PointerType.of(value) if element is None else element.pointer
        known, self._known = self._known, {}
        self._known[value] = Pointer(value, Affine({})) if pointer else self.scalar(value)
        self._carried.append(value)
        try:
            yield
        finally:
            self._carried.pop()
            self._known = known


def lanes_of(formula: Affine) -> set[int]:
    """Return along which dimensions a formula varies."""
    return {symbol.operands[0] for symbol in formula.all_symbols() if symbol.kind == affine.LANE}


def _split(left: Affine, right: Affine) -> tuple[Affine | None, Affine]:
    """Return q and r with left = q * right + r and 0 <= r < right, r with the sign of `left`.

    q is None where no such numbers are known.
    """
    divided = left.divided(right)
    if divided is not None:
        return divided, Affine({})
    number = right.number
    if number is None or number <= 0:
        return None, left
    multiples = left.only(lambda product: left.terms[product] % number == 0)
    rest = left - multiples
    low, high = numeric_range(rest)
    whole = numeric_range(multiples)[0]
    is_small = low is not None and high is not None and low >= 0 and high < number
    if is_small and whole is not None and whole >= 0:
        return multiples.divided(right), rest
    return None, left


def _varies(symbol: Symbol, loop: Operation, carried: Value) -> bool:
    if symbol.kind == affine.ITERATION:
        return bool(symbol.operands[0] == loop)
    if symbol.kind != affine.SCALAR:
        return False
    return symbol.operands[0] == carried or is_defined_inside(symbol.operands[0], loop)


def places(op: Operation) -> Callable[[int], int] | None:
    """Return to which dimension of the result a dimension of the operand goes."""
    if op.name == "tt.expand_dims":
        axis = int(op.attributes["axis"].value)
        return lambda dim: dim + (axis <= dim)
    if op.name == "tt.trans":
        order = [int(dim) for dim in op.attributes["order"]]
        return order.index
    before, after = (_shape(value) for value in (op.operands[0], op.results[0]))
    wide_before = [dim for dim, size in enumerate(before) if size != 1]
    wide_after = [dim for dim, size in enumerate(after) if size != 1]
    if [before[dim] for dim in wide_before] != [after[dim] for dim in wide_after]:
        return None
    return lambda dim: wide_after[wide_before.index(dim)]


def _shape(value: Value) -> tuple[int, ...]:
    tensor = TensorType.of(value)
    return tensor.shape if tensor is not None else ()


def _is_plain_bitcast(op: Operation) -> bool:
    """Return whether `op` casts pointers to elements of as many bytes (`i1` takes one)."""
    if op.name != "tt.bitcast":
        return False
    kinds = []
    for value in (op.operands[0], op.results[0]):
        tensor = TensorType.of(value)
        kinds.append(PointerType.of(value) if tensor is None else tensor.pointer)
    if None in kinds:
        return False
    widths = [max(element_bits(kind.pointee), 8) for kind in kinds if kind is not None]
    return widths[0] == widths[1]


def _reason(op: Operation) -> str:
    if op.name in ("tt.load", "tt.gather", "tt.descriptor_gather"):
        return "the index is read from memory"
    return f"the index is computed by '{op.name}'"
