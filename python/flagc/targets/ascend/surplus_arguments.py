"""Arguments that bishengir-compile 1.2.0 passes to functions of its own library that lack them.

Each is dropped where it says what the function does anyway; a call that asks for something else is
refused, because the library would not do it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from flagc.targets.ascend.generic_ir import bindings, source_line, walk
from flagc.targets.ascend.hivm_calls import LoweringError


@dataclass(frozen=True)
class Surplus:
    """Functions called `prefix*` take `kept` arguments, and do what argument `kept` asks for.

    `implied` is the constant that argument must be; `what` describes any other to the user.
    """

    prefix: str
    kept: int
    implied: float
    what: str


_OTHER_START = "an extremum that begins with another value"
SURPLUS = (
    # A padding mode (0: none) and a padding value.
    Surplus("copy_ubuf_to_ubuf_", 2, 0, "a copy inside UB with padding"),
    # The value to begin with, where the rows of a matrix are compared.
    Surplus("reduce_max_with_index_left_ra_", 4, -math.inf, _OTHER_START),
    Surplus("reduce_max_with_index_right_ra_", 4, -math.inf, _OTHER_START),
    Surplus("reduce_min_with_index_left_ra_", 4, math.inf, _OTHER_START),
    Surplus("reduce_min_with_index_right_ra_", 4, math.inf, _OTHER_START),
)


def drop_surplus_arguments(module: Any) -> None:
    """Call the functions in `SURPLUS` as the device library defines them.

    Raises:
        LoweringError: an argument asks for what the library's function does not do.
    """
    kept: dict[str, int] = {}
    for call in [op for op in walk(module.operation) if op.name == "func.call"]:
        name = call.attributes["callee"].value
        for surplus in SURPLUS:
            if name.startswith(surplus.prefix) and len(call.operands) > surplus.kept:
                _drop(call, surplus)
                kept[name] = surplus.kept
    for function in module.body.operations:
        attributes = function.operation.attributes
        if attributes["sym_name"].value in kept:
            _narrow(attributes, kept[attributes["sym_name"].value])


def _drop(call: Any, surplus: Surplus) -> None:
    constant = call.operands[surplus.kept].owner
    if constant.name != "arith.constant" or constant.attributes["value"].value != surplus.implied:
        raise LoweringError(
            f"{source_line(call)}: {surplus.what}, which the device library's "
            f"{call.attributes['callee'].value} does not do"
        )
    ir = bindings()
    with ir.InsertionPoint(call), call.location:
        ir.Operation.create(
            "func.call",
            operands=list(call.operands)[: surplus.kept],
            attributes={"callee": call.attributes["callee"]},
        )
    call.erase()


def _narrow(attributes: Any, kept: int) -> None:
    ir = bindings()
    inputs = ir.FunctionType(attributes["function_type"].value).inputs
    attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(inputs[:kept], []))
