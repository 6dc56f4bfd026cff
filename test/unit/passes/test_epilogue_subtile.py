"""`epilogue-subtile`: the same bits, stored in pieces, in less shared memory."""

import numpy as np
import pytest
import triton.language as tl
from compiling import aligned_gemm, compile_source, messages

from flagc.ir.analysis.tensor_axes import shape_of
from flagc.passes.ttir.descriptors_to_pointers import DescriptorsToPointers
from flagc.passes.ttir.epilogue_subtile import EpilogueSubtile
from flagc.passes.ttir.loads_to_descriptors import LoadsToDescriptors
from flagc.passes.ttir.make_persistent import MakePersistent
from flagc.passes.ttir.resize_tiles import ResizeTiles
from flagc.passes.ttir.split_k import SplitK
from support import templates, ttir_interpreter
from support.lowering import lowered
from support.planned import assert_same_gemm, whole_numbers
from support.running import assert_same, transformed

PIPELINES = [
    (ResizeTiles(y=32), EpilogueSubtile()),
    (ResizeTiles(y=64), EpilogueSubtile(pieces=4), MakePersistent(programs=3)),
    (ResizeTiles(y=32), SplitK(ways=2), EpilogueSubtile()),
]
BLOCKS = {"BLOCK_M": 16, "BLOCK_N": 32, "BLOCK_K": 16}


@pytest.mark.parametrize("size", [(17, 40, 16), (9, 70, 33)])
@pytest.mark.parametrize("passes", PIPELINES)
def test_gemm(size, passes):
    assert_same_gemm(passes, size, whole_numbers)


def test_stores_through_descriptors():
    """The pieces' descriptor has a block of 16 columns; the last two lie outside of the tensor."""
    m, n, k = 16, 24, 16
    options = {"EPILOGUE": "", "PRECISION": "ieee", "SUM": tl.float32, "N": n, "scm": n, "sbk": n}
    unused = {"bias": None, "residual": None}
    constants = {**BLOCKS, "BLOCK_N": 64, **options, **unused, "sak": 1, "sbn": 1, "scn": 1}
    module = lowered(templates.gemm, "*fp16:16 *fp16:16 *fp16:16 i32 i32 i32:16", constants)
    with_descriptors, said = transformed(LoadsToDescriptors(), module.text())
    assert said == []
    changed, said = transformed(EpilogueSubtile(pieces=4), with_descriptors.text())
    assert said == []
    stores = list(changed.walk("tt.descriptor_store"))
    assert [shape_of(store.operands[1]) for store in stores] == [(16, 16)] * 4
    pointers, _ = transformed(DescriptorsToPointers(), changed.text())
    a, b = (whole_numbers(shape).astype(np.float16) for shape in ((m, k), (k, n)))
    results = []
    for version in (module, pointers):
        c = np.full((m + 1, n), 7, np.float16)
        ttir_interpreter.run(version, [a, b, c, m, k, k])
        results.append(c)
    np.testing.assert_array_equal(*results)


@pytest.mark.parametrize("epilogue", ["bias", "bias+relu", "gelu", "residual"])
def test_epilogues(epilogue):
    """A bias is loaded in pieces, too, and so is a residual."""
    m, n, k = 16, 20, 24
    options = {"EPILOGUE": epilogue, "PRECISION": "ieee", "SUM": tl.float32}
    used = {"bias": "bias" in epilogue, "residual": epilogue == "residual"}
    unused = {name: None for name, is_used in used.items() if not is_used}
    constants = {**BLOCKS, **options, **unused, "sak": 1, "sbn": 1, "scn": 1}
    pointers = "*fp16 " * (3 + sum(used.values()))
    module = lowered(templates.gemm, f"{pointers} i32 i32 i32 i32 i32 i32", constants)
    random = np.random.default_rng()
    shapes = [(m, k), (k, n), (m, n)] + [(n,)] * used["bias"] + [(m, n)] * used["residual"]
    arrays = [random.standard_normal(shape).astype(np.float16) for shape in shapes]
    assert_same(EpilogueSubtile(), module.text(), [*arrays, m, n, k, k, n, n])
    changed, said = transformed(EpilogueSubtile(), module.text())
    assert said == []
    stores = list(changed.walk("tt.store"))
    assert [shape_of(store.operands[1]) for store in stores] == [(16, 16)] * 2
    loads = [shape_of(load.results[0]) for load in changed.walk("tt.load")]
    assert loads[:2] == [(16, 16), (16, 32)]  # of A and B, whole
    assert all(shape[-1] == 16 for shape in loads[2:])


def test_what_is_left_alone():
    options = {"EPILOGUE": "", "PRECISION": "ieee", "SUM": tl.float32}
    constants = {**BLOCKS, **options, "bias": None, "residual": None}
    module = lowered(templates.gemm, "*fp16 " * 3 + "i32 " * 9, constants)
    changed, said = transformed(EpilogueSubtile(pieces=4), module.text())
    assert said == ["stored whole: 32 columns are too few for 4 pieces"]
    assert changed.text(debug=False).count("tt.store") == 1


@pytest.mark.parametrize("pieces", [2, 4])
def test_shared_memory_of_a_persistent_kernel(pieces):
    """Beside 3 stages of 128x64 and 64x256 fp16 there is the store's piece of 128 rows."""
    before = "resize-tiles{y=256},loads-to-descriptors,"
    after = "make-persistent"
    source, options = aligned_gemm()
    options = {**options, "num_warps": 8}
    stages = 3 * (128 * 64 + 64 * 256) * 2
    whole = compile_source(source, options, before + after).metadata["shared"]
    assert stages + 128 * 256 * 2 <= whole < stages + 128 * 256 * 2 + 2048
    result = compile_source(source, options, f"{before}epilogue-subtile{{pieces={pieces}}},{after}")
    assert messages(result) == []
    assert result.metadata["shared"] < stages + 128 * (256 // pieces) * 2 + 2048
