"""`plan-memory`: addresses that do not overlap, shared ones where it must be, and overflow."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from flagc.ir.analysis.tile_accesses import addresses_of, may_overlap, tile_of
from flagc.ir.module import Module, Operation
from flagc.ir.staged.verify import find_problem
from flagc.passes.ascend.plan_memory import PlanMemory
from flagc.pipeline.context import PassContext
from flagc.pipeline.diagnostics import Declined, Findings
from flagc.targets.ascend.chips import chip
from support.staged_gemm import StagedGemm
from support.staged_pipes import Text

CHIP = chip("910B3")


def planned(module: Module, target: Any = CHIP) -> tuple[list[Operation], dict[str, int]]:
    """Run the pass; returns the allocs, whose addresses are checked, and its statistics."""
    findings = Findings()
    context = PassContext(module, PlanMemory.name, "staged", target, {}, findings)
    with module.context:
        PlanMemory().run(module, context)
    assert find_problem(module) is None
    allocs = list(module.walk("staged.alloc"))
    for alloc in allocs:
        tile = tile_of(alloc)
        for address in addresses_of(alloc) or []:
            assert address + tile.bytes <= getattr(target, f"{tile.memory}_bytes")
    return allocs, {key.split(":")[-1]: value for key, value in findings.statistics.items()}


def overlapping(allocs: list[Operation]) -> int:
    return sum(may_overlap(a, b) for i, a in enumerate(allocs) for b in allocs[:i])


def two_loops(rows: int) -> Module:
    """Two loops, each with a tile of `rows`x64 halves in two buffers."""
    text = Text(with_addresses=False)
    for name in ("a", "b"):
        text.loop()
        text.tile(name, "l1", rows, 64, buffers=2)
        text.op("nd2nz", tile=name)
        text.end()
    return text.module()


def test_tiles_have_bytes_of_their_own() -> None:
    module = Module.parse(StagedGemm(addresses=False).text(), "staged")
    allocs, statistics = planned(module)
    assert len(allocs) == 5
    assert overlapping(allocs) == 0
    # A and B: 64x64 halves in two buffers each.
    assert statistics["bytes of l1"] == 4 * 64 * 64 * 2
    assert statistics["bytes of l0c"] == 64 * 64 * 4


def test_tiles_of_loops_after_each_other_share_only_when_they_must() -> None:
    # 512 KiB of L1: two buffers of 1024x64 halves are 256 KiB.
    module = two_loops(1024)
    allocs, statistics = planned(module)
    assert overlapping(allocs) == 0
    assert statistics["bytes of l1"] == 512 * 1024
    module = two_loops(2048)
    allocs, statistics = planned(module)
    assert overlapping(allocs) == 1
    assert statistics["bytes of l1"] == 512 * 1024
    assert statistics["tiles of l1 that share bytes"] == 2


def test_a_bias_is_rounded_up_to_what_moves_take() -> None:
    text = Text(with_addresses=False)
    text.tile("row", "l1", 1, 16)
    text.op("nd2nz", tile="row")
    text.tile("next", "l1", 16, 16)
    text.op("nd2nz", tile="next")
    module = text.module()
    allocs, _ = planned(module)
    assert [addresses_of(alloc) for alloc in allocs] == [[0], [128]]


def test_overflow_lists_every_buffer() -> None:
    small = SimpleNamespace(**{**vars(CHIP), "l1_bytes": 16384})
    module = Module.parse(StagedGemm(addresses=False).text(), "staged", origin="k.mlir")
    with pytest.raises(Declined) as caught:
        planned(module, small)
    first, *lines, advice = caught.value.diagnostic.message.splitlines()
    assert first == "L1 overflow: the tiles need 32768 bytes, there are 16384:"
    assert [line.split(": ", 1)[1] for line in lines] == [
        "64x64xf16, 2 buffers of 8192 bytes: 16384"
    ] * 2
    assert advice.startswith("use smaller blocks, fewer buffers (multi-buffer{l1=...}")
    assert not any("addresses" in op.attributes for op in module.walk("staged.alloc"))
