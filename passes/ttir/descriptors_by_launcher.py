"""Let the launcher make tensor descriptors, not every program of the kernel."""

from __future__ import annotations

from dataclasses import dataclass

from flagc.ir.analysis import descriptors as analysis
from flagc.ir.launch_arguments import plan_descriptors, plan_of, script_arguments
from flagc.ir.launch_plan import Number, PlannedDescriptor
from flagc.ir.module import Module, Operation, Value, defining_op
from flagc.ir.types import TensorDescType
from flagc.pipeline.context import PassContext
from flagc.pipeline.passes import Pass, register

_FIRST_WITH_TMA = 90  # compute capability 9.0: PTX ISA, "cp.async.bulk.tensor"


@register
@dataclass(frozen=True)
class DescriptorsByLauncher(Pass):
    """Make the tensor descriptors of a kernel (`tt.make_tensor_descriptor`) once for each launch.

    Made in the kernel, every program writes its descriptors to global memory and waits until the
    TMA unit may read them, about 2 us before the first load. The launcher, which knows the same
    numbers, passes them as parameters instead, as scripts pass those that they make.

    Moved is a descriptor whose base is an argument, whose sizes and strides are arguments or
    numbers, and which every program makes. Others stay: one under a condition may be impossible
    where the condition does not hold (`loads-to-descriptors{versioned=true}`).

    The launcher takes the descriptors from the launch plan (`flagc.ir.launch_plan`), so flagc's
    launchers are needed: `flagc --run` and `--bench`, bundles, `flagc.install` and
    `flagc.use_passes`. It goes after `loads-to-descriptors`, and last.
    """

    name = "descriptors-by-launcher"
    level = "ttir"

    def run(self, module: Module, context: PassContext) -> None:
        """Replace descriptors by arguments of the kernel."""
        if getattr(context.target, "capability", _FIRST_WITH_TMA) < _FIRST_WITH_TMA or (
            context.target is not None and not hasattr(context.target, "multiprocessors")
        ):
            context.remark(None, "not applied: only launchers for CUDA, sm90 and later, make any")
            return
        function = context.only_function()
        if function is None:
            return
        plan = plan_of(function)
        if analysis.arguments(function) or (plan is not None and plan.descriptors):
            context.remark(function, "not applied: the kernel's launch makes descriptors already")
            return
        moved: list[Operation] = []
        planned: list[PlannedDescriptor] = []
        for op, kind in analysis.made_in_kernel(module):
            found = _planned(op, kind, function)
            if isinstance(found, str):
                context.remark(op, f"stays in the kernel: {found}")
                continue
            moved.append(op)
            planned.append(found)
        if not planned:
            return
        for op, value in zip(moved, plan_descriptors(module, function, planned), strict=True):
            module.replace(op, [value])
        context.statistic("descriptors made by the launcher", len(moved))


def _planned(op: Operation, kind: TensorDescType, function: Operation) -> PlannedDescriptor | str:
    """Return what the launcher has to know, or why it cannot make the descriptor."""
    if op.block != function.regions[0].blocks[0]:
        return "not every program makes it"
    arguments = script_arguments(function)
    rank = len(kind.block.shape)
    base, *others = op.operands
    if base not in arguments:
        return "its base is computed"
    numbers = [_number(value, arguments) for value in others]
    known = [number for number in numbers if number is not None]
    if len(known) < len(numbers):
        return "a size or stride is computed"
    if known[-1] != 1:
        return "its last stride is not known to be 1"
    return PlannedDescriptor(
        arguments.index(base),
        kind.block.element,
        kind.block.shape,
        tuple(known[:rank]),
        tuple(known[rank:]),
        "nan" if analysis.pads_with_nan(op) else "zero",
    )


def _number(value: Value, arguments: list[Value]) -> Number | None:
    """Return a number as a launcher knows it, None if it does not."""
    if value in arguments:
        return (arguments.index(value),)
    op = defining_op(value)
    if op is None:
        return None
    if op.name == "arith.extsi":
        return _number(op.operands[0], arguments)
    return int(op.attributes["value"].value) if op.name == "arith.constant" else None
