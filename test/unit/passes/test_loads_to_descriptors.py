"""`loads-to-descriptors`: what kernels compute, what is refused, and that TMA is what they use."""

import numpy as np
import pytest
from compiling import aligned_gemm, compile_source, compiled, messages

from flagc.ir.module import Module
from flagc.ir.types import TensorDescType
from flagc.passes.ttir.descriptors_to_pointers import DescriptorsToPointers
from flagc.passes.ttir.loads_to_descriptors import LoadsToDescriptors
from flagc.passes.ttir.unwrap_modulo_offsets import UnwrapModuloOffsets
from support import ttir_interpreter
from support.lowering import lowered, python_file
from support.running import parsed, transformed

BLOCKS = {"BLOCK_M": 16, "BLOCK_N": 16, "BLOCK_K": 16}
STRIDES = {"stride_ak": 1, "stride_bn": 1, "stride_cn": 1}
GEMM = "*fp16:16 *fp16:16 *fp16:16 i32 i32:16 i32 i32:16 i32:16 i32:16"


def with_descriptors(module, *passes):
    """Return the module after the passes, and a copy in which descriptors are pointers again."""
    said = []
    for instance in passes:
        module, remarks = transformed(instance, module.text())
        said += remarks
    pointers, problems = transformed(DescriptorsToPointers(), module.text())
    assert problems == []
    return module, pointers, said


