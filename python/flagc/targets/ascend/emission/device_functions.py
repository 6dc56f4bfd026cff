"""Our own device functions: one for each AI Core instruction that emission uses.

They take integers only. On-chip addresses are bytes from their memory's start; an address in global
memory is a pointer as an integer. The same text serves the emulator, where instructions are called
`hivm.X`, and CANN's linker, where they are `llvm.hivm.X` (`bitcode`; never run by us, for lack of
CANN).
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from flagc.ir.staged.operations import BINARY_KINDS, COMPARISONS, UNARY_KINDS
from flagc.ir.staged.verify_vector import CASTS
from flagc.targets.ascend.device_library import ENTRY_PREFIX, INSTRUCTION_PREFIX
from flagc.targets.ascend.generic_ir import ADDRESS_SPACES

PREFIX = "flagc_"
_GM, _L1 = ADDRESS_SPACES["gm"], ADDRESS_SPACES["cbuf"]
_L0A, _L0B, _L0C, _UB = (ADDRESS_SPACES[name] for name in ("ca", "cb", "cc", "ub"))
_WORD = 0  # an operand that is no pointer


@dataclass(frozen=True)
class DeviceFunction:
    """`instruction` with these operands (address spaces, 0 for words), then `zeros` times 0."""

    instruction: str
    operands: tuple[int, ...]
    zeros: int = 0


def _functions() -> dict[str, DeviceFunction]:
    """Names without `PREFIX`. Operands as the vendor's device library declares them."""
    table = {
        "fill_zero": DeviceFunction("CREATE.CBUF.MATRIX.v2.u16", (_L1, _WORD), zeros=1),
        "set_fmatrix": DeviceFunction("SET.FMATRIX", (_WORD,)),
        "set_fmatrix_b": DeviceFunction("SET.FMATRIX.B", (_WORD,)),
        "set_matrices": DeviceFunction("SET.ND.PARA", (_WORD,)),
        "load_bt": DeviceFunction("MOV.L1.TO.BT", (_WORD, _L1, _WORD)),
    }
    move = "MOV.OUT.TO.L1.MULTI.ND2NZ"
    for element, suffix in (("f16", "f16"), ("bf16", "bf16"), ("f32", "f32s"), ("i8", "s8")):
        moved = DeviceFunction(f"{move}.{suffix}", (_L1, _GM, _WORD, _WORD))
        table[f"nd2nz_{element}"] = moved
    table["nd2nz_i32"] = DeviceFunction(f"{move}.s32s", (_L1, _GM, _WORD, _WORD))
    for side, space in (("a", _L0A), ("b", _L0B)):
        load = f"LOAD.L1.TO.L0{side.upper()}"
        # The library loads bf16 with the instruction of f16.
        for element, suffix in (("f16", "f16"), ("bf16", "f16"), ("f32", "f32")):
            window = DeviceFunction(f"{load}.3DV2.{suffix}", (space, _L1, _WORD, _WORD))
            table[f"load_{side}_window_{element}"] = window
        for element in ("i8",) if side == "a" else ("f16", "bf16", "f32", "i8"):
            suffix = "s8" if element == "i8" else element
            whole = DeviceFunction(f"{load}.2D.V220.{suffix}.addr", (space, _L1, _WORD), zeros=2)
            table[f"load_{side}_fractals_{element}"] = whole
        squares = DeviceFunction(f"{load}.2D.TRANSPOSE.s8", (space, _L1, _WORD, _WORD))
        table[f"load_{side}_squares_i8"] = squares
    for element, suffix in (
        *(("f16", "f162f32"), ("bf16", "bf162f32")),
        *(("f32", "f322f32"), ("i8", "s8")),
    ):
        table[f"mad_{element}"] = DeviceFunction(f"MAD.{suffix}", (_L0C, _L0A, _L0B, _WORD))
    for element, suffix in (("f16", "f2h"), ("bf16", "f322bf16"), ("f32", "f32"), ("i32", "s32")):
        store = DeviceFunction(f"FIX.L0C.TO.OUT.{suffix}", (_GM, _L0C, _WORD, _WORD))
        table[f"store_{element}"] = store
    return table | _vector_functions()


