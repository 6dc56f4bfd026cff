"""Our device functions: instructions declared as the vendor's library declares them."""

from __future__ import annotations

import llvmlite.binding as llvm
import pytest

from flagc.targets.ascend import toolchain
from flagc.targets.ascend.device_library import ENTRY_PREFIX
from flagc.targets.ascend.emission.device_functions import FUNCTIONS, PREFIX, bitcode, library_text
from flagc.targets.ascend.emission.instructions import ND2NZ_SHAPE, pack
from flagc.targets.ascend.library_calls import SignatureMismatch
from flagc.targets.ascend.llvm_stage import link

ALL = [ENTRY_PREFIX + PREFIX + name for name in FUNCTIONS]


def signatures(module: llvm.ModuleRef) -> dict[str, list[str]]:
    return {
        function.name.removeprefix("llvm."): [str(a.type) for a in function.arguments]
        for function in module.functions
        if function.is_declaration and "hivm." in function.name
    }


def test_every_instruction_is_declared_as_in_the_vendors_library() -> None:
    data = toolchain.device_library("aic").read_bytes()
    vendors = llvm.parse_bitcode(data, llvm.create_context())
    known = signatures(vendors)
    text = library_text(ALL)
    own = llvm.parse_assembly(text, llvm.create_context())
    for name, types in signatures(own).items():
        assert types == known[name], name
    assert own.triple == vendors.triple
    assert own.data_layout == vendors.data_layout


def test_cann_bitcode_calls_intrinsics() -> None:
    module = llvm.parse_bitcode(
        bitcode("func.call @flagc_mad_i8(%0, %1)") or b"", llvm.create_context()
    )
    names = {function.name: function.is_declaration for function in module.functions}
    assert names == {"_mlir_ciface_flagc_mad_i8": False, "llvm.hivm.MAD.s8": True}
    assert '"target-cpu"="dav-c220-cube"' in str(module)


def test_modules_of_the_vendors_link_nothing_of_ours() -> None:
    assert bitcode("func.call @mma_tile_half_to_float(%0)") is None


def test_calls_are_held_against_the_definitions() -> None:
    text = """
    declare void @_mlir_ciface_flagc_mad_f16(i64, i64, i32, i64)
    define void @k() {
      call void @_mlir_ciface_flagc_mad_f16(i64 0, i64 0, i32 0, i64 0)
      ret void
    }"""
    with pytest.raises(SignatureMismatch, match="_mlir_ciface_flagc_mad_f16: the kernel calls it"):
        link(text, "aic", "k", optimize=2)


def test_numbers_beyond_a_field_are_refused() -> None:
    with pytest.raises(ValueError, match=r"ND2NZ, third operand: rows = 65536 does not fit its 16"):
        pack(None, ND2NZ_SHAPE, rows=65536)  # type: ignore[arg-type]
