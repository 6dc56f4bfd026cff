"""From hivmc's input to LLVM IR, by MLIR's own passes.

The few hivm ops that are left become calls of instructions (`hivm_calls`). Kernels take their
memref arguments as bare `ptr addrspace(1)`, as the vendor's launcher passes them. Address spaces:
gm 1, cbuf (L1) 2, ca (L0A) 3, cb (L0B) 4, cc (L0C) 5, ub 6.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from flagc.mlir import run_upstream_passes, translate_to_llvm_ir
from flagc.targets.ascend.generic_ir import (
    bindings,
    integer_address_spaces,
    parse_generic,
    plain_context,
    print_generic,
    properties,
    walk,
)
from flagc.targets.ascend.hivm_calls import HivmCalls
from flagc.targets.ascend.surplus_arguments import drop_surplus_arguments
from flagc.targets.ascend.vendor_process import place_of_location

_KEPT_ATTRIBUTES = {"sym_name", "sym_visibility", "function_type", "llvm.emit_c_interface"}
_LOWERING = (
    "builtin.module(expand-strided-metadata,lower-affine,finalize-memref-to-llvm,"
    "convert-arith-to-llvm,convert-math-to-llvm,convert-index-to-llvm,convert-func-to-llvm,"
    "convert-cf-to-llvm,reconcile-unrealized-casts,symbol-dce)"
)
# Of a kernel's function, as integers; emission puts them there.
MAX_BLOCKS = "flagc_max_blocks"
BLOCKS_PER_PROGRAM = "flagc_blocks_per_program"
_DEBUG_SCOPES = "builtin.module(ensure-debug-info-scope-on-llvm-func)"


@dataclass(frozen=True)
class KernelFacts:
    """What the launcher must know, read from the final module.

    `entries` maps a core kind (`aic`, `aiv`) to the kernel's function for it. The others are the
    values of the host callbacks, None when there is none: `workspace_bytes` is per block,
    `lock_words` the number of 64-bit words of the block lock and `lock_initial` what each holds at
    first. Each program of a grid has work for `blocks_per_program` blocks. Where these are more
    than `max_blocks`, so many are launched and share the work.
    """

    entries: dict[str, str]
    task_type: int | None
    workspace_bytes: int | None
    lock_words: int | None = None
    lock_initial: int | None = None
    max_blocks: int | None = None
    blocks_per_program: int = 1

    def blocks_of(self, grid: Sequence[int]) -> int:
        """Return how many blocks a launch on `grid` has."""
        return blocks_of(grid, self.max_blocks, self.blocks_per_program)


def blocks_of(grid: Sequence[int], max_blocks: int | None, blocks_per_program: int) -> int:
    """Return how many blocks a launch on `grid` has; see `KernelFacts`."""
    blocks = math.prod(grid) * blocks_per_program
    return blocks if max_blocks is None else min(blocks, max_blocks)


def load_final(generic_text: str, context: Any) -> Any:
    """Parse generic text of the final module in `context` (all upstream dialects registered).

    Address spaces become integers, and the module's attributes go: upstream MLIR knows neither
    hivm's memory spaces nor the vendor's form of `dlti.target_system_spec`.
    """
    generic_text = integer_address_spaces(generic_text)
    with plain_context() as plain:
        module = parse_generic(generic_text, plain)
        for name in [str(entry) for entry in module.operation.attributes]:
            del module.operation.attributes[name]
        _loosen_reinterpret_casts(module)
        generic_text = print_generic(module, locations=True)
    return bindings().Module.parse(generic_text, context)


def _loosen_reinterpret_casts(module: Any) -> None:
    """Give each `memref.reinterpret_cast` the type that its operands say.

    MLIR 19 lets the result type be more static than the op's sizes and strides; later versions
    refuse that, and want a `memref.cast` to the more static type.
    """
    ir = bindings()
    for operation in [op for op in walk(module.operation) if op.name == "memref.reinterpret_cast"]:
        given = properties(operation)
        result = operation.results[0]
        sizes, strides = list(given["static_sizes"]), list(given["static_strides"])
        (offset,) = given["static_offsets"]
        old = result.type
        with operation.location:
            layout = ir.StridedLayoutAttr.get(offset, strides)
            new = ir.MemRefType.get(sizes, old.element_type, layout, old.memory_space)
            if not _more_static(old, new):
                continue
            result.set_type(new)
            uses = [(use.owner, use.operand_number) for use in result.uses]
            with ir.InsertionPoint.after(operation):
                cast = ir.Operation.create("memref.cast", results=[old], operands=[result])
            for owner, index in uses:
                owner.operands[index] = cast.result


def _more_static(old: Any, new: Any) -> bool:
    """True when `old` fixes a size, a stride or the offset that `new` leaves open."""
    if any(new.is_dynamic_dim(axis) and not old.is_dynamic_dim(axis) for axis in range(old.rank)):
        return True
    dynamic = bindings().ShapedType.get_dynamic_stride_or_offset()
    old_strides, old_offset = old.get_strides_and_offset()
    new_strides, new_offset = new.get_strides_and_offset()
    pairs = [*zip(old_strides, new_strides, strict=True), (old_offset, new_offset)]
    return any(there == dynamic and here != dynamic for here, there in pairs)


def kernel_facts(module: Any) -> KernelFacts:
    """Entries and host callbacks of a final module from `load_final`."""
    entries: dict[str, str] = {}
    numbers: dict[str, int] = {}
    launch: dict[str, int] = {}
    for function in module.body.operations:
        attributes = function.operation.attributes
        name = attributes["sym_name"].value
        if "hacc.entry" in attributes:
            entries[_core_kind(attributes)] = name
            for key in (MAX_BLOCKS, BLOCKS_PER_PROGRAM):
                if key in attributes:
                    launch[key] = int(attributes[key].value)
        elif "hacc.host_func_type" in attributes:
            kind = str(attributes["hacc.host_func_type"]).partition("<")[2].rstrip(">")
            value = _returned_constant(function)
            if value is not None:
                numbers[kind] = value
    return KernelFacts(
        entries,
        numbers.get("infer_task_type_function"),
        numbers.get("infer_workspace_shape_function"),
        numbers.get("infer_sync_block_lock_num_function"),
        numbers.get("infer_sync_block_lock_init_function"),
        launch.get(MAX_BLOCKS),
        launch.get(BLOCKS_PER_PROGRAM, 1),
    )


def lower_core(module: Any, entry: str, *, note_lines: bool, debug: bool) -> str:
    """LLVM IR text of function `entry` and what it declares; changes `module`."""
    ir = bindings()
    with module.context, ir.Location.unknown():
        _drop_other_functions(module, entry)
        drop_surplus_arguments(module)
        rewriter = HivmCalls(module)
        if note_lines:
            _note_lines(module, rewriter)
        for operation in [op for op in walk(module.operation) if op.name.startswith("hivm.")]:
            rewriter.replace(operation)
        for function in module.body.operations:
            if function.operation.attributes["sym_name"].value == entry:
                rewriter.bare_pointers(function)
        _clean_attributes(module)
        run_upstream_passes(module, _LOWERING)
        _hide_float_constants(module)
        if debug:
            run_upstream_passes(module, _DEBUG_SCOPES)
            _forget_declaration_scopes(module)
        return translate_to_llvm_ir(module)


def _note_lines(module: Any, rewriter: HivmCalls) -> None:
    """Before each call of the library and each instruction, note the kernel's line."""
    noted = [op for op in walk(module.operation) if op.name.startswith(("hivm.hir.", "func.call"))]
    for operation in noted:
        _, line, _ = place_of_location(str(operation.location))
        if line:
            rewriter.note_line(operation, line)


