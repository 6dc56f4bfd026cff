"""Load and store blocks through tensor descriptors, which the TMA unit of sm90 and later reads."""

from __future__ import annotations

from dataclasses import dataclass

from flagc.ir.analysis.accesses import Refused, accesses
from flagc.ir.analysis.descriptor_plan import DescriptorPlan, NoDescriptor, plan
from flagc.ir.analysis.index_values import IndexValues
from flagc.ir.analysis.integer_facts import Facts
from flagc.ir.analysis.memory_order import order_obstacle
from flagc.ir.module import Module, Operation
from flagc.ir.types import TensorType
from flagc.passes.ttir.alignment_versions import alignment_checks, split_by_alignment
from flagc.passes.ttir.descriptor_creation import DescriptorWriter
from flagc.pipeline.context import PassContext
from flagc.pipeline.passes import Pass, register

_FIRST_WITH_TMA = 90  # compute capability 9.0: PTX ISA, "cp.async.bulk.tensor"


@register
@dataclass(frozen=True)
class LoadsToDescriptors(Pass):
    """Turn block loads and stores into ones through tensor descriptors made in the kernel.

    Rewritten is an access of two or more dimensions whose addresses are a pointer argument plus
    rows and columns, one of them with stride 1, and whose mask is their bounds: `(rows < M) &
    (inner < K)`, in any of the forms that loops and swizzled program ids give. The bounds become
    the descriptor's sizes; the hardware then masks. A transposed operand (the first dimension has
    stride 1) is loaded as it lies and transposed in the kernel.

    The pointer and all strides but the last must be multiples of 16 bytes, and so must be the
    length of the rows of a store: past their end the hardware writes up to the next multiple. Where
    that does not follow from the arguments' specialisation, the access stays as it is; with
    `versioned` the kernel's body is there twice, and pointers, strides and lengths decide at run
    time. Refused are accesses whose order with others through the same pointer would show.

    Such a kernel needs memory of its own for the descriptors (128 bytes each and program): the
    launcher asks the allocator of `triton.set_allocator` for it, and fails if none is set.
    `flagc.install`, `flagc.use_passes` and `flagc-run` set one that takes memory from PyTorch
    where the program has set none; a program that launches a compiled kernel by itself has to pass
    a buffer of `global_scratch_size` bytes (in the kernel's metadata) a program.

    `min_dimensions=1` takes vectors as well; `stores=false` leaves stores alone.
    """

    name = "loads-to-descriptors"
    level = "ttir"
    versioned: bool = False
    stores: bool = True
    min_dimensions: int = 2

    def run(self, module: Module, context: PassContext) -> None:
        """Rewrite what is aligned, then, if wanted, a copy of the kernel for the rest."""
        capability = getattr(context.target, "capability", _FIRST_WITH_TMA)
        if capability < _FIRST_WITH_TMA:
            context.remark(
                None, f"not applied: sm{capability} has no TMA; sm90 is the first that has"
            )
            return
        for function in module.functions():
            plans = self._plans(module, function, context)
            aligned = [found for found in plans if found.is_aligned]
            others = [found for found in plans if not found.is_aligned]
            writer = DescriptorWriter(module, function)
            if self.versioned and others:
                _rewrite_version(module, function, context, aligned, others)
                continue
            for found in others:
                context.remark(found.access.op, f"left as it is: {_misalignment(found)}")
            for found in aligned:
                writer.rewrite(found)
            context.statistic("accesses rewritten", len(aligned))

    def _plans(
        self, module: Module, function: Operation, context: PassContext
    ) -> list[DescriptorPlan]:
        """Return descriptors for the accesses of `function` that can have one."""
        values = IndexValues()
        facts = Facts(values)
        plans = []
        for found in accesses(module, values):
            tensor = TensorType.of(found.op.operands[0])
            is_block = tensor is not None and tensor.pointer is not None
            wide = [size for size in (tensor.shape if tensor else ()) if size > 1]
            if not is_block or len(wide) < self.min_dimensions or not _is_in(found.op, function):
                continue
            if found.op.name == "tt.store" and not self.stores:
                continue
            if isinstance(found, Refused):
                context.remark(found.op, f"left as it is: {found.reason}")
                continue
            try:
                candidate = plan(facts, found)
            except NoDescriptor as problem:
                context.remark(found.op, f"left as it is: {problem}")
                continue
            obstacle = order_obstacle(function, found.op)
            if obstacle is not None:
                context.remark(found.op, f"left as it is: {obstacle}")
                continue
            plans.append(candidate)
        return plans


def _rewrite_version(
    module: Module,
    function: Operation,
    context: PassContext,
    aligned: list[DescriptorPlan],
    others: list[DescriptorPlan],
) -> None:
    """Put the kernel's body under a check of alignment, and rewrite that version of it."""
    checks = alignment_checks(others)
    if len(function.regions[0].blocks) > 1:
        checks = "the kernel returns early; structured-early-return makes it one block"
    if isinstance(checks, str):
        context.remark(others[0].access.op, f"no second version: {checks}")
        inside, plans = function, aligned
    else:
        inside, plans = split_by_alignment(module, function, checks), [*aligned, *others]
        context.statistic("kernels in two versions")
    writer = DescriptorWriter(module, inside)
    for found in plans:
        writer.rewrite(found)
    context.statistic("accesses rewritten", len(plans))


def _misalignment(found: DescriptorPlan) -> str:
    of_rows = "strides or offsets" if found.access.is_load else "strides, offsets or row lengths"
    what = f"its {of_rows} are" if found.unaligned else "its pointer is"
    return (
        f"{what} not known to be 16-byte aligned; "
        "loads-to-descriptors{versioned=true} finds out at run time"
    )


def _is_in(op: Operation, function: Operation) -> bool:
    owner = op.parent
    while owner is not None and owner.operation != function:
        owner = owner.operation.parent
    return owner is not None
