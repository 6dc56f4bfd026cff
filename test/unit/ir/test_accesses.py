"""What the analysis says of loads and stores, against the addresses that kernels really access."""

import numpy as np
import pytest

from flagc.ir.analysis import affine
from flagc.ir.analysis.accesses import Access, Refused, accesses, describe
from flagc.ir.analysis.formula_text import text
from flagc.ir.analysis.index_values import IndexValues
from flagc.ir.types import PointerType, TensorType
from kernels import bridge_kernels
from support import ttir_interpreter
from support.lowering import lowered, python_file
from support.running import parsed
from support.ttir_arithmetic import dtype_of


def evaluated(formula, values, lanes=()):
    """Return a formula's value: scalars from `values`, lane d from the array `lanes[d]`."""

    def of_symbol(symbol):
        if symbol.kind == affine.SCALAR:
            return np.asarray(values[symbol.operands[0]]).astype(np.int64)
        if symbol.kind == affine.LANE:
            return lanes[symbol.operands[0]]
        left, right = (evaluated(operand, values, lanes) for operand in symbol.affine_operands)
        if symbol.kind == affine.MINIMUM:
            return np.minimum(left, right)
        if symbol.kind == affine.MAXIMUM:
            return np.maximum(left, right)
        quotient = np.trunc(left / np.where(right == 0, 1, right)).astype(np.int64)
        return quotient if symbol.kind == affine.QUOTIENT else left - quotient * right

    total = np.int64(0)
    for product, number in formula.terms.items():
        total = total + number * np.prod([of_symbol(symbol) for symbol in product], axis=0)
    return total


class Compared:
    """Compares each access that the interpreter makes with its description."""

    def __init__(self, values):
        self._values = values
        self.count = 0

    def check(self, program, op, addresses, mask):
        access = describe(self._values, op)
        assert isinstance(access, Access), access
        assert not access.irregular
        shape = tuple(dimension.size for dimension in access.dimensions)
        assert shape == addresses.shape
        lanes = [
            np.arange(size).reshape([-1 if dim == axis else 1 for axis in range(len(shape))])
            for dim, size in enumerate(shape)
        ]
        offset = evaluated(access.offset, program.values) + np.zeros(shape, np.int64)
        allowed = np.ones(shape, bool)
        for dimension, lane in zip(access.dimensions, lanes, strict=True):
            index = lane
            if dimension.wrap is not None:
                start, modulus = (
                    evaluated(part, program.values)
                    for part in (dimension.wrap.start, dimension.wrap.modulus)
                )
                index = (start + lane) % modulus
            offset = offset + index * evaluated(dimension.stride, program.values)
            for bound in dimension.upper:
                allowed = allowed & (lane < evaluated(bound.limit, program.values))
            for bound in dimension.lower:
                allowed = allowed & (lane >= evaluated(bound.limit, program.values))
        for term in access.conditions:
            allowed = allowed & (evaluated(term.margin, program.values) >= 0)
        tensor = TensorType.of(op.operands[0])
        pointer = PointerType.of(op.operands[0]) if tensor is None else tensor.pointer
        size = dtype_of(pointer.pointee).itemsize
        expected = program.values[access.base] + offset * size
        np.testing.assert_array_equal(np.broadcast_to(mask, shape), allowed)
        np.testing.assert_array_equal(addresses[allowed], expected[allowed])
        self.count += 1


def compare(module, arguments, grid, monkeypatch):
    """Run the kernel, comparing all its accesses; return how many there were."""
    compared = Compared(IndexValues())
    load, store = (ttir_interpreter._HANDLERS[name] for name in ("tt.load", "tt.store"))

    def checked_load(program, op, inputs):
        has_mask = list(op.attributes["operandSegmentSizes"])[1]
        compared.check(program, op, inputs[0], inputs[1] if has_mask else True)
        return load(program, op, inputs)

    def checked_store(program, op, inputs):
        compared.check(program, op, inputs[0], inputs[2] if len(inputs) > 2 else True)
        return store(program, op, inputs)

    monkeypatch.setitem(ttir_interpreter._HANDLERS, "tt.load", checked_load)
    monkeypatch.setitem(ttir_interpreter._HANDLERS, "tt.store", checked_store)
    ttir_interpreter.run(module, arguments, grid)
    return compared.count


BLOCKS = {"BLOCK_M": 16, "BLOCK_N": 16, "BLOCK_K": 16}
M, N, K = 19, 35, 41


def product():
    return [
        np.zeros((M, K), np.float16),
        np.zeros((K, N), np.float16),
        np.zeros((M, N), np.float16),
    ]


def test_gemm(monkeypatch):
    kernel = python_file("examples/gemm.py").gemm_kernel
    constants = {**BLOCKS, "stride_ak": 1, "stride_bn": 1, "stride_cn": 1}
    module = lowered(kernel, "*fp16 *fp16 *fp16 i32 i32 i32 i32 i32 i32", constants)
    arguments = [*product(), M, N, K, K, N, N]
    # 3 steps of 2 loads, and a store, in 2x3 programs.
    assert compare(module, arguments, (2, 3), monkeypatch) == 6 * 7


