"""Our device functions: instructions declared as the vendor's library declares them."""

from __future__ import annotations

import llvmlite.binding as llvm
import pytest

from flagc.targets.ascend import toolchain
from flagc.targets.ascend.device_library import ENTRY_PREFIX
from flagc.targets.ascend.emission.device_functions import (
    FUNCTIONS,
    OF_VECTOR_CORES,
    PREFIX,
    bitcode,
    library_text,
)
from flagc.targets.ascend.emission.instructions import ND2NZ_SHAPE, pack
from flagc.targets.ascend.library_calls import SignatureMismatch
from flagc.targets.ascend.llvm_stage import link

BY_CORE = {"aic": FUNCTIONS.keys() - OF_VECTOR_CORES, "aiv": OF_VECTOR_CORES}


def signatures(module: llvm.ModuleRef) -> dict[str, list[str]]:
    return {
        function.name.removeprefix("llvm."): [str(a.type) for a in function.arguments]
        for function in module.functions
        if function.is_declaration and "hivm." in function.name
    }


@pytest.mark.parametrize("core", BY_CORE)
def test_every_instruction_is_declared_as_in_the_vendors_library(core: str) -> None:
    data = toolchain.device_library(core).read_bytes()
    vendors = llvm.parse_bitcode(data, llvm.create_context())
    known = signatures(vendors)
    text = library_text([ENTRY_PREFIX + PREFIX + name for name in BY_CORE[core]])
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


def test_cann_bitcode_is_for_the_core_that_runs_it() -> None:
    code = bitcode("func.call @flagc_vector_exp(%0)") or b""
    assert '"target-cpu"="dav-c220-vec"' in str(llvm.parse_bitcode(code, llvm.create_context()))


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
