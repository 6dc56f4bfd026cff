from dataclasses import replace

import pytest
from layout_kernels import opaque_texts

from flagc.ir import layouts, opaque_text

MMA = (
    "#ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], "
    "instrShape = [16, 128, 16]}>"
)


def test_fields_and_change():
    layout = layouts.parse(f"#ttg.dot_op<{{opIdx = 0, parent = {MMA}, kWidth = 2}}>")
    assert isinstance(layout, layouts.DotOperandLayout)
    assert isinstance(layout.parent, layouts.NvidiaMmaLayout)
    assert (layout.op_index, layout.k_width, layout.parent.instr_shape) == (0, 2, (16, 128, 16))
    smaller = replace(layout, parent=replace(layout.parent, instr_shape=(16, 64, 16)))
    assert smaller.text() == layout.text().replace("[16, 128, 16]", "[16, 64, 16]")


def test_unknown_fields_stay_where_they_were():
    text = (
        "#ttg.blocked<{sizePerThread = [1], threadsPerWarp = [32], future = {a = [1]}, "
        "warpsPerCTA = [4], order = [0], CGALayout = [[0]]}>"
    )
    layout = layouts.parse(text)
    assert isinstance(layout, layouts.BlockedLayout)
    assert layout.extra == (("future", "{a = [1]}"), ("CGALayout", "[[0]]"))
    assert layout.text() == text
    assert replace(layout, warps_per_cta=(8,)).text() == text.replace("[4]", "[8]")


def test_equality_ignores_the_order_of_the_text():
    one = layouts.parse("#ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>")
    assert one == layouts.SwizzledSharedLayout(1, 1, 1, (0,))
    assert one.text() == layouts.SwizzledSharedLayout(1, 1, 1, (0,)).text()


@pytest.mark.parametrize(
    "text",
    [
        "#ttg.shared_memory",
        "#ttg.future<{a = 1}>",
        "#ttg.blocked<{order = [0]}>",  # a field is missing
        "#ttg.slice<{dim = first, parent = #ttg.future<{}>}>",
    ],
)
def test_what_is_not_known_is_kept(text):
    assert layouts.parse(text) == layouts.UnknownLayout(text)
    assert layouts.parse(text).text() == text


def test_every_layout_of_real_kernels_round_trips():
    seen = set()
    for text in opaque_texts():
        for call in opaque_text.calls(opaque_text.parse(text)):
            if call.name.startswith(("#ttg.", "#ttng.")):
                layout = layouts.from_node(call)
                assert layout.text() == str(call)
                assert layout.extra == ()
                seen.add(type(layout))
    assert seen >= {
        layouts.BlockedLayout,
        layouts.SliceLayout,
        layouts.NvidiaMmaLayout,
        layouts.DotOperandLayout,
        layouts.SwizzledSharedLayout,
        layouts.NvmmaSharedLayout,
        layouts.TensorMemoryLayout,
    }
