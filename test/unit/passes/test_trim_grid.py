"""`trim-grid`: the same results from as many programs as there are tiles with something in them."""

import numpy as np
import pytest
from compiling import compile_source, messages

from flagc.ir.launch_arguments import plan_of
from flagc.passes.ttir.descriptors_to_pointers import DescriptorsToPointers
from flagc.passes.ttir.drop_proven_masks import DropProvenMasks
from flagc.passes.ttir.loads_to_descriptors import LoadsToDescriptors
from flagc.passes.ttir.make_persistent import MakePersistent
from flagc.passes.ttir.resize_tiles import ResizeTiles
from flagc.passes.ttir.split_k import SplitK
from flagc.passes.ttir.swizzle_program_ids import SwizzleProgramIds
from flagc.passes.ttir.trim_grid import TrimGrid
from flagc.pipeline.target import KernelSource
from support.lowering import lowered, python_file
from support.planned import after, launch, whole_numbers

BLOCKS = {"BLOCK_M": 64, "BLOCK_N": 32, "BLOCK_K": 16}
STRIDES = {"stride_ak": 1, "stride_bn": 1, "stride_cn": 1}
TYPES = "*fp16:16 *fp16:16 *fp16:16 i32:16 i32:16 i32:16"
SMALLER = ResizeTiles(x=16, y=16)
PIPELINES = [
    (SMALLER, TrimGrid()),
    (SMALLER, TrimGrid(), DropProvenMasks()),
    (SMALLER, TrimGrid(), SplitK(ways=2)),
    (SMALLER, TrimGrid(), SwizzleProgramIds(group_m=2)),
    (SMALLER, TrimGrid(), MakePersistent(programs=3)),
    (SMALLER, TrimGrid(), LoadsToDescriptors(), DescriptorsToPointers()),
    (ResizeTiles(y=64), TrimGrid(), MakePersistent(programs=2)),
]
SIZES = [((16, 48, 32), 0), ((32, 32, 32), 1), ((16, 32, 48), 3)]
GEMM = python_file("examples/gemm.py").gemm_kernel


@pytest.mark.parametrize(("size", "more"), SIZES)
@pytest.mark.parametrize("passes", PIPELINES)
def test_gemm(passes, size, more):
    """The script may launch `more` tiles of rows and columns than the matrix has."""
    m, n, k = size
    module = lowered(GEMM, TYPES, {**BLOCKS, **STRIDES, "M": m, "N": n, "K": k})
    changed = after(passes, module)
    a, b = (whole_numbers(shape).astype(np.float16) for shape in ((m, k), (k, n)))
    grid = (-(-m // 64) + more, -(-n // 32) + more)
    results = []
    for version in (module, changed):
        c = np.full((m, n), 7, np.float16)
        launch(version, [a, b, c, k, n, n], grid)
        results.append(c)
    np.testing.assert_array_equal(*results)
    plan = plan_of(changed.functions()[0])
    x, y = plan.new_blocks[:2]
    rows, columns = x if x > 1 else 64, y if y > 1 else 32
    tiles = (-(-m // rows), -(-n // columns), 1)
    if passes[0] is SMALLER:
        assert plan.tiles((*grid, 1)) == tiles
    assert np.prod(plan.launched((*grid, 1))) <= np.prod(tiles) * plan.ways


def test_a_grid_that_is_smaller_stays():
    """What the script leaves out stays out."""
    module = lowered(GEMM, TYPES, {**BLOCKS, **STRIDES, "M": 256, "N": 256, "K": 16})
    changed = after((TrimGrid(),), module)
    plan = plan_of(changed.functions()[0])
    assert plan.limits == (4, 8, 0)
    assert plan.tiles((3, 100, 5)) == (3, 8, 5)


def test_masks_of_tiles_that_fit_go_away():
    values = {"M": 4096, "N": 4096, "K": 4096}
    constants = {"BLOCK_M": 128, "BLOCK_N": 128, "BLOCK_K": 64, **STRIDES, **values}
    names = GEMM.arg_names
    signature = {n: "constexpr" if n in constants else "i32" for n in names}
    signature |= dict.fromkeys(("a_ptr", "b_ptr", "c_ptr"), "*fp16")
    source = KernelSource(
        GEMM,
        signature,
        {(names.index(name),): value for name, value in constants.items()},
        {(i,): [["tt.divisibility", 16]] for i, n in enumerate(names) if n not in constants},
    )
    result = compile_source(source, {}, "trim-grid,drop-proven-masks", stop_after="ttir")
    assert messages(result) == []
    assert "cmpi" not in result.artifact("ttir").content
