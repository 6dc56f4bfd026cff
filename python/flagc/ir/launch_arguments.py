"""The launch plan of a kernel's function, and the arguments that it adds."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict

from flagc.ir.descriptor_abi import types_are_bare
from flagc.ir.launch_plan import METADATA, LaunchPlan, PlannedDescriptor
from flagc.ir.module import Module, Operation, Value
from flagc.ir.types import TensorDescType, TensorType

_AXES = 3
# The function's attribute with the plan's descriptors, as JSON.
_DESCRIPTORS = f"{METADATA}_descriptors"
_GRID = (("i32", "{}"),) * _AXES
_ALIGNED = "{tt.divisibility = 16 : i32}"
# Sums are kept in f32.
_MEMORY = (("!tt.ptr<f32>", _ALIGNED), ("!tt.ptr<i32>", _ALIGNED))


def plan_of(function: Operation) -> LaunchPlan | None:
    """Return the plan of `function`, or None if it is launched as the script says."""
    if METADATA not in function.attributes:
        return None
    numbers = [int(number) for number in function.attributes[METADATA]]
    old, new, rest = numbers[:_AXES], numbers[_AXES : 2 * _AXES], numbers[2 * _AXES :]
    programs, ways, workspace, *limits = rest
    listed = (
        json.loads(function.attributes[_DESCRIPTORS].value)
        if _DESCRIPTORS in function.attributes
        else []
    )
    made = tuple(map(PlannedDescriptor.of, listed))
    return LaunchPlan(tuple(old), tuple(new), programs, ways, workspace, tuple(limits), made)  # type: ignore[arg-type]


def set_plan(module: Module, function: Operation, plan: LaunchPlan) -> None:
    """Note the plan at `function`, and give it the arguments that the plan adds."""
    before = plan_of(function)
    if before is None:
        add_arguments(module, function, _GRID)
    if plan.workspace and not (before and before.workspace):
        add_arguments(module, function, _MEMORY)
    parts = (plan.programs, plan.ways, plan.workspace)
    numbers = ", ".join(map(str, (*plan.old_blocks, *plan.new_blocks, *parts, *plan.limits)))
    function.attributes[METADATA] = module.attribute(f"array<i32: {numbers}>")


def plan_descriptors(
    module: Module, function: Operation, planned: Sequence[PlannedDescriptor]
) -> list[Value]:
    """Let the launcher make descriptors, the first that it makes; return them.

    A workspace must not be added to the plan afterwards.
    """
    set_plan(module, function, plan_of(function) or LaunchPlan())
    listed = json.dumps([asdict(descriptor) for descriptor in planned])
    function.attributes[_DESCRIPTORS] = module.attribute(json.dumps(listed))
    values = []
    for descriptor in planned:
        block = TensorType(descriptor.block, descriptor.element)
        rank = len(descriptor.block)
        kinds = (TensorDescType(block, bare=types_are_bare()).text(), *["i32"] * rank)
        added = [(kind, "{}") for kind in (*kinds, *["i64"] * rank)]
        values.append(add_arguments(module, function, added)[0])
    return values


def script_arguments(function: Operation) -> list[Value]:
    """Return the arguments that the script's launch has, without those of a plan."""
    arguments = list(function.regions[0].blocks[0].arguments)
    plan = plan_of(function)
    return arguments if plan is None else arguments[: -_AXES - _after_grid(plan)]


def _after_grid(plan: LaunchPlan) -> int:
    return _of_descriptors(plan) + (len(_MEMORY) if plan.workspace else 0)


def _of_descriptors(plan: LaunchPlan) -> int:
    return sum(descriptor.arguments for descriptor in plan.descriptors)


def script_grid(function: Operation) -> tuple[Value, ...]:
    """Return the arguments that hold the script's grid, of a function that has a plan."""
    plan = plan_of(function)
    assert plan is not None
    arguments = list(function.regions[0].blocks[0].arguments)
    first = len(arguments) - _after_grid(plan) - _AXES
    return tuple(arguments[first : first + _AXES])


def shared_memory(function: Operation) -> tuple[Value, Value]:
    """Return the workspace and the counters, of a function whose plan has them."""
    plan = plan_of(function)
    assert plan is not None
    arguments = list(function.regions[0].blocks[0].arguments)
    first = len(arguments) - _after_grid(plan)
    return arguments[first], arguments[first + 1]


def add_arguments(
    module: Module, function: Operation, added: Sequence[tuple[str, str]]
) -> list[Value]:
    """Give `function` further arguments, of which `added` has types and attributes; return them."""
    block = function.regions[0].blocks[0]
    for kind, _ in added:
        block.add_argument(module.type(kind), function.location)
    types = ", ".join(str(argument.type) for argument in block.arguments)
    function.attributes["function_type"] = module.attribute(f"({types}) -> ()")
    kept = ["{}"] * (len(block.arguments) - len(added))
    if "arg_attrs" in function.attributes:
        kept = [str(attributes) for attributes in function.attributes["arg_attrs"]]
    text = ", ".join([*kept, *(attributes for _, attributes in added)])
    function.attributes["arg_attrs"] = module.attribute(f"[{text}]")
    return list(block.arguments)[len(kept) :]
