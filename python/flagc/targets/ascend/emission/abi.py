"""The form that the vendor's last module has: its functions, their arguments and attributes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from flagc.ir.module import Module, Operation, Value
from flagc.ir.staged import operations as staged
from flagc.ir.types import PointerType, TensorType
from flagc.mlir import ir
from flagc.targets.ascend.chips import AscendChip
from flagc.targets.ascend.emission.code import refuse
from flagc.targets.ascend.emission.device_functions import FUNCTIONS, PREFIX
from flagc.targets.ascend.emission.scalars import Scalars
from flagc.targets.ascend.final_lowering import BLOCKS_PER_PROGRAM, MAX_BLOCKS

_GLOBAL = '"#hivm.address_space<gm>"'
_SCRATCH = f"memref<?xi8, {_GLOBAL}>"
# Arguments before the user's: ffts_base, sync_block_lock, workspace; after them the grid's sizes.
LEADING, TRAILING = 3, 3
# What the vendor's host callback returns for kernels of the cube core, and of both kinds of cores.
_CUBE_TASK, _MIX_TASK = 20, 32
# What the staged function says of its launch, by the name that it has in final modules.
_LAUNCH = {
    MAX_BLOCKS: staged.MAX_BLOCKS,
    BLOCKS_PER_PROGRAM: staged.BLOCKS_PER_PROGRAM,
}


class KernelFunction:
    """The `func.func` that replaces a `tt.func`, with the vendor's arguments around the user's.

    `core` is "AIC" or "AIV"; a function that is `part_of_mix` is named for it.
    """

    def __init__(
        self,
        module: Module,
        old: Operation,
        core: str = "AIC",
        *,
        part_of_mix: bool = False,
    ) -> None:
        self.module = module
        name = old.attributes["sym_name"].value
        if part_of_mix:
            name += f"_mix_{core.lower()}"
        inputs = [_argument_type(old, argument) for argument in old.regions[0].blocks[0].arguments]
        types = ["i64", _SCRATCH, _SCRATCH, *inputs, "i32", "i32", "i32"]
        attributes: dict[str, Any] = {
            "hivm.func_core_type": f"#hivm.func_core_type<{core}>",
            "hacc.function_kind": "#hacc.function_kind<DEVICE>",
            **({"hivm.part_of_mix": "unit"} if part_of_mix else {}),
            "sym_name": f'"{name}"',
            "function_type": f"({', '.join(types)}) -> ()",
            "arg_attrs": _argument_attributes(old, len(inputs)),
            "hacc.entry": "unit",
            "SyncBlockLockArgIdx": "0 : i64",
            "WorkspaceArgIdx": "1 : i64",
            "func_dyn_memref_args": _memref_flags(types),
            "hivm.storage_aligned": "unit",
            "parallel_mode": '"simd"',
        }
        for key, name in _LAUNCH.items():
            if name in old.attributes:
                attributes[key] = f"{old.attributes[name].value} : i64"
        self.op = module.create("func.func", attributes=attributes, before=old, regions=1)
        self._memrefs = inputs
        self._adopt(old)

    @property
    def arguments(self) -> list[Value]:
        """The user's arguments."""
        arguments = list(self.op.regions[0].blocks[0].arguments)
        return arguments[LEADING:-TRAILING]

    def grid_size(self, axis: int) -> Value:
        """The argument that holds the grid's size along `axis`."""
        return list(self.op.regions[0].blocks[0].arguments)[axis - TRAILING]

    @property
    def ffts_base(self) -> Value:
        """The argument that holds what cross-core flags need."""
        return self.op.regions[0].blocks[0].arguments[0]

    def workspace(self, scalars: Scalars) -> Value:
        """Return the address of the launch's workspace, computed where `scalars` stands."""
        argument = self.op.regions[0].blocks[0].arguments[LEADING - 1]
        name = "memref.extract_aligned_pointer_as_index"
        index = scalars.op(name, [argument], ["index"]).results[0]
        return scalars.op("arith.index_cast", [index], ["i64"]).results[0]

    def settle_types(self) -> None:
        """Give the arguments their final types; until then, pointers say what they point to."""
        for argument, text in zip(self.arguments, self._memrefs, strict=True):
            argument.set_type(self.module.type(text))

    def _adopt(self, old: Operation) -> None:
        """Take over the blocks of the old function."""
        first, *others = list(old.regions[0].blocks)
        given = list(first.arguments)
        scratch, size = self.module.type(_SCRATCH), self.module.type("i32")
        leading = [self.module.type("i64"), scratch, scratch]
        kinds = [*leading, *(argument.type for argument in given), *[size] * TRAILING]
        unknown = old.location
        locations = [unknown] * LEADING + [argument.location for argument in given]
        block = ir.Block.create_at_start(
            self.op.regions[0], kinds, [*locations, *[unknown] * TRAILING]
        )
        for argument, replacement in zip(given, self.arguments, strict=True):
            argument.replace_all_uses_with(replacement)
        for op in list(first.operations):
            block.append(op.operation)
        for other in others:
            other.append_to(self.op.regions[0])
        old.erase()


