"""Evaluate the integer arithmetic of a kernel's top level, program by program."""

from flagc.ir.module import Module


def quotient(left, right):
    """Signed division towards zero, as arith.divsi."""
    return abs(left) // abs(right) * (1 if (left < 0) == (right < 0) else -1)


COMPARISONS = {
    2: lambda a, b: a < b,
    3: lambda a, b: a <= b,
    4: lambda a, b: a > b,
    5: lambda a, b: a >= b,
}
BINARY = {
    "arith.addi": lambda a, b: a + b,
    "arith.subi": lambda a, b: a - b,
    "arith.muli": lambda a, b: a * b,
    "arith.divsi": quotient,
    "arith.remsi": lambda a, b: a - b * quotient(a, b),
    "arith.minsi": min,
    "arith.maxsi": max,
}


def stored_values(module: Module, arguments, program, grid):
    """Run one program and return the values that its scalar `tt.store`s write, in order."""
    (function,) = module.functions()
    block = function.regions[0].blocks[0]
    values = dict(zip(block.arguments, arguments, strict=True))
    stored = []
    for op in (child.operation for child in block.operations):
        inputs = [values.get(operand) for operand in op.operands]
        if op.name == "tt.store":
            stored.append(inputs[1])
        elif op.name == "tt.get_program_id":
            values[op.results[0]] = program[op.attributes["axis"].value]
        elif op.name == "tt.get_num_programs":
            values[op.results[0]] = grid[op.attributes["axis"].value]
        elif op.name == "arith.constant":
            values[op.results[0]] = op.attributes["value"].value
        elif op.name == "arith.cmpi":
            compare = COMPARISONS[op.attributes["predicate"].value]
            values[op.results[0]] = compare(*inputs)
        elif op.name == "arith.select":
            values[op.results[0]] = inputs[1] if inputs[0] else inputs[2]
        elif op.name in BINARY:
            values[op.results[0]] = BINARY[op.name](*inputs)
        elif op.name != "tt.return":
            raise NotImplementedError(op.name)
    return stored
