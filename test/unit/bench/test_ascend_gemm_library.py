"""The vendor library's whole product (tools/bench/ascend_gemm_library.py) is right, then timed."""

from __future__ import annotations

import sys

import pytest
import torch

from e2e.commands import ROOT
from flagc.targets.ascend.chips import facts_of
from support.comparing import assert_rounded, guarded, product_error, untouched

sys.path.insert(0, str(ROOT / "tools" / "bench"))
from ascend_gemm_library import SHIPPED, NoSuchProduct, library_product, time_product

CHIP = facts_of("910B3")
TILES = [SHIPPED, (128, 256, 256), (64, 128, 512)]


def check(tile: tuple[int, int, int], sizes: tuple[int, int, int], blocks: int, checks: bool):
    m, n, k = sizes
    a, b = torch.randn(m, k).half(), torch.randn(k, n).half()
    storage, c = guarded(m, n, dtype=torch.float16)
    library_product(tile).run((blocks,), [a, b, c, m, n, k], checks=checks)
    assert_rounded(c, a.double() @ b.double(), product_error(a, b))
    assert untouched(storage, c)


@pytest.mark.parametrize("tile", TILES)
@pytest.mark.parametrize(("sizes", "blocks"), [((272, 144, 528), 2), ((320, 272, 16), 20)])
def test_the_product_is_right_with_all_checks(tile, sizes, blocks) -> None:
    check(tile, sizes, blocks, checks=True)


# The library loads whole fractals, of which nobody wrote what lies beyond the matrices: that
# reaches no element of C, but is a fault of the checked emulator.
@pytest.mark.parametrize("tile", TILES)
@pytest.mark.parametrize(("sizes", "blocks"), [((7, 33, 65), 1), ((300, 257, 511), 4)])
def test_the_product_is_right_where_matrices_end_within_fractals(tile, sizes, blocks) -> None:
    check(tile, sizes, blocks, checks=False)


def test_what_is_timed_is_the_whole_product() -> None:
    timing = time_product((1024, 768, 512), "fp16", SHIPPED, CHIP)
    peak = CHIP.cube_cores * 4096 * timing.core_microseconds * timing.clock_mhz
    assert timing.cube_share == pytest.approx(1024 * 768 * 512 / peak)
    assert timing.traffic["l2_written"] == 1024 * 768 * 2
    # Each of the 4x6 tiles of 256x128 reads its rows of A and columns of B once.
    assert timing.traffic["l2_read"] == 24 * (256 + 128) * 512 * 2


def test_the_tile_is_what_was_asked_for() -> None:
    timing = time_product((1024, 768, 512), "fp16", (128, 256, 256), CHIP)
    assert timing.traffic["l2_read"] == 24 * (128 + 256) * 512 * 2
    timing = time_product((1024, 768, 512), "fp16", (128, 128, 512), CHIP)
    assert timing.traffic["l2_read"] == 48 * (128 + 128) * 512 * 2


def test_what_the_library_lacks_has_a_reason() -> None:
    with pytest.raises(NoSuchProduct, match="not of bf16"):
        time_product((64, 64, 64), "bf16", SHIPPED, CHIP)
    with pytest.raises(NoSuchProduct, match="do not fit L1"):
        time_product((64, 64, 64), "fp16", (256, 256, 256), CHIP)
