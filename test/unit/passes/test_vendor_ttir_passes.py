"""`explicit-other`, `drop-assume` and `libdevice-to-math` on real kernels."""

import pytest
import triton
import triton.language as tl
from compiling import compile_source, compiled, messages
from triton.language.extra import libdevice

from flagc.ir.module import Module
from flagc.passes.ttir.explicit_other import ExplicitOther
from flagc.pipeline.context import PassContext
from flagc.pipeline.diagnostics import Findings
from flagc.pipeline.target import KernelSource


@triton.jit
def masked(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.assume(n > 16)
    x = tl.load(x_ptr + at, mask=at < n, cache_modifier=".cg")
    tl.store(y_ptr + at, x + tl.load(x_ptr + at), mask=at < n)


@triton.jit
def libdevice_calls(x_ptr, y_ptr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at)
    y = libdevice.exp(x) + libdevice.fast_logf(x) + libdevice.rsqrt(x) + libdevice.floor(x)
    y += libdevice.trunc(x) + libdevice.rint(x) + libdevice.copysign(x, y)
    y = tl.where(libdevice.isnan(y) | libdevice.isinf(y), 0.0, y)
    tl.store(y_ptr + at, libdevice.div_rz(y, x))


@triton.jit
def more_libdevice_calls(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at)
    y = libdevice.tanh(x) + libdevice.pow(x, x) + libdevice.pow(x, n) + libdevice.atan2(x, x)
    y += libdevice.sinh(x) + libdevice.asinh(x) + libdevice.cbrt(x) + libdevice.fmod(x, y)
    tl.store(y_ptr + at, libdevice.hypot(x, y) + libdevice.lgamma(x))


def source(function, **types):
    names = function.arg_names
    signature = {name: types.get(name, "i32") for name in names}
    signature["BLOCK"] = "constexpr"
    return KernelSource(function, signature, {(names.index("BLOCK"),): 1024}, {})


POINTERS = {"x_ptr": "*fp32", "y_ptr": "*fp32"}


def test_explicit_other():
    kernel = source(masked, **POINTERS)
    result = compile_source(kernel, {}, "explicit-other")
    assert result.findings.statistics == {"ttir:explicit-other:loads completed": 1}
    loads = [line for line in result.artifact("ttir").content.splitlines() if "tt.load" in line]
    assert len(loads) == 2
    assert loads[0].count("%") == 4  # result, pointer, mask, other
    assert "ld.global.cg" in result.artifact("ptx").content


@pytest.mark.parametrize("name", ["gemm", "softmax"])
def test_loads_with_other_stay(name):
    result = compiled(name, "explicit-other")
    assert result.findings.statistics == {}
    assert result.artifact("ptx").content == compiled(name).artifact("ptx").content


def test_masked_loads_of_pointers_get_null():
    """Triton 3.6 has pointers to pointers, 3.9 has not."""
    module = Module.parse(
        """"builtin.module"() ({ "tt.func"() ({
        ^bb0(%p: tensor<4x!tt.ptr<!tt.ptr<i8>>>, %m: tensor<4xi1>):
          %r = "tt.load"(%p, %m) {operandSegmentSizes = array<i32: 1, 1, 0>} :
            (tensor<4x!tt.ptr<!tt.ptr<i8>>>, tensor<4xi1>) -> tensor<4x!tt.ptr<i8>>
          "tt.return"() : () -> ()
        }) {sym_name = "k"} : () -> () }) : () -> ()""",
        "ttir",
    )
    with module.context:
        ExplicitOther().run(module, PassContext(module, "", "ttir", None, {}, Findings()))
    assert [op.name for op in module.walk()] == [
        "tt.func", "arith.constant", "tt.int_to_ptr", "tt.load", "tt.return"
    ]  # fmt: skip
    (load,) = module.walk("tt.load")
    assert str(load.operands[2].type) == "tensor<4x!tt.ptr<i8>>"


def test_drop_assume():
    kernel = source(masked, **POINTERS)
    plain = compile_source(kernel, {}, stop_after="ttir").artifact("ttir").content
    assert "llvm.intr.assume" in plain
    result = compile_source(kernel, {}, "drop-assume")
    ttir = result.artifact("ttir").content
    assert "llvm.intr.assume" not in ttir
    assert ttir.count("arith.cmpi") == plain.count("arith.cmpi") - 1
    assert result.findings.statistics["ttir:drop-assume:assumptions dropped"] == 1


def test_libdevice_calls_that_nvidia_compiles_as_ops_too():
    result = compile_source(source(libdevice_calls, **POINTERS), {}, "libdevice-to-math")
    assert messages(result) == []
    assert "extern_elementwise" not in result.artifact("ttir").content
    assert result.artifact("ptx").content


def test_other_libdevice_calls_are_verified_ops():
    kernel = source(more_libdevice_calls, **POINTERS)
    result = compile_source(kernel, {}, "libdevice-to-math", stop_after="ttir")
    assert messages(result) == [
        "left alone: there is no equivalent of libdevice's '__nv_lgammaf' here"
    ]
    ttir = result.artifact("ttir").content
    assert ttir.count("extern_elementwise") == 1
    for op in ("math.tanh", "math.powf", "math.atan", "arith.remf"):
        assert op in ttir
