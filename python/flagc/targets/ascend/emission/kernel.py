"""From staged IR to the module that the vendor's last stage takes."""

from __future__ import annotations

from collections.abc import Callable

from flagc.ir.dead_code import erase_all_unused
from flagc.ir.module import Module, Operation, Value
from flagc.ir.staged.operations import PASSES_RUN, PREFIX, StagedOp, staged_op
from flagc.ir.staged.tiles import TileType
from flagc.ir.staged.verify import find_problem
from flagc.mlir import ir
from flagc.targets.ascend.chips import AscendChip
from flagc.targets.ascend.emission import abi
from flagc.targets.ascend.emission.code import Code, refuse
from flagc.targets.ascend.emission.control import Control
from flagc.targets.ascend.emission.cores import is_mixed, keep_core
from flagc.targets.ascend.emission.exchange import Exchange
from flagc.targets.ascend.emission.moves import Moves
from flagc.targets.ascend.emission.pointers import pointers_to_addresses
from flagc.targets.ascend.emission.products import Products
from flagc.targets.ascend.emission.remains import refuse_remains
from flagc.targets.ascend.emission.tiles import Tiles
from flagc.targets.ascend.emission.vectors import Vectors


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
    erase_all_unused(result)
    refuse_remains(result)
    name = functions[0].attributes["sym_name"].value
    mixed = is_mixed(result)
    workspace = _workspace_bytes(result) if mixed else None
    kernel = _emit_core(result, "AIC", workspace)
    if mixed:
        other = Module.parse(module.text(), "final", origin="the staged module")
        _emit_core(other, "AIV", workspace)
        _take_over(result, other)
    abi.add_host_callbacks(result, name, workspace, kernel.op)
    abi.set_module_attributes(result, chip, "MIX" if mixed else "AIC")
    return result


def _emit_core(module: Module, core: str, workspace: int | None) -> abi.KernelFunction:
    """Turn the kernel into its function for one kind of cores; `workspace` None: the only kind."""
    if workspace is not None:
        keep_core(module, core)
    erase_all_unused(module)
    (old,) = module.functions()
    mixed = workspace is not None
    kernel = abi.KernelFunction(module, old, core, part_of_mix=mixed)
    code = Code(module, kernel.op)
    if mixed:
        code.scalars.at_start()
        code.scalars.op("hivm.hir.set_ffts_base_addr", [kernel.ffts_base], [])
        code.hivm("set_mask_norm")
    _emit_ops(code, kernel, core, workspace or 0)
    pointers_to_addresses(code, kernel)
    _drop_foreign_attributes(kernel.op)
    abi.declare(module, code.called, core, kernel.op)
    return kernel


def _workspace_bytes(module: Module) -> int:
    """Return what each block needs for its tiles of gm, whole packets."""
    end = 0
    for op in module.walk(PREFIX + "alloc"):
        tile = TileType.of(op.results[0])
        if tile is not None and tile.memory == "gm":
            addresses = [int(entry) for entry in op.attributes["addresses"]]
            end = max(end, *(address + tile.reserved_bytes for address in addresses))
    return end


def _take_over(module: Module, other: Module) -> None:
    """Move the functions of another module here."""
    with module.context:
        parsed = ir.Module.parse(other.text())
    for op in list(parsed.body.operations):
        module.body.append(op)


def _emit_ops(code: Code, kernel: abi.KernelFunction, core: str, workspace: int) -> None:
    """Create the instructions of each op next to it, then erase the ops."""
    tiles = Tiles(code)
    moves, products = Moves(code, tiles), Products(code, tiles)
    control = Control(code, tiles, kernel)
    exchange = Exchange(code, tiles, kernel, products, control, workspace)
    vectors = Vectors(code, tiles)
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
        "spill": exchange.spill,
        "fetch": exchange.fetch,
        "load_ub": exchange.load_ub,
        "store_ub": exchange.store_ub,
        "cross_set": lambda view: exchange.cross(view, core),
        "cross_wait": lambda view: exchange.cross(view, core),
        "grid_barrier": lambda view: exchange.grid_barrier(view, core),
        "vector_fill": vectors.fill,
        "vector_cast": vectors.cast,
        "vector_unary": vectors.unary,
        "vector_binary": vectors.binary,
        "vector_select": vectors.select,
        "vector_column": vectors.column,
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
    if op.name == PREFIX + "sub_block":
        return control.sub_block()
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
