"""`descriptors-to-pointers`: what the kernels compute, and that they compile on."""

import importlib.util
import itertools
from pathlib import Path

import numpy as np
import pytest
import tile_interpreter
from compiling import compile_source, compiled, messages

from flagc.ir import descriptor_abi
from flagc.ir.module import Module
from flagc.passes.ttir.descriptors_to_pointers import DescriptorsToPointers
from flagc.pipeline.context import PassContext
from flagc.pipeline.diagnostics import Findings
from flagc.pipeline.target import KernelSource
from flagc.targets.registry import target_by_name

FILE = Path(__file__).parents[2] / "ttir" / "inputs" / "descriptor_kernels.py"
SPEC = importlib.util.spec_from_file_location("descriptor_kernels", FILE)
kernels = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(kernels)

M, N = 8, 16
ORIGINS = tuple(itertools.product((-3, 0, 5, 40), (-7, 0, 3, 90)))


def source(function, **types):
    names = function.arg_names
    sizes = {name: size for name, size in (("M", M), ("N", N)) if name in names}
    signature = {name: types.get(name, "i32") for name in names}
    signature.update(dict.fromkeys(sizes, "constexpr"))
    constants = {(names.index(name),): size for name, size in sizes.items()}
    return KernelSource(function, signature, constants, {})


def pointers_only(function, **types):
    """Return the kernel's module after the pass."""
    compilation = target_by_name("cuda:sm90").begin(source(function, **types), {})
    stage = compilation.stages[0]
    module = stage.export(stage.run(compilation.payload, None))
    findings = Findings()
    with module.context:
        DescriptorsToPointers().run(module, PassContext(module, "", "ttir", None, {}, findings))
    assert findings.diagnostics == []
    text = module.text()
    assert "tensordesc" not in text
    verified = stage.import_module(module)
    return Module.parse(text, "ttir"), stage.text(verified)


def tensor(m, n):
    return np.arange(1, m * n + 1, dtype=np.float32).reshape(m, n)


def inside(array, row, column, fill):
    """The block at (row, column) of an array that goes on with `fill` in all directions."""
    block = np.full((M, N), fill, array.dtype)
    for i, j in itertools.product(range(M), range(N)):
        if 0 <= row + i < array.shape[0] and 0 <= column + j < array.shape[1]:
            block[i, j] = array[row + i, column + j]
    return block


@pytest.mark.parametrize("size", [(8, 16), (13, 35)])
def test_copies_what_is_inside(size):
    module, _ = pointers_only(kernels.copy_tile, x_ptr="*fp32", y_ptr="*fp32")
    x = tensor(*size)
    y = np.zeros_like(x)
    for program, column in itertools.product((0, 1, 2), (0, 16, 32, 48)):
        tile_interpreter.run(module, [x, y, *size, column], (program, 0))
    np.testing.assert_array_equal(x, y)


@pytest.mark.parametrize("origin", ORIGINS)
def test_nan_outside(origin):
    module, _ = pointers_only(kernels.copy_with_nan, x_ptr="*fp32", y_ptr="*fp32")
    x = tensor(13, 35)
    y = np.zeros((M, N), np.float32)
    tile_interpreter.run(module, [x, y, 13, 35, *origin])
    np.testing.assert_array_equal(y, inside(x, *origin, np.nan))


@pytest.mark.parametrize("origin", ORIGINS)
def test_sums(origin):
    module, _ = pointers_only(kernels.add_tile, x_ptr="*fp32", y_ptr="*fp32")
    x, y = tensor(13, 35), tensor(13, 35)
    tile_interpreter.run(module, [x, y, 13, 35, *origin])
    touched = np.zeros_like(x, bool)
    row, column = origin
    touched[max(0, row) : max(0, row + M), max(0, column) : max(0, column + N)] = True
    np.testing.assert_array_equal(y, np.where(touched, 2 * x, x))


@pytest.mark.parametrize(("element", "atomic"), [("i32", "max"), ("u32", "umax")])
def test_integers_keep_their_sign(element, atomic):
    types = {"x_ptr": f"*{element}", "y_ptr": f"*{element}"}
    _, text = pointers_only(kernels.largest, **types)
    assert f"tt.atomic_rmw {atomic}, relaxed, gpu" in text