def test_gemm_of_a_transposed_matrix(monkeypatch):
    kernel = python_file("examples/gemm.py").gemm_kernel
    constants = {**BLOCKS, "stride_am": 1, "stride_bn": 1, "stride_cn": 1}
    module = lowered(kernel, "*fp16 *fp16 *fp16 i32 i32 i32 i32 i32 i32", constants)
    arguments = [*product(), M, N, K, M, N, N]
    assert compare(module, arguments, (2, 3), monkeypatch) == 6 * 7
    load = next(a for a in accesses(module, IndexValues()) if a.is_load)
    assert [text(dimension.stride) for dimension in load.dimensions] == ["1", "stride_ak"]


@pytest.mark.parametrize("name", ["matmul", "persistent_matmul"])
def test_matmul_with_swizzle_and_wrapped_rows(name, monkeypatch):
    """Pointers go round the loop; rows and columns wrap at the matrix's end."""
    kernel = getattr(python_file("tools/bench/corpus/tutorials_matmul.py"), name)
    sizes = {**BLOCKS, "GROUP_M": 2, "SMS": 4}
    constants = {key: value for key, value in sizes.items() if key in kernel.arg_names}
    module = lowered(kernel, "*fp16 *fp16 *fp16 i32 i32 i32 i32 i32 i32", constants)
    programs = 4 if "SMS" in constants else 6
    assert compare(module, [*product(), M, N, K, K, N, N], (programs,), monkeypatch) == 6 * 7


@pytest.mark.parametrize("columns", [50, 64, 100])
def test_layernorm_and_softmax(columns, monkeypatch):
    x, y = np.ones((3, columns), np.float16), np.zeros((3, columns), np.float16)
    weight = np.ones(columns, np.float16)
    kernel = python_file("examples/layernorm.py").layernorm_kernel
    module = lowered(kernel, "*fp16 *fp16 *fp16 *fp16 i32 i32 fp32", {"BLOCK": 32})
    arguments = [x, weight, weight, y, columns, columns, 1e-5]
    assert compare(module, arguments, (3,), monkeypatch) > 0
    kernel = python_file("examples/softmax.py").softmax_kernel
    module = lowered(kernel, "*fp16 *fp16 i32 i32", {"BLOCK": 128})
    assert compare(module, [x, y, columns, columns], (3,), monkeypatch) == 3 * 2


def test_attention(monkeypatch):
    kernel = python_file("examples/attention.py").attention_kernel
    constants = {"BLOCK_M": 16, "BLOCK_N": 16, "HEAD": 16}
    names = [name for name in kernel.arg_names if name not in constants]
    kinds = ["*fp16" if name.endswith("ptr") else "i32" for name in names]
    kinds = ["fp32" if "scale" in name else kind for name, kind in zip(names, kinds, strict=True)]
    module = lowered(kernel, " ".join(kinds), constants)
    length = 21
    tensors = [np.zeros((2, length, 16), np.float16) for name in names if name.endswith("ptr")]
    rest = [0.25 if "scale" in name else length for name in names[len(tensors) :]]
    assert compare(module, [*tensors, *rest], (2, 2), monkeypatch) > 0


CARRIED = """
tt.func public @carried(%p: !tt.ptr<f32>, %n: i32, %step: i32) {
  %c1 = arith.constant 1 : i32
  %c3 = arith.constant 3 : i32
  %fives = arith.constant dense<5> : tensor<4xi32>
  %lane = tt.make_range {end = 4 : i32, start = 0 : i32} : tensor<4xi32>
  %ps = tt.splat %p : !tt.ptr<f32> -> tensor<4x!tt.ptr<f32>>
  %r:2 = scf.for %i = %c1 to %n step %c3 iter_args(%at = %lane, %by = %step)
      -> (tensor<4xi32>, i32) : i32 {
    %q = tt.addptr %ps, %at : tensor<4x!tt.ptr<f32>>, tensor<4xi32>
    %v = tt.load %q : tensor<4x!tt.ptr<f32>>
    NEXT
    scf.yield %next, %faster : tensor<4xi32>, i32
  }
  tt.return
}
"""


@pytest.fixture
def only_access():
    """Return a function that describes a kernel's last access.

    Descriptions hold values of the module, which has to live as long as they are looked at.
    """
    modules = []

    def describe_last(text_of_kernel):
        modules.append(parsed(text_of_kernel))
        return accesses(modules[-1], IndexValues())[-1]

    return describe_last


def test_offset_carried_round_a_loop(only_access):
    """The counter goes 1, 4, 7; the offset 0, 5, 10."""
    next_ = """%next = arith.addi %at, %fives : tensor<4xi32>
               %faster = arith.addi %by, %c1 : i32"""
    access = only_access(CARRIED.replace("NEXT", next_))
    assert text(access.offset) == "5*iteration"
    assert text(access.dimensions[0].stride) == "1"
    by_counter = CARRIED.replace("NEXT", next_).replace("dense<5>", "dense<6>")
    assert text(only_access(by_counter).offset) == "2*counter - 2"


