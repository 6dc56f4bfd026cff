"""From staged IR to the module that the vendor's last stage takes."""

from __future__ import annotations

from collections.abc import Callable

from flagc.ir.dead_code import is_pure, is_unused
from flagc.ir.module import Module, Operation, Value
from flagc.ir.staged.operations import MAX_BLOCKS, PASSES_RUN, PREFIX, StagedOp, staged_op
from flagc.ir.staged.verify import find_problem
from flagc.targets.ascend.chips import AscendChip
from flagc.targets.ascend.emission import abi
from flagc.targets.ascend.emission.code import Code, refuse
from flagc.targets.ascend.emission.control import Control
from flagc.targets.ascend.emission.moves import Moves
from flagc.targets.ascend.emission.pointers import pointers_to_addresses
from flagc.targets.ascend.emission.products import Products
from flagc.targets.ascend.emission.remains import refuse_remains
from flagc.targets.ascend.emission.tiles import Tiles


def emit(module: Module, chip: AscendChip) -> Module:
    """Return the final module of `module`, which is fully lowered staged IR and stays as it is.

    Raises:
        EmissionError: something is left that has no instruction, at the kernel's line.
    """
    result = Module.parse(module.text(), "final", origin="the staged module")
    if PASSES_RUN in result.operation.attributes:
        del result.operation.attributes[PASSES_RUN]
    problem = find_problem(result)
    if problem is not None:
        refuse(problem[0], f"{problem[0].name}: {problem[1]}")
    functions = result.functions()
    if len(functions) != 1 or functions[0].name != "tt.func":
        refuse(result.operation, "a staged module has one function, the kernel's tt.func")
    _erase_unused(result)
    refuse_remains(result)
    old = functions[0]
    blocks = int(old.attributes[MAX_BLOCKS].value) if MAX_BLOCKS in old.attributes else None
    kernel = abi.KernelFunction(result, old, blocks)
    code = Code(result, kernel.op)
    _emit_ops(code, kernel)
    pointers_to_addresses(code, kernel)
    _drop_foreign_attributes(kernel.op)
    abi.declare(result, code.called, kernel.op)
    name = kernel.op.attributes["sym_name"].value
    abi.add_host_callback(result, name, kernel.op)
    abi.set_module_attributes(result, chip)
    return result


def _erase_unused(module: Module) -> None:
    """Erase computations that nobody uses; users stand after what they use."""
    for op in reversed(list(module.walk())):
        if is_pure(op) and is_unused(op):
            op.erase()


def _emit_ops(code: Code, kernel: abi.KernelFunction) -> None:
    """Create the instructions of each op next to it, then erase the ops."""
    tiles = Tiles(code)
    moves, products = Moves(code, tiles), Products(code, tiles)
    control = Control(code, tiles, kernel)
    actions: dict[str, Callable[[StagedOp], None]] = {
        "nd2nz": moves.nd2nz,
        "fill": moves.fill,
        "load_l0a": moves.load_l0a,
        "load_l0b": moves.load_l0b,
        "load_bt": moves.load_bt,
        "mad": products.mad,
        "fixpipe": products.fixpipe,
        "set_flag": control.flag,
        "wait_flag": control.flag,
        "barrier": control.barrier,
    }
    ops = list(code.module.walk())
    done: list[Operation] = [op for op in ops if op.name == PREFIX + "alloc"]
    tiles.prepare(done)
    for op in ops:
        code.scalars.at(op)
        view = staged_op(op)
        if view is not None and view.name in actions:
            actions[view.name](view)
        elif (value := _index(control, op)) is not None:
            op.results[0].replace_all_uses_with(value)
        elif op.name == "tt.return":
            control.leave(op)
        else:
            continue
        done.append(op)
    for op in reversed(done):
        op.erase()


def _index(control: Control, op: Operation) -> Value | None:
    """Return the value of an op that asks about the launch; None for any other op."""
    if op.name == PREFIX + "block_index":
        return control.block_index()
    if op.name == "tt.get_program_id":
        return control.program_id(int(op.attributes["axis"].value))
    if op.name in ("tt.get_num_programs", PREFIX + "grid_size"):
        return control.grid_size(int(op.attributes["axis"].value))
    return None


def _drop_foreign_attributes(function: Operation) -> None:
    """Drop what Triton notes on loops and arithmetic, which the vendor's dialects do not know."""
    for region in function.regions:
        for block in region.blocks:
            for child in block.operations:
                op = child.operation
                for name in [str(getattr(a, "name", a)) for a in op.attributes]:
                    if name.startswith(("tt.", "ttg.", "flagc.")) or name == "unsignedCmp":
                        del op.attributes[name]
                _drop_foreign_attributes(op)
