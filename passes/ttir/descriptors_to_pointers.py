"""Replace tensor descriptors by pointers and masks, for targets without such hardware."""

from __future__ import annotations

from dataclasses import dataclass

from flagc.ir.analysis import descriptors as analysis
from flagc.ir.analysis.descriptors import DescriptorArgument
from flagc.ir.module import Module, Operation, Value
from flagc.ir.types import TensorDescType
from flagc.passes.ttir.descriptor_access import Descriptor, rewrite_access
from flagc.passes.ttir.descriptor_signature import replace_arguments
from flagc.pipeline.context import PassContext
from flagc.pipeline.passes import Pass, register


@register
@dataclass(frozen=True)
class DescriptorsToPointers(Pass):
    """Replace tensor descriptors by pointer arithmetic with bounds masks.

    Loads outside the tensor give zero, or NaN where the descriptor says so; stores outside do
    nothing; gather, scatter and reductions likewise. Descriptors that the host
    makes become a pointer and sizes in the kernel's signature, in the form in which Triton's own
    launcher passes them to a kernel without TMA. A descriptor that goes through a loop, a branch or
    a call is left alone with a remark. f32 is not rounded to tf32, for which a descriptor of Triton
    3.9 may ask.
    """

    name = "descriptors-to-pointers"
    level = "ttir"

    def run(self, module: Module, context: PassContext) -> None:
        """Replace the descriptors made in the kernel, then those of its signature."""
        for op, kind in list(analysis.made_in_kernel(module)):
            problem = analysis.obstacle(op.results[0], kind)
            if problem is not None:
                context.remark(op, f"left alone: {problem[1]}")
                continue
            _replace_uses(module, op.results[0], _parts(op, kind))
            op.erase()
            context.statistic("descriptors replaced")
        for function in module.functions():
            _replace_in_signature(module, function, context)


def _parts(op: Operation, kind: TensorDescType) -> Descriptor:
    """Return the parts of a `tt.make_tensor_descriptor`: base, sizes, strides."""
    rank = len(kind.block.shape)
    base, *others = op.operands
    sizes, strides = tuple(others[:rank]), tuple(others[rank:])
    return Descriptor(kind.block, base, sizes, strides, analysis.pads_with_nan(op))


def _replace_in_signature(module: Module, function: Operation, context: PassContext) -> None:
    """Replace a kernel's descriptor arguments, all or none: the launcher knows no mixture."""
    found = analysis.arguments(function)
    for argument in found:
        if isinstance(argument, tuple):
            context.remark(function, f"descriptor argument left alone: {argument[1]}")
            return
        problem = analysis.obstacle(argument.value, argument.type)
        if problem is not None:
            context.remark(problem[0], f"descriptor arguments left alone: {problem[1]}")
            return
    known = [argument for argument in found if isinstance(argument, DescriptorArgument)]
    if not known:
        return
    if not _is_kernel(function):
        context.remark(function, "descriptor arguments left alone: this is not the kernel itself")
        return
    replace_arguments(
        module, function, known, lambda value, parts: _replace_uses(module, value, parts)
    )
    context.statistic("descriptor arguments replaced", len(known))


def _is_kernel(function: Operation) -> bool:
    attributes = function.attributes
    return "sym_visibility" not in attributes or attributes["sym_visibility"].value == "public"


def _replace_uses(module: Module, value: Value, descriptor: Descriptor) -> None:
    for access in analysis.uses_of(value):
        rewrite_access(module, access, descriptor)
