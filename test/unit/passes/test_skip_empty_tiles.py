"""`skip-empty-tiles`: the same results, and no work for tiles outside of the tensor."""

import numpy as np
import pytest

from flagc.passes.ttir.descriptors_to_pointers import DescriptorsToPointers
from flagc.passes.ttir.loads_to_descriptors import LoadsToDescriptors
from flagc.passes.ttir.make_persistent import MakePersistent
from flagc.passes.ttir.resize_tiles import ResizeTiles
from flagc.passes.ttir.skip_empty_tiles import SkipEmptyTiles
from flagc.passes.ttir.split_k import SplitK
from support import ttir_interpreter
from support.lowering import lowered, python_file
from support.planned import launch
from support.running import transformed

BLOCKS = {"BLOCK_M": 64, "BLOCK_N": 32, "BLOCK_K": 16}
STRIDES = {"stride_ak": 1, "stride_bn": 1, "stride_cn": 1}
GEMM = "*fp16:16 *fp16:16 *fp16:16 i32 i32 i32 i32:16 i32:16 i32:16"
# With how many products of 16x16x16 each computes 7 x 40 x 48: 3 tiles of 3 steps.
PIPELINES = [
    ((ResizeTiles(x=16, y=16), SkipEmptyTiles()), 9),
    ((ResizeTiles(x=16, y=16), SkipEmptyTiles(), SplitK(ways=2)), 9),
    ((ResizeTiles(x=16, y=16), SkipEmptyTiles(), MakePersistent(programs=3)), 9),
    (
        (
            ResizeTiles(x=16, y=16),
            LoadsToDescriptors(stores=False),
            SkipEmptyTiles(),
            DescriptorsToPointers(),
        ),
        9,
    ),
    ((ResizeTiles(x=16, y=16),), 4 * 4 * 3),
]


@pytest.mark.parametrize(("passes", "products"), PIPELINES)
def test_gemm(passes, products, monkeypatch):
    m, n, k = 7, 40, 48
    module = lowered(python_file("examples/gemm.py").gemm_kernel, GEMM, {**BLOCKS, **STRIDES})
    changed = module
    for instance in passes:
        changed, said = transformed(instance, changed.text())
        assert said == []
    random = np.random.default_rng()
    # Whole numbers: sums are exact in any order.
    a, b = (random.integers(-8, 9, shape).astype(np.float16) for shape in ((m, k), (k, 48)))
    counted = []
    evaluate = ttir_interpreter.arithmetic.evaluate

    def noted(op, inputs):
        counted.append(op.name)
        return evaluate(op, inputs)

    monkeypatch.setattr(ttir_interpreter.arithmetic, "evaluate", noted)
    results = []
    for version in (module, changed):
        counted.clear()
        c = np.full((m, 48), 7, np.float16)
        launch(version, [a, b, c, m, n, k, k, 48, 48], (1, 2))
        results.append(c)
    np.testing.assert_array_equal(*results)
    assert counted.count("tt.dot") == products