def _hide_float_constants(module: Any) -> None:
    """Write float constants as `bitcast(freeze(integer bits))`, which LLVM folds again.

    torch_mlir's LLVM prints some floats in a spelling (`float -inf`) that llvmlite's LLVM does not
    parse yet; the freeze keeps it from folding the bits to a float before it prints.
    """
    ir = bindings()
    for operation in list(walk(module.operation)):
        if operation.name != "llvm.mlir.constant":
            continue
        value = operation.attributes["value"]
        if not isinstance(value, ir.FloatAttr):
            continue
        kind = value.type
        bits = ir.IntegerType.get_signless(kind.width)
        with ir.InsertionPoint(operation), operation.location:
            integer = ir.Operation.create(
                "llvm.mlir.constant",
                results=[bits],
                attributes={"value": ir.IntegerAttr.get(bits, _float_bits(value))},
            )
            frozen = ir.Operation.create("llvm.freeze", results=[bits], operands=[integer.result])
            cast = ir.Operation.create("llvm.bitcast", results=[kind], operands=[frozen.result])
        operation.results[0].replace_all_uses_with(cast.result)
        operation.erase()


def _float_bits(value: Any) -> int:
    """The bits of an f16, bf16, f32 or f64 attribute as a signed integer."""
    ir = bindings()
    if isinstance(value.type, ir.BF16Type):
        # A bf16 is the upper half of an f32, and the attribute holds it exactly.
        return int(struct.unpack("<hh", struct.pack("<f", value.value))[1])
    float_code, integer_code = {16: ("<e", "<h"), 32: ("<f", "<i"), 64: ("<d", "<q")}[
        value.type.width
    ]
    return int(struct.unpack(integer_code, struct.pack(float_code, value.value))[0])


def _forget_declaration_scopes(module: Any) -> None:
    """Debug scopes are of use on functions with a body only."""
    ir = bindings()
    for function in module.body.operations:
        if function.operation.name == "llvm.func" and not len(function.regions[0].blocks):
            function.operation.location = ir.Location.unknown()


def _core_kind(attributes: Any) -> str:
    """`aic` or `aiv` from `#hivm.func_core_type<AIC>`."""
    return str(attributes["hivm.func_core_type"]).partition("<")[2].rstrip(">").lower()


def _returned_constant(function: Any) -> int | None:
    """The integer that a function without arguments returns, when it is one constant."""
    operations = list(function.operation.regions[0].blocks[0].operations)
    if [op.operation.name for op in operations] != ["arith.constant", "func.return"]:
        return None
    return int(operations[0].operation.attributes["value"].value)


def _drop_other_functions(module: Any, entry: str) -> None:
    """Erase the other core's kernel and the host callbacks; unused declarations go later."""
    for function in list(module.body.operations):
        attributes = function.operation.attributes
        on_its_own = {"hacc.entry", "hacc.host_func_type"} & set(_names(attributes))
        if on_its_own and attributes["sym_name"].value != entry:
            function.operation.erase()


def _clean_attributes(module: Any) -> None:
    """Attributes of vendor dialects have no meaning further down."""
    for operation in walk(module.operation):
        is_function = operation.name == "func.func"
        for name in _names(operation.attributes):
            if (is_function and name not in _KEPT_ATTRIBUTES) or name.startswith("hivm."):
                del operation.attributes[name]


def _names(attributes: Any) -> list[str]:
    return [str(getattr(entry, "name", entry)) for entry in attributes]
