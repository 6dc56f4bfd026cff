"""`pack-k`: what it chooses, and what it leaves alone. What it computes: `test_schedules.py`."""

import pytest

from flagc.ir.module import Module
from flagc.ir.staged.verify import find_problem
from flagc.passes.ascend.pack_k import PackK
from flagc.pipeline.context import PassContext
from flagc.pipeline.diagnostics import Findings, PassFailure
from flagc.targets.ascend.chips import chip
from support.staged_gemm import StagedGemm

CHIP = chip("910B3")
MOVE_B = '"staged.nd2nz"(%b, %bo'


def packed(text, instance=None):
    """Return the module and what was said."""
    instance = instance or PackK()
    module = Module.parse(text, "staged")
    findings = Findings()
    context = PassContext(module, instance.name, "staged", CHIP, {}, findings)
    with module.context:
        instance.run(module, context)
    assert find_problem(module) is None
    return module, [diagnostic.message for diagnostic in findings.diagnostics]


def gemm(**options):
    return StagedGemm(addresses=False, flags=False, **options).text()


def l1_tiles(module):
    """Return the shapes of A's and B's tiles in L1."""
    types = [str(op.results[0].type) for op in module.walk("staged.alloc")]
    return [text.split(", ")[1].rsplit("x", 1)[0] for text in types if "<l1" in text]


def test_chooses_what_pays_off_and_fits_twice():
    # Rows of A get longer, those of B more: A is packed by 8, B by 4; 2 * 256 KiB fill L1.
    module, said = packed(gemm(tile=(128, 256, 64), step=64))
    assert l1_tiles(module) == ["128x512", "256x256"]
    assert said == []
    module, _ = packed(gemm(tile=(128, 256, 64), step=64, order="NT"))
    assert l1_tiles(module) == ["128x512", "256x256"]
    module, _ = packed(gemm(tile=(256, 128, 64), step=64, order="TN"))
    # Here no rows get longer: the smaller tile, B's, is packed more, and moved first.
    assert l1_tiles(module) == ["512x128", "256x256"]


def test_a_loop_of_few_iterations():
    text = gemm(tile=(64, 64, 64)).replace("(%zero, %K, %bk)", "(%zero, %end, %bk)")
    text = text.replace(
        "%bm =", '%end = "arith.constant"() <{value = 192 : i32}> : () -> i32\n%bm ='
    )
    module, _ = packed(text)
    assert l1_tiles(module) == ["64x128", "128x64"]


def test_options():
    module, _ = packed(gemm(), PackK(steps=2))
    assert l1_tiles(module) == ["64x128", "128x64"]
    module, _ = packed(gemm(), PackK(steps_a=6, steps_b=3))
    assert l1_tiles(module) == ["64x384", "192x64"]
    module, _ = packed(gemm(), PackK(steps=1))
    assert l1_tiles(module) == ["64x64", "64x64"]
    assert len(list(module.walk("scf.for"))) == 2
    with pytest.raises(PassFailure, match="one is to divide the other"):
        packed(gemm(), PackK(steps_a=3, steps_b=2))
    with pytest.raises(PassFailure, match="must not be negative"):
        packed(gemm(), PackK(steps=-1))


def add(left, right):
    return f'"arith.addi"({left}, {right}) : (i32, i32) -> i32'


REFUSED = {
    "the loop writes global memory": (
        MOVE_B,
        '"staged.fixpipe"(%acc, %c, %startw, %scw, %m, %n) : '
        f"(!staged.tile<l0c, 64x64xf32>, !tt.ptr<f16>, i64, i64, i32, i32) -> ()\n{MOVE_B}",
    ),
    "the next iteration's tile does not follow": (
        '%br = "arith.muli"(%startw, %sbw)',
        '%br = "arith.muli"(%startw, %saw)',
    ),
    "row_stride or columns change": (
        '"staged.nd2nz"(%b, %bo, %sbw, %k, %n,',
        f'%wide = {add("%n", "%start")}\n"staged.nd2nz"(%b, %bo, %sbw, %k, %wide,',
    ),
    "the limit of its rows does not go down by 64": (
        '"staged.nd2nz"(%b, %bo, %sbw, %k, %n,',
        f'%more = {add("%k", "%start")}\n"staged.nd2nz"(%b, %bo, %sbw, %more, %n,',
    ),
    "used by more than loads to L0A or L0B": (
        MOVE_B,
        f'"staged.fill"(%tb) : (!staged.tile<l1, 64x64xf16>) -> ()\n{MOVE_B}',
    ),
    "not of the loop's body alone": None,
}


@pytest.mark.parametrize("reason", REFUSED)
def test_refused(reason):
    text = gemm()
    if REFUSED[reason] is None:
        lines = text.splitlines()
        (tile,) = [line for line in lines if line.strip().startswith("%tb = ")]
        lines.remove(tile)
        lines.insert(next(i for i, line in enumerate(lines) if "scf.for" in line), tile)
        text = "\n".join(lines)
    else:
        old, new = REFUSED[reason]
        assert text.count(old) == 1
        text = text.replace(old, new)
    before = Module.parse(text, "staged").text()
    module, (said,) = packed(text, PackK(steps=2))
    assert said.startswith("not applied: ") and reason in said
    if "writes global" in reason:
        assert module.text() == before
    else:
        # A is packed all the same.
        assert l1_tiles(module).count("64x64") == 1


def test_what_an_iteration_computes_before():
    """What the body reads from memory cannot be read earlier."""
    load = '"tt.load"(%place) {operandSegmentSizes = array<i32: 1, 0, 0>} : (!tt.ptr<i32>) -> i32'
    text = gemm().replace(
        '"staged.nd2nz"(%b, %bo, %sbw, %k, %n,',
        f'%place = "tt.bitcast"(%c) : (!tt.ptr<f16>) -> !tt.ptr<i32>\n%loaded = {load}\n'
        '"staged.nd2nz"(%b, %bo, %sbw, %k, %loaded,',
    )
    _, (said,) = packed(text)
    assert "depends on what the iteration does before" in said
