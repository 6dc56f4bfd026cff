"""The launch plan of a kernel's function, and the arguments that it adds."""

from __future__ import annotations

from flagc.ir.launch_plan import METADATA, LaunchPlan
from flagc.ir.module import Module, Operation, Value

_AXES = 3


def plan_of(function: Operation) -> LaunchPlan | None:
    """Return the plan of `function`, or None if it is launched as the script says."""
    if METADATA not in function.attributes:
        return None
    numbers = [int(number) for number in function.attributes[METADATA]]
    old, new, (programs,) = numbers[:_AXES], numbers[_AXES : 2 * _AXES], numbers[2 * _AXES :]
    return LaunchPlan(tuple(old), tuple(new), programs)  # type: ignore[arg-type]


def set_plan(module: Module, function: Operation, plan: LaunchPlan) -> None:
    """Note the plan at `function`, and give it the arguments of the script's grid."""
    if plan_of(function) is None:
        _add_arguments(module, function)
    numbers = ", ".join(map(str, (*plan.old_blocks, *plan.new_blocks, plan.programs)))
    function.attributes[METADATA] = module.attribute(f"array<i32: {numbers}>")


def script_grid(function: Operation) -> tuple[Value, ...]:
    """Return the arguments that hold the script's grid, of a function that has a plan."""
    return tuple(list(function.regions[0].blocks[0].arguments)[-_AXES:])


def _add_arguments(module: Module, function: Operation) -> None:
    block = function.regions[0].blocks[0]
    for _ in range(_AXES):
        block.add_argument(module.type("i32"), function.location)
    types = ", ".join(str(argument.type) for argument in block.arguments)
    function.attributes["function_type"] = module.attribute(f"({types}) -> ()")
    if "arg_attrs" in function.attributes:
        kept = [str(attributes) for attributes in function.attributes["arg_attrs"]]
        text = ", ".join([*kept, *["{}"] * _AXES])
        function.attributes["arg_attrs"] = module.attribute(f"[{text}]")