def _vector_functions() -> dict[str, DeviceFunction]:
    """What vector cores run."""
    table = {
        "set_mask": DeviceFunction("MOVEMASK", (_WORD, _WORD)),
        "set_compare_mask": DeviceFunction("SET.CMPMASK", (_UB,)),
        "vector_fill": DeviceFunction("MOVEV.s32", (_UB, _WORD, _WORD)),
        "vector_column": DeviceFunction("VBRCB.b32", (_UB, _UB, _WORD)),
        "vector_select": DeviceFunction("VSEL.f32.1", (_UB, _UB, _UB, _WORD)),
    }
    for bits in (16, 32):
        load, store = f"MOV.OUT.TO.UB.ALIGN.b{bits}.V220", f"MOV.UB.TO.OUT.ALIGN.b{bits}.V220"
        table[f"ub_load_{bits}"] = DeviceFunction(load, (_UB, _GM, _WORD, _WORD))
        table[f"ub_store_{bits}"] = DeviceFunction(store, (_GM, _UB, _WORD, _WORD))
    for kind in UNARY_KINDS:
        table[f"vector_{kind}"] = DeviceFunction(f"V{kind.upper()}.f32", (_UB, _UB, _WORD))
    for kind in BINARY_KINDS:
        for element, suffix in (("f32", "f32"), ("i32", "s32")):
            if (kind, element) != ("div", "i32"):
                computed = DeviceFunction(f"V{kind.upper()}.{suffix}", (_UB, _UB, _UB, _WORD))
                table[f"vector_{kind}_{element}"] = computed
    for kind in COMPARISONS:
        compared = DeviceFunction(f"VCMPV.{kind.upper()}.f32", (_UB, _UB, _UB, _WORD))
        table[f"vector_{kind}"] = compared
    for source, target in CASTS:
        names = [element.replace("i32", "s32") for element in (source, target)]
        for letter in "rzfc" if source in ("f32", "i32") else ("",):
            instruction = f"VCONV.{names[0]}2{names[1]}{letter}.v220"
            table[f"vector_cast_{source}_{target}{letter}"] = DeviceFunction(
                instruction, (_UB, _UB, _WORD)
            )
    return table


FUNCTIONS = _functions()
OF_VECTOR_CORES = frozenset(_vector_functions())

# The vendor's device libraries (meta_op.aic.bc and .aiv.bc of ascendnpu-ir 1.2.0) for the 910B.
_TARGET = """\
target datalayout = "e-i1:8:32-i8:8:32-i16:16:32-i64:64-f16:16:32-v16:16-v32:32-n64-S64"
target triple = "hiipu64-hisilicon-cce"
"""
_FEATURES = (
    '"target-cpu"="dav-c220-{core}" "target-features"="+ASAN,+ATOMIC,+AtomicForB64,+AtomicForB8 '
    ',+FFTSBlk,+MOVX8,+MSTX,+MathOp,+SPR7bits,+dav-c220-{core}"'
)


def is_own(symbol: str) -> bool:
    """Return whether a called symbol (`_mlir_ciface_flagc_mad_f16`) is one of ours."""
    return symbol.startswith(ENTRY_PREFIX + PREFIX)


def library_text(symbols: Collection[str], *, for_cann: bool = False) -> str:
    """Return LLVM IR that defines these symbols (`_mlir_ciface_flagc_...`).

    Raises:
        KeyError: there is no such function.
    """
    lines = [_TARGET]
    declared: set[str] = set()
    for symbol in sorted(symbols):
        name = symbol.removeprefix(ENTRY_PREFIX + PREFIX)
        function = FUNCTIONS[name]
        attributes = "alwaysinline nounwind"
        if for_cann:
            core = "vec" if name in OF_VECTOR_CORES else "cube"
            attributes += " " + _FEATURES.format(core=core)
        if function.instruction not in declared:
            declared.add(function.instruction)
            lines.append(_declaration(function))
        lines.append(_definition(symbol, function, attributes))
    return "\n".join(lines)


def bitcode(final_text: str) -> bytes | None:
    """Return bitcode for CANN's linker of what a final module calls; None when it calls nothing.

    Never run: no machine of ours has CANN.
    """
    import llvmlite.binding as llvm

    names = [name for name in FUNCTIONS if f"@{PREFIX}{name}(" in final_text]
    if not names:
        return None
    symbols = [ENTRY_PREFIX + PREFIX + name for name in names]
    text = library_text(symbols, for_cann=True)
    module = llvm.parse_assembly(text, llvm.create_context())
    for function in module.functions:
        if function.is_declaration:
            function.name = "llvm." + function.name
    result: bytes = module.as_bitcode()
    return result


def _types(function: DeviceFunction) -> list[str]:
    kinds = [f"ptr addrspace({space})" if space else "i64" for space in function.operands]
    return kinds + ["i64"] * function.zeros


def _declaration(function: DeviceFunction) -> str:
    parameters = ", ".join(_types(function))
    return f"declare void @{INSTRUCTION_PREFIX}{function.instruction}({parameters})"


def _definition(symbol: str, function: DeviceFunction, attributes: str) -> str:
    parameters = ", ".join(f"i64 %w{index}" for index in range(len(function.operands)))
    lines = [f"define void @{symbol}({parameters}) {attributes} {{"]
    arguments = []
    for index, space in enumerate(function.operands):
        if space:
            lines.append(f"  %p{index} = inttoptr i64 %w{index} to ptr addrspace({space})")
        arguments.append(f"ptr addrspace({space}) %p{index}" if space else f"i64 %w{index}")
    arguments += ["i64 0"] * function.zeros
    called = f"@{INSTRUCTION_PREFIX}{function.instruction}"
    lines += [f"  call void {called}({', '.join(arguments)})", "  ret void", "}"]
    return "\n".join(lines)
