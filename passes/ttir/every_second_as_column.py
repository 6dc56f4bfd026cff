"""Store to every second element as a column."""

from __future__ import annotations

from dataclasses import dataclass

from flagc.ir.analysis.strides import last_stride
from flagc.ir.builder import Builder
from flagc.ir.module import Module, Operation, Value
from flagc.ir.types import TensorType
from flagc.pipeline.context import PassContext
from flagc.pipeline.passes import Pass, register


@register
@dataclass(frozen=True)
class EverySecondAsColumn(Pass):
    """Give masked stores to every second element one more dimension, of size 1.

    Real and imaginary parts, or rotated pairs, are stored so. The vendor's Ascend adapter takes
    stores with stride 2 along the last dimension for halves of an interleaved one, and then aborts
    if they are masked (InterleaveOptimization.cpp). Stored as a column, the same elements go to the
    same places, and the last dimension has nothing to interleave.
    """

    name = "every-second-as-column"
    level = "ttir"

    def run(self, module: Module, context: PassContext) -> None:
        """Recreate each such store with its operands expanded."""
        for store in module.walk("tt.store"):
            is_masked = len(store.operands) == 3
            tensor = TensorType.of(store.operands[1])
            if not is_masked or tensor is None or tensor.shape[-1] == 1:
                continue
            if last_stride(store.operands[0]) == 2:
                _as_column(module, store)
                context.statistic("stores made columns")


def _as_column(module: Module, store: Operation) -> None:
    build = Builder(module, before=store)
    operands = [_expanded(build, operand) for operand in store.operands]
    attributes = {name: store.attributes[name] for name in store.attributes}
    module.create("tt.store", operands, [], attributes, before=store)
    store.erase()


def _expanded(build: Builder, value: Value) -> Value:
    tensor = TensorType.of(value)
    assert tensor is not None
    kind = TensorType((*tensor.shape, 1), tensor.element, tensor.layout).text()
    return build.op("tt.expand_dims", [value], kind, {"axis": f"{len(tensor.shape)} : i32"})
