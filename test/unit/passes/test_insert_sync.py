"""`insert-sync`: whatever way a program goes, pipes are in order and flags are used up."""

import pytest

from flagc.ir.staged.operations import staged_op
from flagc.ir.staged.verify import find_problem
from flagc.passes.ascend.insert_sync import InsertSync
from flagc.pipeline.context import PassContext
from flagc.pipeline.diagnostics import Findings, PassFailure
from support.staged_pipes import Disorder, Pipes, Text, assert_in_order


def synchronised(module):
    findings = Findings()
    context = PassContext(module, "insert-sync", "staged", None, {}, findings)
    with module.context:
        InsertSync().run(module, context)
    assert find_problem(module) is None, module.text()
    return [diagnostic.message for diagnostic in findings.diagnostics]


def counted(module, name):
    views = [staged_op(op) for op in module.walk(f"staged.{name}")]
    return len([view for view in views if name != "barrier" or view.text("pipe") == "ALL"])


def step(text, left, right, total, buffers=2, name=""):
    """One product of two tiles in L1."""
    a, b = f"l0a{name}", f"l0b{name}"
    text.tile(a, "l0a", buffers=buffers)
    text.tile(b, "l0b", buffers=buffers)
    text.op("load_l0a", source=left, tile=a)
    text.op("load_l0b", source=right, tile=b)
    text.op("mad", a=a, b=b, c=total)


def loads(text, buffers=2, name="", **options):
    """Tiles of A and B in L1."""
    a, b = f"a{name}", f"b{name}"
    text.tile(a, "l1", buffers=buffers, **options)
    text.tile(b, "l1", buffers=buffers, **options)
    text.op("nd2nz", tile=a, base="a")
    text.op("nd2nz", tile=b, base="b")
    return a, b


def gemm(persistent=True, l1=2, l0=2, l0c=1, nested=True):
    text = Text()
    if persistent:
        text.loop()
    text.tile("c0", "l0c", element="f32", buffers=l0c)
    text.loop()
    a, b = loads(text, l1)
    if nested:
        text.loop()
    step(text, a, b, "c0", l0)
    if nested:
        text.end()
    text.end()
    text.branch()
    a, b = loads(text, 1, "zero")
    text.op("fill", tile=a)
    step(text, a, b, "c0", 1, "zero")
    text.end_branch()
    text.op("fixpipe", source="c0", base="c")
    if persistent:
        text.end()
    return text.module()


@pytest.mark.parametrize("persistent", [True, False])
@pytest.mark.parametrize("nested", [True, False])
@pytest.mark.parametrize(("l1", "l0", "l0c"), [(1, 1, 1), (3, 2, 2)])
def test_gemm_needs_no_barrier(persistent, l1, l0, l0c, nested):
    module = gemm(persistent, l1, l0, l0c, nested)
    with pytest.raises(Disorder):
        assert_in_order(module)
    assert synchronised(module) == []
    assert counted(module, "barrier") == 0
    assert_in_order(module)


def test_tiles_side_by_side_share_flags():
    text = Text()
    text.tile("c0", "l0c", element="f32")
    text.loop()
    a, b = loads(text, 3)
    step(text, a, b, "c0")
    text.end()
    module = text.module()
    synchronised(module)
    # A and B one pair, L0A and L0B one pair, each there and back; 3 + 2 flags at the start.
    assert counted(module, "set_flag") == 2 * 2 + 3 + 2
    assert counted(module, "wait_flag") == 2 * 2 + 3 + 2


def test_a_tile_used_later_has_its_own_flag():
    """The first product does not wait for the tile of the second."""
    text = Text()
    text.tile("c0", "l0c", element="f32")
    text.loop()
    a, b = loads(text)
    other, _ = loads(text, name="2")
    step(text, a, b, "c0")
    step(text, a, other, "c0", name="2")
    text.end()
    module = text.module()
    synchronised(module)
    assert_in_order(module)
    flags = [view for view in map(staged_op, module.walk("staged.wait_flag")) if view.has("tile")]
    assert len([view for view in flags if view.text("from") == "MTE2"]) == 3


def test_accumulate_store_accumulate_store():
    text = Text()
    text.loop()
    text.tile("c0", "l0c", element="f32", buffers=2)
    for name in "pq":
        a, b = loads(text, 1, name)
        step(text, a, b, "c0", 1, name)
        text.op("fixpipe", source="c0", base="c")
    text.end()
    module = text.module()
    assert synchronised(module) == []
    assert counted(module, "barrier") == 0
    assert_in_order(module)


