"""Stage llvm: the final module linked with the device library."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import llvmlite.binding as llvm
import pytest

from flagc.errors import KernelError
from flagc.targets.ascend import device_library
from flagc.targets.ascend.errors import ToolchainError
from flagc.targets.ascend.library_calls import NOWHERE, SignatureMismatch, adapt_calls
from flagc.targets.ascend.llvm_stage import final_to_llvm

Text = Callable[[str], str]


def called(text: str) -> set[str]:
    """Functions that the module calls and does not define."""
    module = llvm.parse_assembly(text, llvm.create_context())
    return {f.name for f in module.functions if f.is_declaration}


def test_gemm_shows_the_cube_instructions(final: Text) -> None:
    stage = final_to_llvm(final("gemm"))
    assert stage.facts.entries == {"aic": "gemm"}
    names = called(stage.texts["aic"])
    for instruction in (
        "MOV.OUT.TO.L1.MULTI.ND2NZ.f16",
        "LOAD.L1.TO.L0A.3DV2.f16",
        "LOAD.L1.TO.L0B.3DV2.f16",
        "MAD.f162f32",
        "FIX.L0C.TO.OUT.f2h",
        "SET.FLAG.IMM",
        "WAIT.FLAG.REG",
    ):
        assert f"hivm.{instruction}" in names
    assert not {name for name in names if name.startswith(("llvm.hivm", "_mlir_ciface"))}


def test_pointers_are_bare_and_in_global_memory(final: Text) -> None:
    text = final_to_llvm(final("vector_add")).texts["aiv"]
    module = llvm.parse_assembly(text, llvm.create_context())
    kernel = module.get_function("vector_add")
    # ffts address; sync lock, workspace, x, y, out; n; three grid sizes.
    expected = ["i64", *["ptr addrspace(1)"] * 5, "i32", "i32", "i32", "i32"]
    assert [str(argument.type) for argument in kernel.arguments] == expected


def test_mix_kernel_gives_a_text_for_each_core_and_its_facts(final: Text) -> None:
    stage = final_to_llvm(final("gemm_bias_relu"))
    assert set(stage.texts) == {"aic", "aiv"}
    # A 128x128 fp32 tile between cube and vector core, for each block.
    assert stage.facts.workspace_bytes == 128 * 128 * 4
    assert "hivm.MAD.f162f32" in called(stage.texts["aic"])
    assert "hivm.VMAXS.f32" in called(stage.texts["aiv"])
    assert "hivm.SYNC.BLOCK.SET" in called(stage.texts["aic"])
    assert "hivm.SYNC.BLOCK.WAIT" in called(stage.texts["aiv"])


def test_inlined_instructions_carry_the_kernels_line(final: Text) -> None:
    lines = final_to_llvm(final("gemm")).texts["aic"].splitlines()
    mad = next(line for line in lines if "call void @hivm.MAD" in line)
    node = mad.rpartition("!dbg ")[2].partition(",")[0]
    inlined = next(line for line in lines if line.startswith(f"{node} = "))
    caller = inlined.rpartition("inlinedAt: ")[2].rstrip(")")
    location = next(line for line in lines if line.startswith(f"{caller} = "))
    assert "DILocation(line: 47," in location


def test_without_debug_no_locations(final: Text) -> None:
    assert "!dbg" not in final_to_llvm(final("gemm"), debug=False).texts["aic"]


def test_infinities_survive_the_llvm_versions(final: Text) -> None:
    # softmax pads with -inf, which newer LLVMs print as `-inf` and llvmlite's cannot read.
    text = final_to_llvm(final("softmax")).texts["aiv"]
    assert "0xFFF0000000000000" in text


def test_lines_can_be_noted(final: Text) -> None:
    assert "hivm.LINE" not in called(final_to_llvm(final("vector_add")).texts["aiv"])
    assert "hivm.LINE" in called(final_to_llvm(final("vector_add"), note_lines=True).texts["aiv"])


def test_attention_copies_in_ub_without_padding(final: Text) -> None:
    stage = final_to_llvm(final("attention"))
    assert set(stage.texts) == {"aic", "aiv"}


def test_padding_copy_in_ub_is_refused(final: Text) -> None:
    lines = final("attention").splitlines()
    call = next(i for i, line in enumerate(lines) if "call @copy_ubuf_to_ubuf_1d_float" in line)
    mode = lines[call].split(",")[2].strip()
    function = lines[call].index("func.call")
    one = " " * function + "%one = arith.constant 1 : i32"
    lines[call] = one + "\n" + lines[call].replace(f", {mode},", ", %one,")
    with pytest.raises(KernelError, match="with padding"):
        final_to_llvm("\n".join(lines))


SYNC = """
module {
  func.func @k() attributes {hacc.entry, hivm.func_core_type = #hivm.func_core_type<AIV>} {
    hivm.hir.OP
    return
  }
}
"""
CUBE, VECTOR = " tcube_pipe = #hivm.pipe<PIPE_FIX>", " tvector_pipe = #hivm.pipe<PIPE_MTE3>"
FLAG = "[#hivm.tcore_type<VECTOR>, #hivm.pipe<PIPE_MTE3>, #hivm.pipe<PIPE_MTE2>] flag = 5"


@pytest.mark.parametrize(
    ("op", "call"),
    [
        (
            f"sync_block[#hivm.sync_block_mode<ALL_VECTOR>, 3 : i64]{VECTOR}",
            "SYNC.GRID.ALL(2, 0, 3)",
        ),
        (f"sync_block[#hivm.sync_block_mode<ALL_CUBE>, 3 : i64]{CUBE}", "SYNC.GRID.ALL(1, 0, 3)"),
        (
            f"sync_block[#hivm.sync_block_mode<ALL>, 4 : i64]{CUBE}{VECTOR}",
            "SYNC.GRID.ALL(3, 3, 4)",
        ),
        (
            f"sync_block[#hivm.sync_block_mode<ALL_SUB_VECTOR>, 4 : i64]{VECTOR}",
            "SYNC.SUBBLOCK.ALL(2, 1, 4)",
        ),
        ("sync_block[#hivm.sync_block_mode<BARRIER_VECTOR>]", "BARRIER(6)"),
        (f"sync_block_set{FLAG}", "SYNC.BLOCK.SET(2, 5, 4, 5)"),
        (f"sync_block_wait{FLAG}", "SYNC.BLOCK.WAIT(2, 5, 4, 5)"),
        (
            f"sync_block_set{FLAG} sync_instr_mode = "
            "#hivm.sync_block_instr_mode<INTER_BLOCK_SYNCHRONIZATION>",
            "SYNC.GRID.SET(2, 5, 4, 5)",
        ),
        (
            f"sync_block_set{FLAG} sync_instr_mode = "
            "#hivm.sync_block_instr_mode<INTER_SUBBLOCK_SYNCHRONIZATION>",
            "SYNC.SUBBLOCK.SET(2, 5, 4, 5)",
        ),
    ],
)
def test_synchronisation_becomes_calls(op: str, call: str) -> None:
    text = final_to_llvm(SYNC.replace("OP", op), debug=False).texts["aiv"]
    name, _, operands = call.rstrip(")").partition("(")
    values = ", ".join(f"i64 {value}" for value in operands.split(", "))
    assert f"call void @hivm.{name}({values})" in text


def test_op_without_lowering_is_named_with_its_line() -> None:
    text = """
    module {
      func.func @k() attributes {hacc.entry, hivm.func_core_type = #hivm.func_core_type<AIV>} {
        hivm.hir.finish_debug loc("k.py":9:1)
        return
      }
    }"""
    with pytest.raises(KernelError, match=r"k.py:9: hivm.hir.finish_debug .* no lowering"):
        final_to_llvm(text)


def adapt(declaration: str, definition: str) -> Any:
    """Run `adapt_calls` on the only function of each text; returns the library module."""
    context = llvm.create_context()
    caller = llvm.parse_assembly(declaration, context)
    library = llvm.parse_assembly(definition, context)
    (called_function,) = caller.functions
    adapt_calls({called_function.name: called_function}, library, context)
    return library


def test_signature_mismatch_is_refused() -> None:
    with pytest.raises(SignatureMismatch, match=r"f: the kernel calls it as void \(ptr, i32\)"):
        adapt("declare void @f(ptr, i32)", "define void @f(ptr %a, i64 %b) { ret void }")


def test_missing_scratch_buffer_is_nowhere_if_it_may_be_used() -> None:
    unused = "define void @f(ptr %a, ptr %scratch) { store i8 0, ptr %a ret void }"
    library = adapt("declare void @f(ptr)", unused)
    assert str(library.get_function("f").global_value_type) == "void (ptr)"
    assert str(NOWHERE) not in str(library)
    used = "define void @f(ptr %a, ptr %scratch) { store i8 0, ptr %scratch ret void }"
    assert f"[i64 {NOWHERE}, i64 {NOWHERE}, i64 0" in str(adapt("declare void @f(ptr)", used))


def test_other_missing_parameters_are_refused() -> None:
    with pytest.raises(SignatureMismatch):
        adapt("declare void @f(ptr)", "define void @f(ptr %a, i32 %n) { ret void }")
    with pytest.raises(SignatureMismatch):
        adapt("declare void @f(ptr)", "define void @f(ptr %a, ptr %b, ptr %c) { ret void }")


def test_library_functions_are_extracted_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FLAGC_DATA_DIR", str(tmp_path))
    name = "_mlir_ciface_nd2nz_half"
    device_library.prepare("aic", [name])
    (file,) = tmp_path.rglob("*.bc")
    assert file.name == f"{name}.bc"
    assert file.stat().st_size < 100_000
    monkeypatch.setattr(device_library, "_extract", lambda *_: pytest.fail("parsed again"))
    device_library.prepare("aic", [name])
    module: Any = device_library.subset("aic", [name], llvm.create_context())
    assert not [f.name for f in module.functions if f.name.startswith("llvm.hivm")]
    assert "target-cpu" not in str(module)
    # LLVM's own intrinsics keep theirs.
    instructions = [f for f in module.functions if f.name.startswith("hivm.")]
    assert instructions
    assert not [f for f in instructions if any(b"memory(" in a for a in f.attributes)]


def test_unknown_library_function_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FLAGC_DATA_DIR", str(tmp_path))
    with pytest.raises(ToolchainError, match="has no function _mlir_ciface_nonsense"):
        device_library.prepare("aic", ["_mlir_ciface_nonsense"])
