"""What is stored, as an expression that vector cores compute from sums, loads and numbers.

    expressions = Expressions(values)
    node = expressions.of(store.operands[1])
    node.kind, node.name, node.form         # "binary", "add", "matrix"

A node has the form of the smallest thing that is repeated to what the kernel writes: a number, a
row, a column, or a matrix; what is computed of rows alone is a row. Arithmetic on 16-bit floats is
done in f32 and rounded after each op, which gives the same numbers (f32 has more than twice their
bits). A `math.fma` is rounded twice, and i32 becomes a 16-bit float by way of f32.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from flagc.ir.analysis.accesses import Refused
from flagc.ir.analysis.rational_functions import RATIONALS
from flagc.ir.module import Operation, Value, defining_op
from flagc.ir.types import TensorType, element_of
from flagc.mlir import ir

NUMBER, ROW, COLUMN, MATRIX = "number", "row", "column", "matrix"
_HALVES = ("f16", "bf16")
_UNARY = {"math.absf": "abs", "math.exp": "exp", "math.log": "ln", "math.sqrt": "sqrt",
          "tt.precise_sqrt": "sqrt"}  # fmt: skip
_ROUNDED = {"math.floor": "floor", "math.ceil": "ceil"}
_BINARY = {
    **{"arith.addf": "add", "arith.subf": "sub", "arith.mulf": "mul", "arith.divf": "div"},
    **{"tt.precise_divf": "div", "arith.maximumf": "max", "arith.minimumf": "min"},
    **{"arith.addi": "add", "arith.subi": "sub", "arith.muli": "mul"},
    **{"arith.maxsi": "max", "arith.minsi": "min"},
}
# One that is no number gives the other one.
_OF_NUMBERS = {"arith.maxnumf": "max", "arith.minnumf": "min"}
# arith.cmpf's predicates: the comparison, and whether its result is turned around. Comparisons with
# what is no number are false, but for "ne".
_COMPARISONS = {
    **{1: ("eq", False), 2: ("gt", False), 3: ("ge", False), 4: ("lt", False), 5: ("le", False)},
    **{9: ("le", True), 10: ("lt", True), 11: ("ge", True), 12: ("gt", True), 13: ("ne", False)},
}
_NEAREST_EVEN = 1  # RoundingMode of tt.fp_to_fp
_REPEATS = frozenset({"tt.broadcast", "tt.expand_dims", "tt.reshape"})
_LOADS = ("tt.load",)


@dataclass(frozen=True, eq=False)
class Node:
    """A part of an expression.

    Attributes:
        kind: "sum", "load", "number", "cast", "unary", "binary", "select".
        name: which function; of a cast, how it rounds ("" where it need not).
        element: the type of its elements: f32, i32; f16 and bf16 of loads, casts and what is
            stored.
        form: what of the matrix it depends on.
        operands: of a select: left and right of the comparison, and the two values.
        op: the op that it comes from.
        value: of a number, a scalar SSA value or the number itself.
    """

    kind: str
    name: str
    element: str
    form: str
    operands: tuple[Node, ...] = ()
    op: Operation | None = None
    value: Value | float | None = None


class _NoExpression(Exception):
    def __init__(self, op: Operation, reason: str) -> None:
        super().__init__(reason)
        self.op = op
        self.reason = reason


class Expressions:
    """Expressions of one module; equal values give the same nodes."""

    def __init__(self) -> None:
        self._known: dict[tuple[Value, int], Node] = {}
        self._widened: dict[Node, Node] = {}

    def of(self, value: Value, store: Operation) -> Node | Refused:
        """Return the expression that `store` stores, or the op that vector cores cannot compute."""
        try:
            return self._of(value, 1)
        except _NoExpression as problem:
            return Refused(store, problem.op, problem.reason)

    def _of(self, value: Value, dim: int) -> Node:
        """`dim`: along which dimension of the matrix a tensor of one dimension lies."""
        key = (value, dim)
        if key not in self._known:
            self._known[key] = self._compute(value, dim)
        return self._known[key]

    def _compute(self, value: Value, dim: int) -> Node:
        op = defining_op(value)
        if TensorType.of(value) is None:
            return self._number(value, value, op)
        if op is None:
            owner = value.owner.owner.operation
            raise _NoExpression(owner, "what is stored comes around by a loop")
        if op.name == "staged.read_accumulator":
            return Node("sum", "", element_of(value), MATRIX, op=op)
        if op.name in _LOADS:
            return Node("load", "", element_of(value), _form(value, dim), op=op)
        if op.name == "tt.splat":
            return self._number(op.operands[0], value, op)
        if op.name == "arith.constant":
            return self._constant(op)
        if op.name in _REPEATS:
            return self._of(op.operands[0], self._place(op, dim))
        return self._operation(op, dim)

    @staticmethod
    def _place(op: Operation, dim: int) -> int:
        """Return along which dimension the operand of an op that repeats or reshapes lies."""
        before, after = TensorType.of(op.operands[0]), TensorType.of(op.results[0])
        assert before is not None and after is not None
        if op.name == "tt.broadcast":
            return dim
        if len(before.shape) == 1 and len(after.shape) == 2:
            if after.shape[1] == before.shape[0] and after.shape[0] == 1:
                return 1
            if after.shape[0] == before.shape[0] and after.shape[1] == 1:
                return 0
        raise _NoExpression(op, "the tensor is reshaped")

    def _number(self, scalar: Value, value: Value, op: Operation | None) -> Node:
        kind = element_of(value)
        if kind not in ("f32", "i32", *_HALVES):
            owner = op if op is not None else scalar.owner.owner.operation
            raise _NoExpression(owner, f"vector cores take no numbers of {kind} here")
        made = defining_op(scalar)
        if made is not None and made.name in _LOADS:
            raise _NoExpression(made, "a number is loaded; vector cores load rows and columns")
        return Node("number", "", "i32" if kind == "i32" else "f32", NUMBER, op=op, value=scalar)

    @staticmethod
    def _constant(op: Operation) -> Node:
        attribute = op.attributes["value"]
        kind = element_of(op.results[0])
        if not isinstance(attribute, ir.DenseElementsAttr) or not attribute.is_splat:
            raise _NoExpression(op, "a constant of different numbers")
        number = attribute.get_splat_value().value
        if kind == "i1" or kind not in ("f32", "i32", *_HALVES):
            raise _NoExpression(op, f"a constant of {kind}")
        return Node("number", "", "i32" if kind == "i32" else "f32", NUMBER, op=op, value=number)

    def _operation(self, op: Operation, dim: int) -> Node:
        name = str(op.name)
        if name in ("arith.truncf", "tt.fp_to_fp", "arith.extf"):
            return self._converted(op, dim)
        if name in ("arith.sitofp", "arith.fptosi"):
            return self._with_integers(op, dim)
        if name == "arith.select":
            return self._select(op, dim)
        if name in _BINARY and element_of(op.results[0]) == "i32":
            return self._binary(op, _BINARY[name], *(self._of(v, dim) for v in op.operands))
        if element_of(op.results[0]) not in ("f32", *_HALVES):
            raise _NoExpression(op, f"'{name}' gives {element_of(op.results[0])}")
        operands = [self._wide(op, self._of(operand, dim)) for operand in op.operands]
        return self._narrow(op, self._float(op, operands))

    def _float(self, op: Operation, operands: list[Node]) -> Node:
        """Return an op's result in f32."""
        name = str(op.name)
        if name in _UNARY:
            return self._unary(op, _UNARY[name], *operands)
        if name in _ROUNDED:
            return Node("cast", _ROUNDED[name], "f32", operands[0].form, (operands[0],), op)
        if name in _BINARY:
            return self._binary(op, _BINARY[name], *operands)
        if name in _OF_NUMBERS:
            return self._of_numbers(op, _OF_NUMBERS[name], *operands)
        composed = self._composed(op, name, operands)
        if composed is None:
            raise _NoExpression(op, f"vector cores do not compute '{name}' in an epilogue")
        return composed

    def _composed(self, op: Operation, name: str, operands: list[Node]) -> Node | None:
        """Return functions that are made of others."""
        first = operands[0]
        match name:
            case "arith.negf":
                return self._binary(op, "mul", first, self._given(op, -1.0))
            case "math.rsqrt":
                root = self._unary(op, "sqrt", first)
                return self._binary(op, "div", self._given(op, 1.0), root)
            case "math.exp2":
                scaled = self._binary(op, "mul", first, self._given(op, math.log(2)))
                return self._unary(op, "exp", scaled)
            case "math.log2":
                logarithm = self._unary(op, "ln", first)
                return self._binary(op, "mul", logarithm, self._given(op, 1 / math.log(2)))
            case "math.fma":
                product = self._binary(op, "mul", first, operands[1])
                return self._binary(op, "add", product, operands[2])
            case "tt.clampf":
                low = self._of_numbers(op, "max", first, operands[1])
                return self._of_numbers(op, "min", low, operands[2])
            case "math.erf" | "math.tanh":
                return self._rational(op, name.removeprefix("math."), first)
        return None

    def _rational(self, op: Operation, name: str, x: Node) -> Node:
        """x * P(x*x) / Q(x*x) of x within bounds beyond which the function is 1 in f32."""
        function = RATIONALS[name]

        def bounded(node: Node, limit: float) -> Node:
            below = self._binary(op, "min", node, self._given(op, limit))
            return self._binary(op, "max", below, self._given(op, -limit))

        def polynomial(coefficients: tuple[float, ...], z: Node) -> Node:
            total = self._given(op, coefficients[-1])
            for coefficient in coefficients[-2::-1]:
                product = self._binary(op, "mul", z, total)
                total = self._binary(op, "add", product, self._given(op, coefficient))
            return total

        x = bounded(x, function.limit)
        square = self._binary(op, "mul", x, x)
        over = self._binary(op, "mul", x, polynomial(function.numerator, square))
        return bounded(self._binary(op, "div", over, polynomial(function.denominator, square)), 1.0)

    def _converted(self, op: Operation, dim: int) -> Node:
        given = self._of(op.operands[0], dim)
        target = element_of(op.results[0])
        rounding = op.attributes["rounding"].value if "rounding" in op.attributes else _NEAREST_EVEN
        if target == "f32":
            return self._wide(op, given)
        if target not in _HALVES or rounding != _NEAREST_EVEN:
            raise _NoExpression(op, f"vector cores do not round to {target} in this way")
        return self._narrow(op, self._wide(op, given))

    def _with_integers(self, op: Operation, dim: int) -> Node:
        given = self._of(op.operands[0], dim)
        source, target = element_of(op.operands[0]), element_of(op.results[0])
        if op.name == "arith.sitofp" and source == "i32" and target in ("f32", *_HALVES):
            return self._narrow(op, Node("cast", "rint", "f32", given.form, (given,), op))
        if op.name == "arith.fptosi" and target == "i32" and source in ("f32", *_HALVES):
            return Node("cast", "trunc", "i32", given.form, (self._wide(op, given),), op)
        raise _NoExpression(op, f"vector cores do not convert {source} to {target}")

    def _select(self, op: Operation, dim: int) -> Node:
        condition, yes, no = op.operands
        nodes = [self._wide(op, self._of(value, dim)) for value in (yes, no)]
        return self._narrow(op, self._chosen(op, condition, dim, *nodes))

    def _chosen(self, op: Operation, condition: Value, dim: int, yes: Node, no: Node) -> Node:
        """Return `condition ? yes : no`."""
        test = defining_op(condition)
        while test is not None and test.name in _REPEATS:
            dim = self._place(test, dim)
            condition = test.operands[0]
            test = defining_op(condition)
        if test is not None and test.name == "arith.andi":
            left, right = test.operands
            return self._chosen(op, left, dim, self._chosen(op, right, dim, yes, no), no)
        if test is not None and test.name == "arith.ori":
            left, right = test.operands
            return self._chosen(op, left, dim, yes, self._chosen(op, right, dim, yes, no))
        if test is None or test.name != "arith.cmpf":
            raise _NoExpression(test or op, "the choice depends on no comparison of floats")
        predicate = int(test.attributes["predicate"].value)
        if predicate not in _COMPARISONS:
            raise _NoExpression(test, "vector cores do not compare in this way")
        name, turned = _COMPARISONS[predicate]
        sides = [self._wide(test, self._of(value, dim)) for value in test.operands]
        values = (no, yes) if turned else (yes, no)
        return self._compared(op, name, *sides, *values)

    def _of_numbers(self, op: Operation, name: str, left: Node, right: Node) -> Node:
        """Return the larger or smaller one; of two of which one is no number, the other."""
        first = left if _is_constant(left) else self._compared(op, "eq", left, left, left, right)
        second = (
            right if _is_constant(right) else self._compared(op, "eq", right, right, right, left)
        )
        return self._binary(op, name, first, second)

    @staticmethod
    def _given(op: Operation, number: float) -> Node:
        return Node("number", "", "f32", NUMBER, op=op, value=number)

    @staticmethod
    def _unary(op: Operation, name: str, operand: Node) -> Node:
        return Node("unary", name, "f32", operand.form, (operand,), op)

    @staticmethod
    def _binary(op: Operation, name: str, left: Node, right: Node) -> Node:
        if left.element != right.element:
            raise _NoExpression(op, f"an op on {left.element} and {right.element}")
        return Node("binary", name, left.element, _joined((left, right)), (left, right), op)

    @staticmethod
    def _compared(op: Operation, name: str, *operands: Node) -> Node:
        return Node("select", name, "f32", _joined(operands), operands, op)

    def _wide(self, op: Operation, node: Node) -> Node:
        """Return the same in f32."""
        if node.element == "f32":
            return node
        if node.element not in _HALVES:
            raise _NoExpression(op, f"vector cores do not take {node.element} for a float here")
        if node not in self._widened:
            self._widened[node] = Node("cast", "", "f32", node.form, (node,), op)
        return self._widened[node]

    @staticmethod
    def _narrow(op: Operation, node: Node) -> Node:
        """Return a result in f32 as the element type of the op's result."""
        target = element_of(op.results[0])
        if target == "f32":
            return node
        return Node("cast", "rint", target, node.form, (node,), op)


def _form(value: Value, dim: int) -> str:
    """Return what of the matrix a loaded tensor is."""
    tensor = TensorType.of(value)
    assert tensor is not None
    if len(tensor.shape) == 1:
        return ROW if dim == 1 else COLUMN
    rows, columns = tensor.shape[-2:]
    if rows == 1:
        return ROW
    return COLUMN if columns == 1 else MATRIX


def _is_constant(node: Node) -> bool:
    """Return whether it is a number, and known."""
    return isinstance(node.value, float) and not math.isnan(node.value)


def _joined(nodes: tuple[Node, ...]) -> str:
    """Return the form of what is computed of these."""
    forms = {node.form for node in nodes} - {NUMBER}
    if not forms:
        return NUMBER
    return forms.pop() if len(forms) == 1 else MATRIX


def in_order(roots: list[Node]) -> Iterator[Node]:
    """Yield the nodes that `roots` are made of, each once, operands first."""
    seen: set[Node] = set()
    pending = [(root, False) for root in roots[::-1]]
    while pending:
        node, is_ready = pending.pop()
        if node in seen:
            continue
        if is_ready:
            seen.add(node)
            yield node
        else:
            pending.append((node, True))
            pending += [(operand, False) for operand in node.operands[::-1]]
