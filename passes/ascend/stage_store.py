"""Store accumulators of the Cube, with bias, ReLU and rounding on the way."""

from __future__ import annotations

from dataclasses import dataclass

from flagc.ir.analysis.accesses import Refused
from flagc.ir.analysis.epilogues import Epilogue, epilogue
from flagc.ir.analysis.index_values import IndexValues
from flagc.ir.analysis.integer_facts import Facts
from flagc.ir.dead_code import is_unused
from flagc.ir.equal_ops import merge_equal_scalars
from flagc.ir.module import Module, Operation, Value
from flagc.ir.scalar_values import ScalarValues
from flagc.ir.staged.operations import create
from flagc.ir.staged.tiles import TileType
from flagc.ir.types import TensorType
from flagc.ir.unused_values import erase_unused_values
from flagc.passes.ascend.cube_bias import Bias, add_bias, bias_of
from flagc.passes.ascend.matrix_blocks import MatrixBlock, stored_block
from flagc.pipeline.context import PassContext
from flagc.pipeline.passes import Pass, register

STORES = ("tt.store", "tt.atomic_rmw")
_ADDITIONS = (4, 5)  # RMWOp: add, fadd


@register
@dataclass(frozen=True)
class StageStore(Pass):
    """Turn stores of accumulators into `staged.fixpipe`.

    acc = read_accumulator(tile)            bias = staged.alloc ...
    y = acc + bias[None, :]                 staged.mad(..., bias)
    y = max(y, 0)                      =>   staged.fixpipe(tile, base, offset, stride, m, n) {relu}
    tl.store(ptrs, y.to(fp16), mask)

    The store's mask becomes the limits `m` and `n`. An atomic addition whose result nobody uses is
    a `fixpipe` that adds. Whatever tensor ops are left then are no part of a product.
    """

    name = "stage-store"
    level = "staged"

    def run(self, module: Module, context: PassContext) -> None:
        """Replace every store."""
        for op in module.walk("tt.dot"):
            text = "the product is not on the Cube; stage-dot-on-cube puts it there"
            context.decline(op, text)
        values = IndexValues()
        facts = Facts(values)
        found = []
        for op in module.walk(*STORES):
            move = move_of(values, facts, op)
            if isinstance(move, Refused):
                context.decline(move.at, move.reason)
            found.append(move)
        biases = biases_of(values, facts, found)
        if isinstance(biases, Refused):
            context.decline(biases.at, biases.reason)
        scalars = ScalarValues(module, values)
        for tile, bias in biases.items():
            problem = add_bias(module, scalars, tile, bias)
            if problem is not None:
                context.decline(problem.at, problem.reason)
        for move in found:
            _emit(module, scalars, move)
            context.statistic("stores")
        for move in found:
            move.op.erase()
        erase_readers(module)
        merge_equal_scalars(module)
        left = _left_over(module)
        if left is not None:
            context.decline(left, "no part of a matrix product, so the Cube does not do it")


@dataclass(frozen=True)
class Move:
    """What a store becomes: rows of an accumulator to rows of a matrix."""

    block: MatrixBlock
    epilogue: Epilogue
    tile: Value
    atomic: bool

    @property
    def op(self) -> Operation:
        """The store."""
        return self.block.op


def move_of(values: IndexValues, facts: Facts, op: Operation) -> Move | Refused:
    """Return what a store is on the way from L0C, or why it is done elsewhere."""
    problem = atomic_problem(op)
    if problem is not None:
        return Refused(op, op, problem)
    value = op.operands[1]
    if TensorType.of(value) is None:
        return Refused(op, op, "a number is stored, no sum of matrix products")
    done = epilogue(value, op)
    if isinstance(done, Refused):
        return done
    block = stored_block(values, facts, op)
    if isinstance(block, Refused):
        return block
    return Move(block, done, done.sum.operands[0], atomic=op.name == "tt.atomic_rmw")


def atomic_problem(op: Operation) -> str | None:
    """Say why an atomic store cannot be one of moves from on-chip memory."""
    if op.name == "tt.atomic_rmw":
        if not is_unused(op):
            return "the atomic operation's result is used"
        if op.attributes["atomic_rmw_op"].value not in _ADDITIONS:
            return "only additions are atomic on the way from L0C"
    return None


def biases_of(values: IndexValues, facts: Facts, moves: list[Move]) -> dict[Value, Bias] | Refused:
    """Return the bias of each accumulator that has one."""
    found: dict[Value, Bias] = {}
    for move in moves:
        load = move.epilogue.bias
        others = [other.epilogue.bias for other in moves if other.tile == move.tile]
        if any((other is None) != (load is None) or (other and other != load) for other in others):
            return Refused(move.op, move.op, "the sum is stored with different biases")
        if load is not None and move.tile not in found:
            needed = [other.block.columns[0] for other in moves if other.tile == move.tile]
            bias = bias_of(values, facts, load, needed)
            if isinstance(bias, Refused):
                return bias
            found[move.tile] = bias
    return found


def _emit(module: Module, scalars: ScalarValues, move: Move) -> None:
    tile = TileType.of(move.tile)
    assert tile is not None
    limits = {}
    for name, (formula, size), padded in (
        ("m", move.block.rows, tile.rows),
        ("n", move.block.columns, tile.columns),
    ):
        limits[name] = scalars.limit(formula, size, move.op, clamped=padded > size)
    attributes = {"relu": "true"} if move.epilogue.relu else {}
    if move.atomic:
        attributes["atomic"] = '"add"'
    create(
        module,
        "fixpipe",
        {
            "source": move.tile,
            "base": move.block.base,
            "offset": scalars.at(move.block.offset, "i64", move.op),
            "row_stride": scalars.at(move.block.row_stride, "i64", move.op),
            **limits,
        },
        attributes,
        before=move.op,
    )


def erase_readers(module: Module) -> None:
    """Erase what led to the stores; loads that nobody uses are erased with it."""
    erased = True
    while erased:
        erase_unused_values(module)
        erased = False
        for op in module.walk("staged.read_accumulator", "tt.load"):
            if is_unused(op):
                op.erase()
                erased = True


def _left_over(module: Module) -> Operation | None:
    """Return an op on tensors or global memory that is left."""
    for op in module.walk():
        if op.name.startswith("tt.") and op.name not in _SCALAR_OPS:
            return op
        if any(TensorType.of(value) is not None for value in (*op.operands, *op.results)):
            return op
    return None


_SCALAR_OPS = frozenset(
    {"tt.func", "tt.return", "tt.get_program_id", "tt.get_num_programs", "tt.addptr"}
)
