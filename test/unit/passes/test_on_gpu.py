"""Passes in JIT launches on an NVIDIA GPU, through Triton's own launcher. Skipped without one.

PYTHONPATH=python python test/unit/passes/test_on_gpu.py     # without pytest
"""

import importlib.util
import sys
from pathlib import Path

import torch
import triton
import triton.language as tl
from triton.language.extra import libdevice
from triton.tools.tensor_descriptor import TensorDescriptor

import flagc

try:
    import pytest
except ImportError:
    pytest = None
else:
    pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs an NVIDIA GPU")

FILE = Path(__file__).parents[2] / "ttir" / "inputs" / "descriptor_kernels.py"
SPEC = importlib.util.spec_from_file_location("descriptor_kernels", FILE)
kernels = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(kernels)


def quiet(findings, kernel):
    assert not findings.diagnostics, findings.diagnostics


def ptx_of(kernel):
    return list(kernel.device_caches[torch.cuda.current_device()][0].values())[-1].asm["ptx"]


@triton.jit
def libdevice_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n)
    y = libdevice.round(x) + libdevice.rint(x) + libdevice.trunc(x) + libdevice.sinh(x)
    y += libdevice.cbrt(x) + libdevice.asinh(x) + libdevice.copysign(y, x) + libdevice.exp(x)
    y = tl.where(libdevice.isnan(y) | libdevice.isinf(y), 0.0, y)
    tl.store(y_ptr + at, y + libdevice.div_rz(y, x), mask=at < n)


def host_gemm(m, n, k):
    """C = A @ B with sizes that are no multiples of the tile; C is larger than the descriptor."""
    a = torch.randn(m, k, device="cuda", dtype=torch.float16)
    b = torch.randn(k, n, device="cuda", dtype=torch.float16)
    c = torch.full((m + 8, n), 7.0, device="cuda", dtype=torch.float16)
    tile = [64, 64]
    descriptors = [TensorDescriptor.from_tensor(tensor, tile) for tensor in (a, b, c[:m])]
    kernels.host_gemm[(triton.cdiv(m, 64), triton.cdiv(n, 64))](*descriptors, k, M=64)
    expected = a.double() @ b.double()
    assert (c[:m].double() - expected).norm() / expected.norm() < 1e-3
    assert (c[m:] == 7).all()


def test_host_descriptors():
    host_gemm(200, 136, 88)
    with_tma = ptx_of(kernels.host_gemm)
    with flagc.use_passes("descriptors-to-pointers", report=quiet):
        host_gemm(200, 136, 88)
        without = ptx_of(kernels.host_gemm)
    assert "cp.async.bulk.tensor" in with_tma
    assert "cp.async.bulk.tensor" not in without


def test_padding_of_host_descriptors():
    def run(padding):
        x = torch.arange(1, 13 * 36 + 1, device="cuda", dtype=torch.float32).reshape(13, 36)
        y = torch.full((16, 32), -1.0, device="cuda")
        source = TensorDescriptor.from_tensor(x, [8, 16], padding)
        target = TensorDescriptor.from_tensor(y, [8, 16])
        kernels.copy_host[(1,)](source, target, 8, 16)
        kernels.copy_host[(1,)](source, target, 0, 0)
        return y

    for padding in ("zero", "nan"):
        expected = run(padding)
        with flagc.use_passes("descriptors-to-pointers", report=quiet):
            torch.testing.assert_close(run(padding), expected, rtol=0, atol=0, equal_nan=True)


def inside(x, row, column, fill):
    """The 8x16 block at (row, column) of a matrix that goes on with `fill` in all directions."""
    margin = 64
    padded = torch.nn.functional.pad(x, [margin] * 4, value=fill)
    row, column = row + margin, column + margin
    return padded[row : row + 8, column : column + 16]


def test_descriptors_of_the_kernel():
    x = torch.arange(1, 13 * 36 + 1, device="cuda", dtype=torch.float32).reshape(13, 36)
    with flagc.use_passes("descriptors-to-pointers", report=quiet):
        for row, column in ((0, 0), (-3, 8), (9, -4), (9, 30), (40, 0)):
            y = torch.zeros(8, 16, device="cuda")
            kernels.copy_with_nan[(1,)](x, y, 13, 36, row, column, M=8, N=16)
            expected = inside(x, row, column, float("nan"))
            torch.testing.assert_close(y, expected, rtol=0, atol=0, equal_nan=True)
            z = torch.ones_like(x)
            kernels.add_tile[(1,)](x, z, 13, 36, row, column, M=8, N=16)
            touched = torch.zeros_like(x)
            touched[max(0, row) : max(0, row + 8), max(0, column) : max(0, column + 16)] = 1
            torch.testing.assert_close(z, 1 + touched * x, rtol=0, atol=0)


def test_libdevice():
    def run(x):
        y = torch.empty_like(x)
        libdevice_kernel[(triton.cdiv(len(x), 1024),)](x, y, len(x), BLOCK=1024)
        return y

    torch.manual_seed(0)
    x = torch.cat([torch.randn(100_000, device="cuda") * 20, torch.arange(-50, 50.5, 0.5).cuda()])
    x = x[x != 0]
    expected = run(x)
    with flagc.use_passes("explicit-other,libdevice-to-math", report=quiet):
        found = run(x)
    torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-6)


if __name__ == "__main__":
    print(torch.cuda.get_device_name(), "triton", triton.__version__, "torch", torch.__version__)
    failed = 0
    for name, test in list(globals().items()):
        if name.startswith("test_"):
            try:
                test()
                print("ok  ", name)
            except Exception as error:
                failed += 1
                print("FAIL", name, type(error).__name__, str(error)[:1500])
    sys.exit(failed)