def _argument_type(function: Operation, argument: Value) -> str:
    pointer = PointerType.of(argument)
    if pointer is None:
        text = str(argument.type)
        if text.startswith("!"):
            refuse(
                function,
                f"argument of type {text} cannot be passed to the staged pipeline's kernel; run "
                "descriptors-to-pointers",
            )
        return text
    if TensorType.of(pointer.pointee) is not None or pointer.pointee.startswith("!"):
        refuse(function, f"argument of type {argument.type} cannot be passed to a kernel")
    # As the vendor's: memory of truth values is memory of bytes.
    element = "i8" if pointer.pointee == "i1" else pointer.pointee
    return f"memref<?x{element}, {_GLOBAL}>"


def _argument_attributes(old: Operation, count: int) -> str:
    kinds = ("ffts_base_address", "sync_block_lock", "workspace")
    leading = [f"{{hacc.arg_type = #hacc.arg_type<{kind}>}}" for kind in kinds]
    given = list(old.attributes["arg_attrs"]) if "arg_attrs" in old.attributes else []
    own = [_divisibility(entry) for entry in given] or ["{}"] * count
    return f"[{', '.join([*leading, *own, *['{}'] * TRAILING])}]"


def _divisibility(attributes: Any) -> str:
    entries = {entry.name: entry.attr for entry in ir.DictAttr(attributes)}
    kept = entries.get("tt.divisibility")
    return f"{{tt.divisibility = {kept}}}" if kept is not None else "{}"


def _memref_flags(types: list[str]) -> str:
    flags = ", ".join(str(text.startswith("memref")).lower() for text in types)
    return f"dense<[{flags}]> : vector<{len(types)}xi1>"


def declare(module: Module, names: Iterable[str], core: str, before: Operation) -> None:
    """Declare our device functions as the vendor declares its own."""
    for name in sorted(names):
        inputs = ", ".join(["i64"] * len(FUNCTIONS[name].operands))
        _function(
            module,
            before,
            {
                "sym_name": f'"{PREFIX}{name}"',
                "sym_visibility": '"private"',
                "function_type": f"({inputs}) -> ()",
                "hacc.always_inline": "unit",
                "hivm.func_core_type": f"#hivm.func_core_type<{core}>",
                "llvm.emit_c_interface": "unit",
            },
        )


def _function(module: Module, before: Operation, attributes: Mapping[str, str]) -> Operation:
    return module.create(
        "func.func",
        attributes=attributes,
        before=before,
        regions=1,
        location=ir.Location.unknown(module.context),
    )


def add_host_callbacks(
    module: Module, kernel: str, workspace: int | None, before: Operation
) -> None:
    """Tell the launcher, in the vendor's way, which cores the kernel is for.

    `workspace` is the bytes that each block needs; None for a kernel of the cube core alone.
    """
    if workspace is not None:
        name = "infer_workspace_shape_function"
        _add_callback(module, kernel, name, ("index", workspace), before)
    task = _CUBE_TASK if workspace is None else _MIX_TASK
    _add_callback(module, kernel, "infer_task_type_function", ("i8", task), before)


def _add_callback(
    module: Module, kernel: str, name: str, result: tuple[str, int], before: Operation
) -> None:
    kind, value = result
    function = _function(
        module,
        before,
        {
            "sym_name": f'"{kernel}_{name}"',
            "function_type": f"() -> {kind}",
            "hacc.function_kind": "#hacc.function_kind<HOST>",
            "hacc.host_func_type": f"#hacc.host_func_type<{name}>",
        },
    )
    block = ir.Block.create_at_start(function.regions[0], [], [])
    with ir.InsertionPoint(block), ir.Location.unknown(module.context):
        constant = ir.Operation.create(
            "arith.constant",
            results=[module.type(kind)],
            attributes={"value": module.attribute(f"{value} : {kind}")},
        )
        ir.Operation.create("func.return", operands=[constant.results[0]])


def set_module_attributes(module: Module, chip: AscendChip, core_type: str) -> None:
    """Name the chip and its sizes in bits, as the vendor's modules do for hivmc."""
    sizes = {
        "AI_CORE_COUNT": chip.cube_cores,
        "CUBE_CORE_COUNT": chip.cube_cores,
        "VECTOR_CORE_COUNT": chip.vector_cores,
        **{
            f"{memory.upper()}_SIZE": 8 * getattr(chip, f"{memory}_bytes")
            for memory in ("ub", "l1", "l0a", "l0b", "l0c")
        },
        **{"UB_ALIGN_SIZE": 256, "L1_ALIGN_SIZE": 256, "L0C_ALIGN_SIZE": 4096},
    }
    entries = ", ".join(f'#dlti.dl_entry<"{key}", {value} : i32>' for key, value in sizes.items())
    attributes = {
        "dlti.target_system_spec": "#dlti.target_system_spec<"
        f'"NPU" : #hacc.target_device_spec<{entries}>>',
        "hacc.hivmc_compatible_print": "true",
        "hacc.hivmc_version": '#hacc.hivmc_version<"0.2.0">',
        "hivm.module_core_type": f"#hivm.module_core_type<{core_type}>",
        "memref.memref_as_ptr": "unit",
    }
    for name in [str(getattr(entry, "name", entry)) for entry in module.operation.attributes]:
        del module.operation.attributes[name]
    for name, text in attributes.items():
        module.operation.attributes[name] = module.attribute(text)