def test_tile_allocated_outside_and_used_within():
    """The loop's body is where the tile goes from pipe to pipe: one slot, and no barrier."""
    text = Text()
    text.tile("c0", "l0c", element="f32")
    text.tile("a0", "l1", buffers=1)
    text.tile("b0", "l1", buffers=1)
    text.loop()
    text.op("nd2nz", tile="a0")
    text.op("nd2nz", tile="b0", base="b")
    step(text, "a0", "b0", "c0")
    text.op("fixpipe", source="c0", base="c")
    text.end()
    module = text.module()
    assert synchronised(module) == []
    assert counted(module, "barrier") == 0
    assert_in_order(module)


def test_allocation_runs_more_often_than_its_uses():
    text = Text()
    text.loop()
    text.tile("a0", "l1", buffers=3)
    text.tile("l0", "l0a", buffers=2)
    text.branch()
    text.op("nd2nz", tile="a0")
    text.op("load_l0a", source="a0", tile="l0")
    text.end_branch()
    text.end()
    module = text.module()
    assert synchronised(module) == []
    assert_in_order(module)


def test_hand_made_prefetch_gets_barriers():
    """A loop that reads what was filled before and fills it again: no chain of whole statements."""
    text = Text()
    text.tile("c0", "l0c", element="f32")
    a, b = loads(text, 1)
    text.loop()
    step(text, a, b, "c0")
    text.op("nd2nz", tile=a)
    text.op("nd2nz", tile=b, base="b")
    text.end()
    step(text, a, b, "c0", 1, "last")
    text.op("fixpipe", source="c0", base="c")
    module = text.module()
    assert synchronised(module) == []
    assert counted(module, "barrier") >= 3
    assert_in_order(module)


def test_both_sides_of_a_branch():
    text = Text()
    text.loop()
    text.tile("c0", "l0c", element="f32")
    text.tile("a0", "l1")
    text.tile("b0", "l1")
    text.branch()
    text.op("nd2nz", tile="a0")
    text.op("nd2nz", tile="b0", base="b")
    text.otherwise()
    text.op("nd2nz", tile="b0", base="b")
    step(text, "a0", "b0", "c0")
    text.end_branch(has_other=True)
    text.op("fixpipe", source="c0", base="c")
    text.end()
    module = text.module()
    synchronised(module)
    assert_in_order(module)


@pytest.mark.parametrize("inside_a_loop", [True, False])
def test_tiles_at_the_same_addresses(inside_a_loop):
    text = Text()
    if inside_a_loop:
        text.loop()
    for name in "pq":
        text.tile(f"c{name}", "l0c", element="f32", addresses=[0])
        text.loop()
        a, b = loads(text, 2, name, addresses=[0, 1024])
        step(text, a, b, f"c{name}", 2, name)
        text.end()
        text.op("fixpipe", source=f"c{name}", base="c")
    if inside_a_loop:
        text.end()
    module = text.module()
    assert synchronised(module) == []
    # Tiles a and b lie on each other as well: they take turns in each of the loops.
    assert_in_order(module)


def test_one_barrier_between_loops_that_share_addresses():
    text = Text()
    text.tile("c0", "l0c", element="f32")
    for name in "pq":
        text.loop()
        text.tile(f"a{name}", "l1", buffers=2, addresses=[0, 512])
        text.op("nd2nz", tile=f"a{name}")
        step(text, f"a{name}", f"a{name}", "c0", 2, name)
        text.end()
    module = text.module()
    assert synchronised(module) == []
    assert counted(module, "barrier") == 1
    assert_in_order(module)


def test_a_branch_ends_with_its_barrier():
    """Who comes after a branch that is seldom taken does not pay for it."""
    text = Text()
    text.loop()
    text.tile("c0", "l0c", element="f32")
    for name in "pq":
        text.loop() if name == "p" else text.branch()
        text.tile(f"a{name}", "l1", addresses=[0])
        text.op("nd2nz", tile=f"a{name}")
        step(text, f"a{name}", f"a{name}", "c0", 2, name)
        text.end() if name == "p" else text.end_branch()
    text.end()
    module = text.module()
    assert synchronised(module) == []
    barriers = list(module.walk("staged.barrier"))
    assert [op.parent.name for op in barriers] == ["scf.if", "scf.if"]
    assert_in_order(module)


def test_what_is_stored_and_loaded_again():
    text = Text()
    text.tile("c0", "l0c", element="f32")
    text.loop()
    a, b = loads(text)
    step(text, a, b, "c0")
    text.op("fixpipe", source="c0", base="a")
    text.end()
    module = text.module()
    assert synchronised(module) == []
    # The store waits for the loads, and the loads of the next iteration for the store.
    assert counted(module, "barrier") == 2
    assert_in_order(module)


def test_while_loop():
    text = Text()
    text.tile("c0", "l0c", element="f32")
    text.tile("a0", "l1")
    text.line('"scf.while"() ({')
    text.op("nd2nz", tile="a0")
    text.line('"scf.condition"(%go) : (i1) -> ()')
    text.line("}, {")
    step(text, "a0", "a0", "c0")
    text.line('"scf.yield"() : () -> ()')
    text.line("}) : () -> ()")
    text.op("fixpipe", source="c0", base="c")
    module = text.module()
    assert synchronised(module) == []
    assert_in_order(module)


