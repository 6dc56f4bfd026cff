"""The launch plan of a kernel's function, and the arguments that it adds."""

from __future__ import annotations

from collections.abc import Sequence

from flagc.ir.launch_plan import METADATA, LaunchPlan
from flagc.ir.module import Module, Operation, Value

_AXES = 3
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
    return LaunchPlan(tuple(old), tuple(new), programs, ways, workspace, tuple(limits))  # type: ignore[arg-type]


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


def script_grid(function: Operation) -> tuple[Value, ...]:
    """Return the arguments that hold the script's grid, of a function that has a plan."""
    plan = plan_of(function)
    assert plan is not None
    end = len(_MEMORY) if plan.workspace else 0
    arguments = list(function.regions[0].blocks[0].arguments)
    first = len(arguments) - end - _AXES
    return tuple(arguments[first : first + _AXES])


def shared_memory(function: Operation) -> tuple[Value, Value]:
    """Return the workspace and the counters, of a function whose plan has them."""
    *_, workspace, counters = function.regions[0].blocks[0].arguments
    return workspace, counters


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
