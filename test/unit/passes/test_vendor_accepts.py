"""The vendor's Ascend chain takes what the TTIR passes for it make, and not what they are given."""

import pytest
import test_descriptors_to_pointers as descriptors
import test_vendor_ttir_passes as vendor
import triton
import triton.language as tl
from triton.language.extra import libdevice

from flagc.errors import FlagcError
from flagc.pipeline.compiler import CompileRequest, compile_kernel
from flagc.pipeline.loading import load_installed_passes
from flagc.pipeline.pipeline_text import parse_pipeline
from flagc.pipeline.target import KernelSource
from flagc.targets.registry import target_by_name


def final(source, passes):
    """Compile to what hivmc takes."""
    load_installed_passes()
    target = target_by_name("ascend:910B3", "vendor")
    request = CompileRequest(source, target, {}, parse_pipeline(passes), stop_after="final")
    return compile_kernel(request).artifact("final").content


@triton.jit
def math_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at)
    y = libdevice.tanh(x) + libdevice.pow(x, n) + libdevice.erf(x) + libdevice.sinh(x)
    y += libdevice.asinh(x) + libdevice.cbrt(x) + libdevice.trunc(x) + libdevice.round(x)
    tl.store(y_ptr + at, libdevice.div_rz(y, x))


HOST = KernelSource(
    descriptors.kernels.host_gemm,
    {**dict.fromkeys("abc", "tensordesc<fp16[64, 64]>"), "k": "i32", "M": "constexpr"},
    {(4,): 64},
    {},
)
PASSES = (
    "explicit-other",
    "libdevice-to-math",
    "drop-assume",
    "drop-cache-hints",
    "descriptors-to-pointers",
)
CASES = {
    "libdevice-to-math": vendor.source(math_kernel, **vendor.POINTERS),
    "drop-assume": vendor.source(vendor.masked, **vendor.POINTERS),
    "descriptors-to-pointers": HOST,
}


@pytest.mark.parametrize("name", CASES)
def test_the_pass_is_needed_and_enough(name):
    assert final(CASES[name], ",".join(PASSES))
    with pytest.raises(FlagcError):
        final(CASES[name], ",".join(other for other in PASSES if other != name))


@pytest.mark.skipif(triton.__version__ < "3.9", reason="the adapter reads 3.6's cache hints")
def test_cache_hints_of_triton_3_9():
    kernel = vendor.source(vendor.masked, **vendor.POINTERS)
    with pytest.raises(FlagcError, match="attribute"):
        final(kernel, ",".join(other for other in PASSES if other != "drop-cache-hints"))
