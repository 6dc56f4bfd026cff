"""`fuse-epilogue`: a merged kernel does what the two kernels do, bit for bit, or is refused."""

import numpy as np
import pytest

from kernels import follow_up_kernels as kernels
from support.lowering import lowered, python_file
from support.planned import after, small_gemm
from support.two_launches import merged, run_apart, run_merged

M, N, K = 37, 23, 19


def product(m=M, n=N, k=K, pitch=None):
    """Return a launch of examples/gemm.py with 16x16 tiles, and its result."""
    random = np.random.default_rng()
    pitch = pitch or n
    a, b = (random.standard_normal(shape).astype(np.float16) for shape in ((m, k), (k, n)))
    c = np.full((m, pitch), 7, np.float16)
    grid = (-(-m // 16), -(-n // 16))
    return (grid, [a, b, c, m, n, k, k, n, pitch]), c


def numbers(*shape, dtype=np.float32):
    return np.random.default_rng().standard_normal(shape).astype(dtype)


def gemm():
    module = small_gemm()
    for attribute in ("arg_attrs",):  # sizes here are no multiples of 16
        del module.functions()[0].attributes[attribute]
    return module


def copied(launches):
    """Return the launches with copies of all arrays, each copied once."""
    copies = {}

    def copy(value):
        if not isinstance(value, np.ndarray):
            return value
        return copies.setdefault(id(value), value.copy())

    return [(grid, [copy(value) for value in arguments]) for grid, arguments in launches]


def assert_same(second, launches, first=None, kept=()):
    """Merge, run both ways and compare all arrays but the matrix in between.

    `kept` are positions of the second launch's arguments that take the matrix's place.
    """
    first = first or gemm()
    module, said = merged(first, second, launches)
    assert len(said) == 1 and "merged: its" in said[0], said
    (_,) = module.functions()
    apart, fused = copied(launches), copied(launches)
    run_apart(first, second, apart)
    run_merged(module, fused)
    matrix = fused[0][1][2]
    for number, (left, right) in enumerate(zip(apart[1][1], fused[1][1], strict=True)):
        if right is matrix and number not in kept:
            np.testing.assert_array_equal(right, launches[0][1][2], "the matrix is not stored")
        elif isinstance(left, np.ndarray):
            np.testing.assert_array_equal(left, right)
    return module


def elements(size, block=64):
    return (-(-size // block),)


@pytest.mark.parametrize("size", [(M, N, K), (32, 48, 16), (1, 5, 3), (40, 1, 16)])
def test_counted_elements(size):
    first, c = product(*size)
    m, n, _ = size
    types = "*fp16 *fp32 *fp32 *fp16 i32 i32"
    second = lowered(kernels.by_elements, types, {"BLOCK": 64})
    out = np.full((m, n), 3, np.float16)
    launch = (elements(m * n), [c, numbers(n), numbers(m, n), out, m * n, n])
    assert_same(second, [first, launch])


def test_a_program_for_each_row():
    first, c = product(pitch=40)
    types = "*fp16 *fp32 *fp32 *fp32 i32 i32 i32 fp32"
    second = lowered(kernels.by_rows, types, {"BLOCK": 32})
    arguments = [c, numbers(N), numbers(M), np.zeros((M, 50), np.float32), N, 40, 50, 0.75]
    assert_same(second, [first, ((M,), arguments)])


def test_rows_as_long_as_a_program():
    """The lanes count the elements as well, but the program's number is needed as the row's."""
    first, c = product(M, 16, K)
    types = "*fp16 *fp32 *fp32 *fp32 i32 i32 i32 fp32"
    second = lowered(kernels.by_rows, types, {"BLOCK": 16})
    arguments = [c, numbers(16), numbers(M), np.zeros((M, 16), np.float32), 16, 16, 16, 0.75]
    assert_same(second, [first, ((M,), arguments)])


def test_blocks_of_their_own_size():
    first, c = product(pitch=25)
    types = "*fp16 *fp16 *fp32 *fp32 i32 i32 i32 i32 i32"
    second = lowered(kernels.by_blocks, types, {"HEIGHT": 8, "WIDTH": 32})
    out, residual = np.zeros((M, 31), np.float32), numbers(M, 29)
    arguments = [c, numbers(N, dtype=np.float16), residual, out, M, N, 25, 29, 31]
    assert_same(second, [first, ((1, 5), arguments)])


def test_in_place():
    first, c = product()
    second = lowered(kernels.in_place, "*fp16 i32", {"BLOCK": 128})
    assert_same(second, [first, (elements(M * N, 128), [c, M * N])], kept=(0,))


def test_a_residual_that_is_overwritten():
    first, c = product()
    second = lowered(kernels.two_results, "*fp16 *fp16 *fp16 i32", {"BLOCK": 128})
    kept, out = np.zeros((M, N), np.float16), numbers(M, N, dtype=np.float16)
    assert_same(second, [first, (elements(M * N, 128), [c, kept, out, M * N])])


def test_a_product_with_swizzled_programs_and_wrapped_rows():
    function = python_file("tools/bench/corpus/tutorials_matmul.py").matmul
    while not hasattr(function, "arg_names"):
        function = function.fn
    constants = {"BLOCK_M": 16, "BLOCK_N": 16, "BLOCK_K": 16, "GROUP_M": 2}
    module = lowered(function, "*fp16 *fp16 *fp16 i32 i32 i32 i32 i32 i32", constants)
    (_, arguments), c = product()
    second = lowered(kernels.in_place, "*fp16 i32", {"BLOCK": 128})
    launches = [((6,), arguments), (elements(M * N, 128), [c, M * N])]
    assert_same(second, launches, first=module, kept=(0,))


def refused(second, launches, first=None):
    """Return why two kernels were not merged; they must be as they were."""
    first = first or gemm()
    module, said = merged(first, second, launches)
    assert len(module.functions()) == 2
    (text,) = said
    assert "not merged: " in text
    return text.partition("not merged: ")[2]


def simple(kernel, types, block=64, **constants):
    return lowered(kernel, types, {"BLOCK": block, **constants})


def test_refused_is_what_is_not_elementwise():
    first, c = product()
    out = np.zeros((M, N), np.float32)
    count = M * N
    text = refused(
        simple(kernels.neighbours, "*fp16 *fp32 i32"), [first, (elements(count), [c, out, count])]
    )
    assert "its mask may leave out a part of the matrix" in text
    text = refused(
        simple(kernels.normalised, "*fp16 *fp32 i32 i32"), [first, ((M,), [c, out, N, N])]
    )
    assert text == "'tt.reduce' is no operation on one element by itself"
    text = refused(
        simple(kernels.by_program, "*fp16 *fp32 i32"), [first, (elements(count), [c, out, count])]
    )
    assert text == "'tt.get_program_id' is no operation on one element by itself"


def test_refused_are_launches_that_are_not_the_whole_matrix():
    first, c = product()
    second = simple(kernels.in_place, "*fp16 i32")
    count = M * N
    for grid, limit in (((2,), count), (elements(count), count - 1), (elements(count), count + 1)):
        text = refused(second, [first, (grid, [c, limit])])
        assert "are not the 37x23 elements" in text
    (grid, arguments), c = product()
    text = refused(second, [((grid[0] - 1, grid[1]), arguments), (elements(count), [c, count])])
    assert "are not the 32x23 elements" in text
    padded, c = product(pitch=24)
    text = refused(second, [padded, (elements(24 * M), [c, 24 * M])])
    assert text == "lanes count elements of a matrix with gaps between its rows"


def test_refused_is_memory_that_programs_share():
    first, c = product(32, 32, 32)
    a = first[1][0]
    copy = simple(kernels.two_results, "*fp16 *fp16 *fp16 i32")
    other = np.zeros((32, 32), np.float16)
    text = refused(copy, [first, (elements(1024), [c, a, other, 1024])])
    assert text == "it writes to memory that the first kernel may read"
    text = refused(copy, [first, (elements(1024), [c, other, other, 1024])])
    assert text == "it reads or writes what it writes at another place"
    first[1][1] = c
    text = refused(copy, [first, (elements(1024), [c, other, a.copy(), 1024])])
    assert text == "the first kernel has its result among its other arguments"


def test_transposed_results_are_stored_where_they_belong():
    first, c = product()
    second = lowered(kernels.transposed, "*fp16 *fp16 i32 i32", {"HEIGHT": 16, "WIDTH": 8})
    out = np.zeros((N, M), np.float16)
    assert_same(second, [first, ((3, 3), [c, out, M, N])])


def test_other_passes_go_on_with_the_merged_kernel():
    from flagc.passes.ttir.make_persistent import MakePersistent
    from flagc.passes.ttir.resize_tiles import ResizeTiles
    from support.planned import launch

    first, c = product()
    types = "*fp16 *fp32 *fp32 *fp16 i32 i32"
    second = simple(kernels.by_elements, types)
    out = np.full((M, N), 3, np.float16)
    launches = [first, (elements(M * N), [c, numbers(N), numbers(M, N), out, M * N, N])]
    module = assert_same(second, launches)
    module = after((ResizeTiles(y=32), MakePersistent(programs=2)), module)
    apart, fused = copied(launches), copied(launches)
    run_apart(gemm(), second, apart)
    (grid, left), (_, right) = fused
    launch(module, [*left, *right], grid)
    np.testing.assert_array_equal(apart[1][1][3], fused[1][1][3])
