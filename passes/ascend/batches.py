"""Products of batches of matrices, one matrix after the other."""

from __future__ import annotations

from flagc.ir.analysis.accesses import Refused
from flagc.ir.analysis.tensor_axes import Flaw, TensorAxes, nested_ops, shape_of
from flagc.ir.dead_code import erase_all_unused
from flagc.ir.module import Module, Operation
from flagc.passes.ttir.block_split import plan_split
from flagc.passes.ttir.chunk_loop import apply_split


def split_batches(module: Module) -> int | Refused:
    """Put the ops around products of three-dimensional blocks into loops over batches.

    The blocks of such a loop have one matrix. Returns how many loops there are now, or why there
    can be none.
    """
    count = 0
    while (product := _batched(module)) is not None:
        function = next(f for f in module.functions() if product in list(nested_ops(f)))
        axes = TensorAxes(function, depth_is_flaw=False)
        split = plan_split(axes, axes.of_value(product.results[0])[0])
        if isinstance(split, Flaw):
            reason = f"the matrices of a batch cannot be multiplied one by one: {split.reason}"
            return Refused(product, split.op, reason)
        apply_split(module, axes, split, 1)
        erase_all_unused(module)
        count += 1
    return count


def _batched(module: Module) -> Operation | None:
    """Return a product of more than one pair of matrices."""
    for op in module.walk("tt.dot"):
        shape = shape_of(op.results[0])
        if len(shape) == 3 and shape[0] > 1:
            return op
    return None
