"""Which rows and columns of a tensor are stored in the end."""

from __future__ import annotations

from flagc.ir.analysis.accesses import Access, describe
from flagc.ir.analysis.affine import Affine
from flagc.ir.analysis.extents import mask_problem, matrix_extents
from flagc.ir.analysis.index_values import IndexValues
from flagc.ir.analysis.integer_facts import Facts
from flagc.ir.module import Operation, Value
from flagc.ir.types import TensorType

STORES = frozenset({"tt.store", "tt.atomic_rmw"})
_VALUE = 1  # the operand of a store that is stored
_ELEMENTWISE = ("arith.", "math.", "tt.fp_to_fp")


def stored_extents(
    values: IndexValues, facts: Facts, readers: list[tuple[Operation, int]]
) -> list[tuple[Affine, ...]] | None:
    """Return the extents of each store that `readers` of a tensor lead to.

    None where something other than such stores, of the same rows and columns, may see the tensor.
    """
    found = []
    pending = list(readers)
    seen: set[Value] = set()
    while pending:
        op, number = pending.pop()
        if op.name in STORES and number == _VALUE:
            extents = _extents(values, facts, op)
            if extents is None:
                return None
            found.append(extents)
        elif op.name.startswith(_ELEMENTWISE) and _same_shape(op):
            (result,) = op.results
            if result not in seen:
                seen.add(result)
                pending += [(use.owner.operation, use.operand_number) for use in result.uses]
        else:
            return None
    return found


def _extents(values: IndexValues, facts: Facts, op: Operation) -> tuple[Affine, ...] | None:
    access = describe(values, op)
    if not isinstance(access, Access) or mask_problem(access) is not None:
        return None
    extents = matrix_extents(facts, access)
    return None if isinstance(extents, str) else tuple(extents)


def _same_shape(op: Operation) -> bool:
    shapes = {tensor.shape for value in (*op.operands, *op.results)
              if (tensor := TensorType.of(value)) is not None}  # fmt: skip
    return len(op.results) == 1 and len(shapes) == 1