def padded(rows, columns, random):
    """A matrix whose rows lie 16 elements apart or a multiple of it."""
    width = -(-columns // 16) * 16 + 16
    return random.standard_normal((rows, width)).astype(np.float16)


def compare_gemm(module, size, transposed=False, passes=(LoadsToDescriptors(),), grid=None):
    """Run the kernel both ways on padded matrices: results and surroundings must be equal."""
    m, n, k = size
    random = np.random.default_rng()
    a = padded(k, m, random) if transposed else padded(m, k, random)
    b, c = padded(k, n, random), padded(m, n, random)
    strides = [matrix.shape[1] for matrix in (a, b, c)]
    changed, pointers, said = with_descriptors(module, *passes)
    results = []
    for version in (module, pointers):
        arguments = [np.copy(a), np.copy(b), np.copy(c), m, n, k, *strides]
        grid = grid or (-(-m // 16), -(-n // 16))
        ttir_interpreter.run(version, arguments, grid)
        results.append(arguments[2])
    np.testing.assert_array_equal(*results)
    return changed, said


SIZES = [(3, 16, 5), (17, 32, 16), (16, 16, 31), (9, 48, 48), (16, 16, 0)]


@pytest.mark.parametrize("size", SIZES)
def test_gemm(size):
    kernel = python_file("examples/gemm.py").gemm_kernel
    module = lowered(kernel, GEMM, {**BLOCKS, **STRIDES})
    changed, said = compare_gemm(module, size)
    assert said == []
    assert not list(changed.walk("tt.load", "tt.store", "arith.cmpi"))
    # The kernel's first ops: one descriptor for each matrix, outside of the loop.
    function = changed.functions()[0]
    assert [op.parent.operation for op in changed.walk("tt.make_tensor_descriptor")] == [
        function
    ] * 3


@pytest.mark.parametrize("size", SIZES)
def test_gemm_of_a_transposed_matrix(size):
    kernel = python_file("examples/gemm.py").gemm_kernel
    constants = {**BLOCKS, "stride_am": 1, "stride_bn": 1, "stride_cn": 1}
    changed, said = compare_gemm(lowered(kernel, GEMM, constants), size, transposed=True)
    assert said == []
    assert len(list(changed.walk("tt.trans"))) == 1


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", ["matmul", "persistent_matmul"])
def test_matmul_with_swizzle_and_pointers_round_the_loop(name, size):
    """Rows and columns wrap around in the tutorial; `unwrap-modulo-offsets` has to come first."""
    kernel = getattr(python_file("tools/bench/corpus/tutorials_matmul.py"), name)
    sizes = {**BLOCKS, "GROUP_M": 2, "SMS": 4}
    constants = {key: value for key, value in sizes.items() if key in kernel.arg_names}
    module = lowered(kernel, GEMM, constants)
    _, remarks = transformed(LoadsToDescriptors(), module.text())
    assert sum("unwrap-modulo-offsets makes them plain" in remark for remark in remarks) == 2
    tiles = -(-size[0] // 16) * -(-size[1] // 16)
    passes = (UnwrapModuloOffsets(), LoadsToDescriptors())
    grid = (4 if "SMS" in constants else tiles,)
    changed, said = compare_gemm(module, size, passes=passes, grid=grid)
    assert said == []
    assert len(list(changed.walk("tt.descriptor_load"))) == 2


@pytest.mark.parametrize("length", [1, 16, 21])
def test_attention(length):
    """The head's columns have no mask; the batch's offset is part of the tensor's address."""
    kernel = python_file("examples/attention.py").attention_kernel
    constants = {"BLOCK_M": 16, "BLOCK_N": 16, "HEAD": 16}
    module = lowered(kernel, "*fp16:16 *fp16:16 *fp16:16 *fp16:16 fp32 i32", constants)
    changed, pointers, said = with_descriptors(module, LoadsToDescriptors())
    assert said == []
    assert not list(changed.walk("tt.load", "tt.store"))
    q, k, v = np.random.default_rng().standard_normal((3, 2, length, 16)).astype(np.float16)
    results = []
    for version in (module, pointers):
        arguments = [q, k, v, np.zeros_like(q), 0.25, length]
        ttir_interpreter.run(version, arguments, (-(-length // 16), 2))
        results.append(arguments[3])
    np.testing.assert_array_equal(*results)


@pytest.mark.parametrize("pad", [0, 1, 8])
def test_two_versions(pad, monkeypatch):
    """Strides decide at run time: multiples of 8 halves are multiples of 16 bytes."""
    kernel = python_file("examples/gemm.py").gemm_kernel
    types = GEMM.replace("i32:16", "i32")
    module = lowered(kernel, types, {**BLOCKS, **STRIDES})
    left, remarks = transformed(LoadsToDescriptors(), module.text())
    assert sum("versioned=true" in remark for remark in remarks) == 3
    assert list(left.walk("tt.make_tensor_descriptor")) == []
    changed, pointers, said = with_descriptors(module, LoadsToDescriptors(versioned=True))
    assert said == []
    (version,) = changed.walk("scf.if")
    inside = list(changed.walk("tt.make_tensor_descriptor"))
    assert [op.parent.operation for op in inside] == [version] * 3
    m, n, k = 18, 24, 40
    random = np.random.default_rng()
    a, b = (random.standard_normal(shape).astype(np.float16) for shape in ((m, k + pad), (k, n)))
    taken = set()
    branch = ttir_interpreter._HANDLERS["scf.if"]

    def noted(program, op, inputs):
        taken.add(bool(inputs[0]))
        return branch(program, op, inputs)

    monkeypatch.setitem(ttir_interpreter._HANDLERS, "scf.if", noted)
    results = []
    for kernel_version in (module, pointers):
        arguments = [a, b, np.zeros((m, n), np.float16), m, n, k, k + pad, n, n]
        ttir_interpreter.run(kernel_version, arguments, (2, 2))
        results.append(arguments[2])
    np.testing.assert_array_equal(*results)
    assert taken == {pad % 8 == 0}


REFUSALS = """
tt.func public @kernel(%p: !tt.ptr<f32> {tt.divisibility = 16 : i32},
                       %o: !tt.ptr<f32> {tt.divisibility = 16 : i32},
                       %s: i32 {tt.divisibility = 16 : i32}, %m: i32, %flags: !tt.ptr<i32>) {
  %zeros = arith.constant dense<OTHER> : tensor<16x16xf32>
  %lane = tt.make_range {end = 16 : i32, start = 0 : i32} : tensor<16xi32>
  %r = tt.expand_dims %lane {axis = 1 : i32} : tensor<16xi32> -> tensor<16x1xi32>
  %c = tt.expand_dims %lane {axis = 0 : i32} : tensor<16xi32> -> tensor<1x16xi32>
  %ss = tt.splat %s : i32 -> tensor<16x1xi32>
  %rs = arith.muli %r, %ss : tensor<16x1xi32>
  %rb = tt.broadcast %rs : tensor<16x1xi32> -> tensor<16x16xi32>
  %cb = tt.broadcast %c : tensor<1x16xi32> -> tensor<16x16xi32>
  %at = arith.addi %rb, %cb : tensor<16x16xi32>
  %ps = tt.splat %p : !tt.ptr<f32> -> tensor<16x16x!tt.ptr<f32>>
  %os = tt.splat %STORED : !tt.ptr<f32> -> tensor<16x16x!tt.ptr<f32>>
  %pq = tt.addptr %ps, %at : tensor<16x16x!tt.ptr<f32>>, tensor<16x16xi32>
  %oq = tt.addptr %os, %at : tensor<16x16x!tt.ptr<f32>>, tensor<16x16xi32>
  %ms = tt.splat %m : i32 -> tensor<16x1xi32>
  %in = arith.cmpi PREDICATE, %r, %ms : tensor<16x1xi32>
  %mask = tt.broadcast %in : tensor<16x1xi1> -> tensor<16x16xi1>
  %v = tt.load %pq, %mask, %zeros VOLATILE : tensor<16x16x!tt.ptr<f32>>
  tt.store %oq, %v, %mask : tensor<16x16x!tt.ptr<f32>>
  EXTRA
  tt.return
}
"""
PLAIN = {"OTHER": "0.0", "STORED": "o", "PREDICATE": "slt", "VOLATILE": "", "EXTRA": ""}
ATOMIC = """%one = arith.constant 1 : i32
  %yes = arith.constant true
  %old = tt.atomic_rmw add, acq_rel, gpu, %flags, %one, %yes : (!tt.ptr<i32>, i32, i1) -> i32"""


def refused(**parts):
    text = REFUSALS
    for name, part in {**PLAIN, **parts}.items():
        text = text.replace(name, part)
    module, remarks = transformed(LoadsToDescriptors(), text)
    return len(list(module.walk("tt.load", "tt.store"))), remarks


def test_nothing_refused():
    assert refused() == (0, [])


@pytest.mark.parametrize(
    ("parts", "left", "reason"),
    [
        ({"OTHER": "1.0"}, 1, "lanes outside are loaded as something else than 0"),
        ({"OTHER": "-0.0"}, 1, "lanes outside are loaded as something else than 0"),
        ({"STORED": "p"}, 2, "the kernel both loads and stores through this pointer"),
        ({"PREDICATE": "sge"}, 2, "its mask has a lower bound"),
        ({"PREDICATE": "eq"}, 2, "its mask is more than bounds on rows and columns"),
        ({"EXTRA": ATOMIC}, 1, "the kernel has atomics"),
    ],
)
def test_refused(parts, left, reason):
    count, remarks = refused(**parts)
    assert count == left
    assert len(remarks) == left
    assert all(reason in remark for remark in remarks)


def test_volatile():
    """The store stays as well: whether the load's memory is its own is not known."""
    count, remarks = refused(VOLATILE="{isVolatile = true}")
    assert count == 2
    assert "it is volatile" in remarks[0]
    assert "'tt.load' may access the same memory" in remarks[1]


def test_row_stride_that_is_not_aligned():
    kernel = python_file("examples/gemm.py").gemm_kernel
    types = "*fp16:16 *fp16 *fp16:16 i32 i32:16 i32 i32:8 i32:16 i32:4"
    module = lowered(kernel, types, {**BLOCKS, **STRIDES})
    changed, remarks = transformed(LoadsToDescriptors(), module.text())
    # A's rows are 8 halves apart, which is 16 bytes.
    assert [text.removeprefix("left as it is: ").split(" not")[0] for text in remarks] == [
        "its pointer is",
        "its strides, offsets or row lengths are",
    ]
    (load,) = changed.walk("tt.descriptor_load")
    assert TensorDescType.of(load.operands[0]).block.shape == (16, 16)


@pytest.mark.parametrize(("columns", "stores"), [(87, 1), (88, 0)])
def test_rows_of_a_store_must_be_multiples_of_16_bytes(columns, stores):
    """The hardware writes 16 bytes at once, past the end of a row of 87 halves."""
    kernel = python_file("examples/gemm.py").gemm_kernel
    constants = {**BLOCKS, **STRIDES, "N": columns}
    types = "*fp16:16 *fp16:16 *fp16:16 i32 i32 i32:16 i32:16 i32:16"
    changed, remarks = transformed(LoadsToDescriptors(), lowered(kernel, types, constants).text())
    assert len(list(changed.walk("tt.store"))) == stores
    assert len(list(changed.walk("tt.descriptor_load"))) == 2
    assert [text.split(" not")[0] for text in remarks] == [
        "left as it is: its strides, offsets or row lengths are"
    ] * stores


@pytest.mark.parametrize("chip", ["sm90", "sm100"])
@pytest.mark.parametrize("options", ["", "{versioned=true}"])
def test_compiles_to_tma(chip, options):
    result = compile_source(*aligned_gemm(), f"loads-to-descriptors{options}", chip=chip)
    assert messages(result) == []
    assert "cp.async.bulk.tensor" in result.artifact("ptx").content
    assert result.metadata["global_scratch_size"] == 3 * 128


def test_no_tma_before_sm90():
    result = compiled("gemm", "loads-to-descriptors", chip="sm80")
    assert messages(result) == ["not applied: sm80 has no TMA; sm90 is the first that has"]
    assert "tensordesc" not in result.artifact("ttir").content


def test_result_reads_back():
    kernel = python_file("examples/gemm.py").gemm_kernel
    changed, _ = transformed(
        LoadsToDescriptors(), lowered(kernel, GEMM, {**BLOCKS, **STRIDES}).text()
    )
    assert isinstance(parsed(changed.text()), Module)


EARLY = """
tt.func public @early(%p: !tt.ptr<f16>, %o: !tt.ptr<f16>, %n: i32) {
  %c0 = arith.constant 0 : i32
  %stop = arith.cmpi eq, %n, %c0 : i32
  cf.cond_br %stop, ^end, ^go
^end:
  tt.return
^go:
  %sixteens = arith.constant dense<16> : tensor<16x1xi32>
  %lane = tt.make_range {end = 16 : i32, start = 0 : i32} : tensor<16xi32>
  %r = tt.expand_dims %lane {axis = 1 : i32} : tensor<16xi32> -> tensor<16x1xi32>
  %c = tt.expand_dims %lane {axis = 0 : i32} : tensor<16xi32> -> tensor<1x16xi32>
  %rs = arith.muli %r, %sixteens : tensor<16x1xi32>
  %rb = tt.broadcast %rs : tensor<16x1xi32> -> tensor<16x16xi32>
  %cb = tt.broadcast %c : tensor<1x16xi32> -> tensor<16x16xi32>
  %at = arith.addi %rb, %cb : tensor<16x16xi32>
  %ps = tt.splat %p : !tt.ptr<f16> -> tensor<16x16x!tt.ptr<f16>>
  %q = tt.addptr %ps, %at : tensor<16x16x!tt.ptr<f16>>, tensor<16x16xi32>
  %v = tt.load %q : tensor<16x16x!tt.ptr<f16>>
  tt.return
}
"""


def test_no_second_version_of_a_kernel_that_returns_early():
    module, remarks = transformed(LoadsToDescriptors(versioned=True), EARLY)
    assert remarks == [
        "no second version: the kernel returns early; structured-early-return makes it one block"
    ]
    assert len(list(module.walk("tt.load"))) == 1