@pytest.mark.parametrize("column", [-5, 0, 25])
def test_gather_and_scatter(column):
    module, _ = pointers_only(
        kernels.gather_and_scatter, x_ptr="*fp32", y_ptr="*fp32", rows_ptr="*i32"
    )
    x = tensor(13, 35)
    y = np.zeros_like(x)
    rows = np.array([3, 12, 13, -1, 0, 7, 99, 5], np.int32)
    tile_interpreter.run(module, [x, y, rows, 13, 35, column])
    expected = np.zeros_like(x)
    for row in rows[(rows >= 0) & (rows < 13)]:
        start, end = max(0, column), min(35, column + N)
        expected[row, start:end] = x[row, start:end]
    np.testing.assert_array_equal(y, expected)


def test_three_dimensions():
    module, _ = pointers_only(kernels.copy_3d, x_ptr="*fp32", y_ptr="*fp32")
    x = np.arange(1, 3 * 9 * 20 + 1, dtype=np.float32).reshape(3, 9, 20)
    y = np.zeros_like(x)
    for i, j, k in itertools.product((0, 2), (0, 8), (-4, 12)):
        tile_interpreter.run(module, [x, y, 3, 9, 20, i, j, k])
    np.testing.assert_array_equal(x, y)


HOST = "tensordesc<fp32[8, 16]>"


def launched(array, nan=False):
    """What Triton's launcher passes for a descriptor of `array` to a kernel without TMA."""
    sizes = list(array.shape)
    strides = [array.shape[1], 1]
    flags = [nan, False][: descriptor_abi.flag_count()]
    return [array, *sizes, *strides, *flags, *sizes, *strides]


@pytest.mark.parametrize("nan", [False, True])
@pytest.mark.parametrize("origin", [(0, 0), (9, 30), (-2, -2)])
def test_descriptors_of_the_host(origin, nan):
    module, text = pointers_only(kernels.copy_host, x=HOST, y=HOST)
    assert "!tt.ptr<f32> {tt.divisibility = 16 : i32}" in text
    assert "i64 {tt.divisibility = 4 : i32}" in text
    x = tensor(13, 35)
    y = np.full_like(x, -1)
    tile_interpreter.run(module, [*launched(x, nan), *launched(y), *origin])
    block = inside(x, *origin, np.nan if nan else 0)
    expected = np.full_like(x, -1)
    for i, j in itertools.product(range(M), range(N)):
        if 0 <= origin[0] + i < 13 and 0 <= origin[1] + j < 35:
            expected[origin[0] + i, origin[1] + j] = block[i, j]
    np.testing.assert_array_equal(y, expected)


@pytest.mark.parametrize("name", ["descriptor_copy", "descriptor_gemm"])
@pytest.mark.parametrize("chip", ["sm80", "sm90"])
def test_kernels_compile(name, chip):
    result = compiled(name, "descriptors-to-pointers", chip=chip)
    assert messages(result) == []
    ptx = result.artifact("ptx").content
    assert "cp.async.bulk" not in ptx
    assert "tensormap" not in ptx


def test_host_gemm_compiles():
    descriptor = "tensordesc<fp16[64, 64]>"
    names = kernels.host_gemm.arg_names
    signature = {**dict.fromkeys("abc", descriptor), "k": "i32", "M": "constexpr"}
    request = KernelSource(kernels.host_gemm, signature, {(names.index("M"),): 64}, {})
    result = compile_source(request, {}, "descriptors-to-pointers")
    assert messages(result) == []
    ptx = result.artifact("ptx").content
    assert "wgmma" in ptx
    assert "cp.async.bulk" not in ptx
    assert not result.metadata.get("tensordesc_meta")


def test_a_descriptor_that_is_chosen_at_run_time_is_left_alone():
    types = {"x_ptr": "*fp16", "y_ptr": "*fp16"}
    result = compile_source(source(kernels.chosen, **types), {}, "descriptors-to-pointers")
    assert all("left alone: the descriptor is used by" in text for text in messages(result))
    assert result.artifact("ttir").content.count("tt.make_tensor_descriptor") == 2
    assert result.findings.statistics == {}