@pytest.mark.parametrize("pairs", [3, 5, 9, 12])
def test_more_tiles_than_events(pairs):
    """Tiles share flags that need not, then rotate less, then have barriers."""
    text = Text()
    text.loop()
    text.tile("c0", "l0c", element="f32")
    for number in range(pairs):
        a, b = loads(text, 3, str(number))
        text.loop()
        step(text, a, b, "c0", 2, str(number))
        text.end()
    text.op("fixpipe", source="c0", base="c")
    text.end()
    module = text.module()
    said = synchronised(module)
    assert_in_order(module)
    assert any("need more events" in message for message in said)
    assert any("no events are left" in message for message in said) == (pairs > 8)


def test_events_of_the_program_are_kept():
    text = Text()
    text.line('"staged.set_flag"() {from = "MTE2", to = "MTE1", event = 0 : i32} : () -> ()')
    text.tile("c0", "l0c", element="f32")
    text.loop()
    a, b = loads(text)
    step(text, a, b, "c0")
    text.end()
    text.line('"staged.wait_flag"() {from = "MTE2", to = "MTE1", event = 0 : i32} : () -> ()')
    module = text.module()
    synchronised(module)
    assert_in_order(module)


def test_needs_addresses():
    text = Text()
    text.line('%x = "staged.alloc"() : () -> !staged.tile<l1, 16x16xf16>')
    with pytest.raises(PassFailure, match="run plan-memory"):
        synchronised(text.module())


def test_a_fill_is_done_before_the_move():
    text = Text()
    text.tile("a0", "l1")
    text.op("fill", tile="a0")
    text.op("nd2nz", tile="a0")
    module = text.module()
    synchronised(module)
    names = [op.name for op in module.walk() if op.name.startswith("staged.")]
    assert names == ["staged.alloc", "staged.fill", "staged.barrier", "staged.nd2nz"]


def test_the_judge_sees_a_missing_flag():
    module = gemm()
    synchronised(module)
    flags = [op for op in module.walk("staged.wait_flag") if len(op.operands)]
    flags[0].erase()
    with pytest.raises(Disorder):
        for seed in range(40):
            Pipes(seed).run(module)


def mixed(persistent=True, slots=2, buffers=2, base="c"):
    """A sum that goes to the vector cores, which compute it in parts."""
    text = Text()
    if persistent:
        text.loop()
    text.tile("acc", "l0c", 16, 16, "f32", buffers=slots)
    text.loop()
    a, b = loads(text)
    step(text, a, b, "acc")
    text.end()
    text.tile("slot", "gm", 16, 16, "f32", buffers=slots)
    text.op("spill", source="acc", tile="slot")
    text.loop()
    text.tile("moved", "ub", 16, 16, "f32", buffers=buffers)
    text.tile("between", "ub", 16, 16, "f32")
    text.tile("out", "ub", 16, 16, "f16", buffers=buffers)
    text.op("fetch", source="slot", tile="moved")
    text.op("vector_unary", source="moved", tile="between", attributes='{kind = "exp"}')
    text.op("vector_cast", source="between", tile="out", attributes='{rounding = "rint"}')
    text.op("store_ub", source="out", base=base)
    text.end()
    if persistent:
        text.end()
    return text.module()


@pytest.mark.parametrize("persistent", [True, False])
@pytest.mark.parametrize("slots", [1, 2, 3])
@pytest.mark.parametrize("buffers", [1, 2])
def test_cores_hand_tiles_over(persistent, slots, buffers):
    module = mixed(persistent, slots, buffers)
    assert synchronised(module) == []
    assert_in_order(module)
    # One flag says that a tile is there, one that its place is free; that one is set for each slot.
    flags = {(op.attributes["from"].value, op.attributes["flag"].value)
             for op in module.walk("staged.cross_set")}  # fmt: skip
    assert flags == ({("FIX", 0), ("AIV.MTE2", 1)} if persistent else {("FIX", 0)})
    assert counted(module, "cross_set") == (2 + slots if persistent else 1)
    assert counted(module, "barrier") == 0


def test_a_flag_between_cores_that_is_missing_is_found():
    module = mixed()
    synchronised(module)
    for op in list(module.walk("staged.cross_set", "staged.cross_wait")):
        op.erase()
    with pytest.raises(Disorder, match="race for"):
        assert_in_order(module)


def test_memory_of_both_cores():
    """What a vector core stores, the cube core may not load: no flag orders that."""
    module = mixed(base="a")
    with pytest.raises(PassFailure, match="a vector core touches here what the cube core touches"):
        synchronised(module)
