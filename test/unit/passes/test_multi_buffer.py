"""`multi-buffer`: as many buffers as asked for and as fit."""

from types import SimpleNamespace

import pytest

from flagc.ir.staged.verify import find_problem
from flagc.passes.ascend.multi_buffer import MultiBuffer
from flagc.pipeline.context import PassContext
from flagc.pipeline.diagnostics import Findings, PassFailure
from flagc.targets.ascend.chips import chip
from support.staged_pipes import Text

CHIP = chip("910B3")


def buffers(module, instance, target=CHIP, **options):
    """Return the buffers of each tile by memory, and what was said."""
    findings = Findings()
    context = PassContext(module, instance.name, "staged", target, options, findings)
    with module.context:
        instance.run(module, context)
    assert find_problem(module) is None
    found = {}
    for op in module.walk("staged.alloc"):
        memory = str(op.results[0].type).split("<")[1].split(",")[0]
        found.setdefault(memory, []).append(op.attributes["buffers"].value)
    return found, [diagnostic.message for diagnostic in findings.diagnostics]


def gemm(m=128, n=256, k=64, persistent=True):
    text = Text(with_addresses=False)
    if persistent:
        text.loop()
    text.tile("c", "l0c", m, n, "f32")
    text.loop()
    text.tile("a", "l1", m, k)
    text.tile("b", "l1", k, n)
    text.op("nd2nz", tile="a")
    text.op("nd2nz", tile="b")
    text.loop()
    text.tile("l0a", "l0a", m, 64)
    text.tile("l0b", "l0b", 64, n)
    text.op("load_l0a", source="a", tile="l0a")
    text.op("load_l0b", source="b", tile="l0b")
    text.op("mad", a="l0a", b="l0b", c="c")
    text.end()
    text.end()
    text.op("fixpipe", source="c")
    if persistent:
        text.end()
    return text.module()


def test_defaults():
    found, said = buffers(gemm(), MultiBuffer())
    # The accumulator fills L0C: 128 KiB.
    assert found == {"l0c": [1], "l1": [2, 2], "l0a": [2], "l0b": [2]}
    assert said == []


def test_num_stages_is_the_depth():
    found, said = buffers(gemm(), MultiBuffer(), num_stages=4)
    assert found["l1"] == [4, 4]
    assert said == []
    # One stage is no pipeline; tiles have two buffers all the same.
    assert buffers(gemm(), MultiBuffer(), num_stages=1)[0]["l1"] == [2, 2]


def test_as_many_as_fit():
    # 128x256 and 256x256 of f16: 192 KiB of L1's 512.
    found, said = buffers(gemm(k=256), MultiBuffer(), num_stages=3)
    assert found["l1"] == [2, 2]
    assert said == [
        "3 buffers were asked for; 2 fit L1's 524288 bytes with tiles of 196608 bytes in loops"
    ]


def test_options_win():
    found, said = buffers(gemm(), MultiBuffer(l1=3, l0=1), num_stages=4)
    assert found == {"l0c": [1], "l1": [3, 3], "l0a": [1], "l0b": [1]}
    assert said == []
    found, said = buffers(gemm(), MultiBuffer(l0c=2))
    assert found["l0c"] == [1]
    assert "2 buffers were asked for; 1 fit L0C's" in said[0]


def test_accumulators_rotate_where_two_fit_and_there_is_a_loop():
    assert buffers(gemm(128, 128), MultiBuffer())[0]["l0c"] == [2]
    assert buffers(gemm(128, 128), MultiBuffer(l0c=1))[0]["l0c"] == [1]
    assert buffers(gemm(128, 128, persistent=False), MultiBuffer())[0]["l0c"] == [1]


def test_loops_one_after_the_other_share_the_memory():
    """What is not in use at the same time does not add up."""
    text = Text(with_addresses=False)
    for name in "pq":
        text.loop()
        text.tile(name, "l1", 256, 256)
        text.op("nd2nz", tile=name)
        text.end()
    assert buffers(text.module(), MultiBuffer(l1=4))[0]["l1"] == [4, 4]
    text = Text(with_addresses=False)
    text.loop()
    text.tile("p", "l1", 256, 256)
    text.op("nd2nz", tile="p")
    text.loop()
    text.tile("q", "l1", 256, 256)
    text.op("nd2nz", tile="q")
    text.end()
    text.end()
    assert buffers(text.module(), MultiBuffer(l1=4))[0]["l1"] == [2, 2]


@pytest.mark.parametrize(("columns", "depths"), [(192, [2, 2, 2]), (208, [1, 2, 2])])
def test_inner_loops_come_first(columns, depths):
    """A bias, once a tile, must not take the second buffers from what K's loop fills."""
    text = Text(with_addresses=False)
    text.loop()
    text.tile("bias", "l1", 1, 1024)
    text.op("nd2nz", tile="bias")
    text.loop()
    text.tile("a", "l1", 256, 496)
    text.tile("b", "l1", 16, columns)
    text.op("nd2nz", tile="a")
    text.op("nd2nz", tile="b")
    text.end()
    text.end()
    assert buffers(text.module(), MultiBuffer(l1=2)) == ({"l1": depths}, [])


def test_tiles_of_vector_cores():
    """What moves fill or empty rotates; what vector instructions hand each other does not."""
    text = Text(with_addresses=False)
    text.loop()
    text.tile("c", "l0c", 32, 32, "f32")
    text.tile("slot", "gm", 32, 32, "f32")
    text.op("spill", source="c", tile="slot")
    text.loop()
    text.tile("moved", "ub", 16, 32, "f32")
    text.tile("between", "ub", 16, 32, "f32")
    text.tile("out", "ub", 16, 32, "f16")
    text.op("fetch", source="slot", tile="moved")
    text.op("vector_unary", source="moved", tile="between", attributes='{kind = "exp"}')
    text.op("vector_cast", source="between", tile="out", attributes='{rounding = "rint"}')
    text.op("store_ub", source="out", base="c")
    text.end()
    text.end()
    found, _ = buffers(text.module(), MultiBuffer())
    assert found["gm"] == [2]
    assert found["ub"] == [2, 1, 2]
    found, _ = buffers(text.module(), MultiBuffer(ub=1, gm=4))
    assert found["gm"] == [4]
    assert found["ub"] == [1, 1, 1]
    with pytest.raises(PassFailure, match="gm = 16: a flag between cores counts to 15"):
        buffers(text.module(), MultiBuffer(gm=16))


def test_a_tile_that_fits_once_only():
    found, said = buffers(gemm(512, 16, 512), MultiBuffer())
    assert found["l1"] == [1, 1]
    assert "2 buffers were asked for; 1 fit L1's" in said[0]


def test_negative():
    with pytest.raises(PassFailure, match="l0 = 0"):
        buffers(gemm(), MultiBuffer(l0=0))


def test_another_chip():
    small = SimpleNamespace(
        l1_bytes=65536, l0a_bytes=65536, l0b_bytes=65536, l0c_bytes=131072, bt_bytes=1024
    )
    found, _ = buffers(gemm(), MultiBuffer(), small)
    assert found["l1"] == [1, 1]
