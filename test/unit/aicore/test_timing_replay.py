"""The timing model's replay: laws that hold for any constants, on streams made by hand."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from flagc.aicore.native import native
from flagc.aicore.timing.costs import cost_table, native_costs
from flagc.aicore.timing.operations import ND2NZ, TO_UB, Stream
from flagc.aicore.timing.rates import instruction_names
from flagc.targets.ascend.chips import facts_of

CHIP = facts_of("910B3")
CLOCK = 1800.0


def simulate(
    streams: list[list[Stream]],
    *,
    slots: int = 1,
    cube: bool = True,
    region: int = 1 << 24,
    l2_bytes: int | None = None,
    bases: list[int] | None = None,
    **constants: float,
) -> Any:
    """Replay one block for each list of streams (one stream a core of the block)."""
    launch = native().TimedLaunch()
    launch.region_bytes = [region]
    launch.slots, launch.cube = slots, cube
    for index, block in enumerate(streams):
        launch.add_class([stream.encoded() for stream in block])
        launch.add_block(index, [bases[index] if bases else 0])
    chip = CHIP if l2_bytes is None else replace(CHIP, l2_bytes=l2_bytes)
    costs = native_costs(chip, CLOCK, {**cost_table().values(), **constants})
    return native().simulate(launch, costs)


def stream(build: Callable[[Stream], None]) -> Stream:
    made = Stream()
    build(made)
    return made


def constant(name: str) -> float:
    return cost_table().constants[name].value


def test_products_back_to_back_take_their_steps_and_their_heads() -> None:
    def build(s: Stream) -> None:
        for _ in range(100):
            s.mad(512)

    result = simulate([[stream(build)]])
    expected = constant("issue") + 100 * (512 + constant("m_head")) + constant("m_tail")
    assert result.core_cycles == pytest.approx(expected)
    assert result.traffic["mad_steps"] == 51200


def test_pipes_overlap_unless_a_flag_orders_them() -> None:
    def apart(s: Stream) -> None:
        s.to_l0(65536, 256)
        s.mad(300)

    def ordered(s: Stream) -> None:
        s.to_l0(65536, 256)
        s.set("MTE1", "M")
        s.wait("MTE1", "M")
        s.mad(300)

    alone, together = simulate([[stream(ordered)]]), simulate([[stream(apart)]])
    m = alone.agents[0]["pipes"][2]
    assert alone.core_cycles > 256 + 300
    assert together.core_cycles < 300 + constant("m_tail") + 100
    # The wait is M's, and for MTE1.
    assert m["idle"][3] == pytest.approx(sum(m["idle"]), rel=0.05)


def test_a_full_queue_holds_up_the_scalar_unit() -> None:
    def build(s: Stream) -> None:
        for _ in range(40):
            s.mad(1000)
        s.to_l0(512, 256)

    # The load is issued when the queue of M has room for all products before it.
    result = simulate([[stream(build)]])
    load = result.agents[0]["pipes"][3]
    assert load["idle"][11] > 6 * 1000


def test_a_wait_without_a_set_is_an_error() -> None:
    with pytest.raises(RuntimeError, match="does not set"):
        simulate([[stream(lambda s: s.wait("MTE1", "M"))]])


def test_cores_that_wait_for_each_other_forever_are_an_error() -> None:
    waits = [stream(lambda s: s.cross_wait(1)) for _ in range(3)]
    with pytest.raises(RuntimeError, match="wait for each other"):
        simulate([waits])


def test_a_cross_core_flag_carries_its_time() -> None:
    def cube(s: Stream) -> None:
        s.mad(5000)
        s.cross_set("M", 3)

    def vector(s: Stream) -> None:
        s.cross_wait(3)
        s.vector(instruction_names().index("VADDS.f32"), 64)

    result = simulate([[stream(cube), stream(vector), stream(vector)]])
    v = result.agents[1]["pipes"][1]
    assert result.agents[1]["end"] > 5000
    assert v["idle"][13] > 4900


@pytest.mark.parametrize("cube", [True, False])
def test_a_flag_of_all_blocks_comes_with_the_last(cube: bool) -> None:
    def block(steps: int) -> list[Stream]:
        def work(s: Stream) -> None:
            s.scalar(steps)
            s.grid_set("S", 5)
            s.cross_wait(5)
            s.scalar(100)

        others = [stream(lambda s: s.scalar(1))] * 2
        return [stream(work), *others] if cube else [stream(work)]

    blocks = [block(steps) for steps in (1000, 70, 5000)]
    result = simulate(blocks, slots=4, cube=cube)
    ends = [agent["end"] for agent in result.agents[:: 3 if cube else 1]]
    issue = constant("issue")
    # The last one does not wait, and issues its wait after the flag.
    expected = [5100 + issue, 5100 + issue, 5100 + 2 * issue]
    assert ends[:3] == pytest.approx(expected)
    with pytest.raises(RuntimeError, match="do not run at once"):
        simulate(blocks, slots=2, cube=cube)


def test_blocks_go_to_free_cores() -> None:
    block = [stream(lambda s: s.mad(10000))]
    one = simulate([block] * 4, slots=1).core_cycles
    two = simulate([block] * 4, slots=2).core_cycles
    assert one == pytest.approx(2 * two, rel=0.02)


def rows_of(first: int, rows: int, width: int, pitch: int, flags: int = ND2NZ) -> Stream:
    return stream(lambda s: s.read(0, first, rows, width, pitch, flags))


def test_a_second_reading_hits_l2_when_it_fits_and_never_when_it_does_not() -> None:
    size = 1 << 21

    def twice(s: Stream) -> None:
        for _ in range(2):
            for at in range(0, size, 1 << 16):
                s.read(0, at, 1, 1 << 16, 0, TO_UB)

    for l2_bytes, missed in ((4 << 20, size), (1 << 20, 2 * size)):
        result = simulate([[stream(twice)]], cube=False, l2_bytes=l2_bytes)
        assert result.traffic["hbm_read"] == pytest.approx(missed)


def test_written_lines_come_back_to_hbm_when_l2_drives_them_out() -> None:
    def build(s: Stream) -> None:
        for at in range(0, 1 << 22, 1 << 15):
            s.write("MTE3", 0, at, 1, 1 << 15, 0, 1 << 15)

    fits = simulate([[stream(build)]], cube=False, l2_bytes=8 << 20)
    small = simulate([[stream(build)]], cube=False, l2_bytes=1 << 20)
    assert fits.traffic["hbm_written"] == 0
    assert small.traffic["hbm_written"] == pytest.approx(3 << 20)


def test_cores_at_the_same_block_are_slower_than_cores_apart() -> None:
    def build(s: Stream) -> None:
        for _ in range(8):
            s.read(0, 0, 128, 512, 4096, ND2NZ)

    block = [stream(build)]
    same = simulate([block] * 20, slots=20, region=1 << 26)
    apart = simulate([block] * 20, slots=20, region=1 << 26, bases=[i << 20 for i in range(20)])
    alone = simulate([block], region=1 << 26)
    assert same.core_cycles > 1.2 * alone.core_cycles
    # Apart they miss L2 once each, and share only bandwidths.
    assert apart.traffic["sharers"] == 0


@pytest.mark.parametrize(("width", "more"), [(512, 480), (128, 112), (256, 240)])
def test_odd_rows_cost_more_than_longer_even_ones(width: int, more: int) -> None:
    even = simulate([[rows_of(0, 256, width, width)]]).core_cycles
    odd = simulate([[rows_of(0, 256, more, more)]]).core_cycles
    assert odd > even


def test_bandwidth_is_shared() -> None:
    def build(s: Stream) -> None:
        for at in range(0, 1 << 20, 1 << 15):
            s.read(0, at, 1, 1 << 15, 0, TO_UB)

    block = [stream(build)]
    bases = [index << 20 for index in range(40)]
    many = simulate([block] * 40, slots=40, cube=False, region=1 << 26, bases=bases)
    seconds = many.core_cycles / (CLOCK * 1e6)
    rate = (40 << 20) / seconds
    assert rate < CHIP.hbm_bytes_per_second
    assert rate > 0.7 * CHIP.hbm_bytes_per_second * constant("hbm_share")


def test_the_same_launch_takes_the_same_cycles() -> None:
    def build(s: Stream) -> None:
        for at in range(0, 1 << 18, 1 << 13):
            s.read(0, at, 64, 128, 512, ND2NZ)
            s.set("MTE2", "MTE1")
            s.wait("MTE2", "MTE1")
            s.to_l0(8192, 128)

    block = [stream(build)]
    results = {simulate([block] * 30, slots=20).cycles for _ in range(3)}
    assert len(results) == 1


def test_sampling_l2_changes_little() -> None:
    launch = native().TimedLaunch()
    launch.region_bytes = [1 << 26]
    launch.slots, launch.cube = 20, True

    def build(s: Stream) -> None:
        for _ in range(2):
            for at in range(0, 1 << 20, 1 << 17):
                s.read(0, at, 128, 1024, 1024, ND2NZ)

    launch.add_class([stream(build).encoded()])
    for index in range(40):
        launch.add_block(0, [index << 20])
    costs = native_costs(CHIP, CLOCK, cost_table().values())
    full = native().simulate(launch, costs, sampling_shift=0)
    sampled = native().simulate(launch, costs, sampling_shift=3)
    assert full.traffic["hbm_read"] == 40 << 20
    assert sampled.cycles == pytest.approx(full.cycles, rel=0.05)
    assert sampled.traffic["hbm_read"] == pytest.approx(full.traffic["hbm_read"], rel=0.1)