def test_offset_that_grows_by_more_each_time(only_access):
    next_ = """%bys = tt.splat %by : i32 -> tensor<4xi32>
               %next = arith.addi %at, %bys : tensor<4xi32>
               %faster = arith.addi %by, %c1 : i32"""
    refused = only_access(CARRIED.replace("NEXT", next_))
    assert isinstance(refused, Refused)
    assert refused.reason == "what the loop adds to the index is not the same every time"
    assert refused.at.name == "scf.for"


def test_block_pointers_and_descriptors():
    """Both are blocks of a tensor with sizes; what lies outside is masked off at both ends."""
    module = lowered(bridge_kernels.descriptor_copy, "*fp32 *fp32 i32 i32:16", TILE)
    load, store = accesses(module, IndexValues())
    assert load.is_load
    assert not store.is_load
    assert load.other == 0.0
    for access in (load, store):
        rows, columns = access.dimensions
        assert text(rows.stride) == "N"
        assert [text(bound.limit) for bound in rows.upper] == ["M - 32*program_id(0)"]
        assert [text(bound.limit) for bound in rows.lower] == ["-32*program_id(0)"]
        assert [text(bound.limit) for bound in columns.upper] == ["N - 16*program_id(1)"]


TILE = {"BLOCK_M": 32, "BLOCK_N": 16}
GATHER = """
tt.func public @gather(%p: !tt.ptr<f32>, %at: !tt.ptr<i32>, %w: i32) {
  %eights = arith.constant dense<8> : tensor<64xi32>
  %lane = tt.make_range {end = 64 : i32, start = 0 : i32} : tensor<64xi32>
  %ps = tt.splat %p : !tt.ptr<f32> -> tensor<64x!tt.ptr<f32>>
  %is = tt.splat %at : !tt.ptr<i32> -> tensor<64x!tt.ptr<i32>>
  %ip = tt.addptr %is, %lane : tensor<64x!tt.ptr<i32>>, tensor<64xi32>
  %index = INDEX
  %q = tt.addptr %ps, %index : tensor<64x!tt.ptr<f32>>, tensor<64xi32>
  %v = tt.load %q : tensor<64x!tt.ptr<f32>>
  tt.return
}
"""


@pytest.mark.parametrize(
    ("index", "at", "reason"),
    [
        ("tt.load %ip : tensor<64x!tt.ptr<i32>>", "tt.load", "the index is read from memory"),
        (
            "arith.divsi %lane, %eights : tensor<64xi32>",
            "tt.load",
            "the offset is a quotient of lanes' positions",
        ),
        (
            "arith.muli %lane, %lane : tensor<64xi32>",
            "tt.load",
            "the offset is a product of lanes' positions",
        ),
        (
            "arith.xori %lane, %eights : tensor<64xi32>",
            "arith.xori",
            "the index is computed by 'arith.xori'",
        ),
    ],
)
def test_refused(index, at, reason, only_access):
    found = only_access(GATHER.replace("INDEX", index))
    assert isinstance(found, Refused)
    assert (found.at.name, found.reason) == (at, reason)


def test_conditions_that_are_no_bound_of_one_dimension(only_access):
    kernel = """
tt.func public @triangle(%p: !tt.ptr<f32>, %v: tensor<8x8xf32>, %n: i32, %flag: i1) {
  %lane = tt.make_range {end = 8 : i32, start = 0 : i32} : tensor<8xi32>
  %r = tt.expand_dims %lane {axis = 1 : i32} : tensor<8xi32> -> tensor<8x1xi32>
  %c = tt.expand_dims %lane {axis = 0 : i32} : tensor<8xi32> -> tensor<1x8xi32>
  %rs = tt.broadcast %r : tensor<8x1xi32> -> tensor<8x8xi32>
  %cs = tt.broadcast %c : tensor<1x8xi32> -> tensor<8x8xi32>
  %low = arith.cmpi sle, %cs, %rs : tensor<8x8xi32>
  %ns = tt.splat %n : i32 -> tensor<8x1xi32>
  %in = arith.cmpi sgt, %ns, %r : tensor<8x1xi32>
  %ins = tt.broadcast %in : tensor<8x1xi1> -> tensor<8x8xi1>
  %fs = tt.splat %flag : i1 -> tensor<8x8xi1>
  %m = arith.andi %low, %ins : tensor<8x8xi1>
  %mask = arith.andi %m, %fs : tensor<8x8xi1>
  %ps = tt.splat %p : !tt.ptr<f32> -> tensor<8x8x!tt.ptr<f32>>
  %q = tt.addptr %ps, %cs : tensor<8x8x!tt.ptr<f32>>, tensor<8x8xi32>
  tt.store %q, %v, %mask : tensor<8x8x!tt.ptr<f32>>
  tt.return
}
"""
    access = only_access(kernel)
    assert [text(bound.limit) for bound in access.dimensions[0].upper] == ["arg2"]
    assert [str(term.value.type) for term in access.conditions] == ["i1"]
    assert len(access.irregular) == 1
    assert text(access.irregular[0].margin) == "lane(0) - lane(1)"
