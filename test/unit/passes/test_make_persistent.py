"""`make-persistent`: every tile once, in the wanted order, and the same results."""

import numpy as np
import pytest
from compiling import aligned_gemm, compile_source

from flagc.ir.launch_plan import LaunchPlan
from flagc.passes.ttir.descriptors_to_pointers import DescriptorsToPointers
from flagc.passes.ttir.loads_to_descriptors import LoadsToDescriptors
from flagc.passes.ttir.make_persistent import MakePersistent
from flagc.passes.ttir.peel_k_tail import PeelKTail
from flagc.passes.ttir.swizzle_program_ids import SwizzleProgramIds
from support import ttir_interpreter
from support.planned import assert_same_gemm, launch, small_gemm
from support.running import parsed, transformed

# Counts each program id in `out`, and what the kernel took for the size of its grid.
COUNTING = """
tt.func public @counting(%out: !tt.ptr<i32>, %sizes: !tt.ptr<i32>) {
  %x = tt.get_program_id x : i32
  %y = tt.get_program_id y : i32
  %z = tt.get_program_id z : i32
  %nx = tt.get_num_programs x : i32
  %ny = tt.get_num_programs y : i32
  %one = arith.constant 1 : i32
  %plane = arith.muli %nx, %ny : i32
  %a = arith.muli %y, %nx : i32
  %b = arith.muli %z, %plane : i32
  %c = arith.addi %x, %a : i32
  %d = arith.addi %b, %c : i32
  %p = tt.addptr %out, %d : !tt.ptr<i32>, i32
  %before = tt.load %p : !tt.ptr<i32>
  %after = arith.addi %before, %one : i32
  tt.store %p, %after : !tt.ptr<i32>
  tt.store %sizes, %plane : !tt.ptr<i32>
  tt.return
}
"""


@pytest.mark.parametrize("grid", [(1, 1, 1), (5, 1, 1), (3, 4, 1), (2, 3, 4), (1, 7, 2)])
@pytest.mark.parametrize("group", [0, 1, 2, 3])
def test_every_tile_is_visited_once(grid, group):
    """By as many programs as the plan launches, by fewer and by more, in any number of axes."""
    instance = MakePersistent(programs=4, group_m=group)
    module, said = transformed(instance, COUNTING)
    assert said == []
    tiles = grid[0] * grid[1] * grid[2]
    plan = LaunchPlan(programs=4)
    assert plan.launched(grid) == (min(tiles, 4), 1, 1)
    for programs in (plan.launched(grid), grid, (tiles + 3, 1, 1), (2, 2, 1)):
        out, sizes = np.zeros(tiles, np.int32), np.zeros(1, np.int32)
        ttir_interpreter.run(module, [out, sizes, *grid], programs)
        assert out.tolist() == [1] * tiles
        assert sizes[0] == grid[0] * grid[1]


ORDER = """
tt.func public @order(%rows: !tt.ptr<i32>, %columns: !tt.ptr<i32>, %next: !tt.ptr<i32>) {
  %x = tt.get_program_id x : i32
  %y = tt.get_program_id y : i32
  %one = arith.constant 1 : i32
  %at = tt.load %next : !tt.ptr<i32>
  %p = tt.addptr %rows, %at : !tt.ptr<i32>, i32
  %q = tt.addptr %columns, %at : !tt.ptr<i32>, i32
  tt.store %p, %x : !tt.ptr<i32>
  tt.store %q, %y : !tt.ptr<i32>
  %after = arith.addi %at, %one : i32
  tt.store %next, %after : !tt.ptr<i32>
  tt.return
}
"""


def test_tiles_go_down_groups_of_rows():
    """One program, so that the order of tiles is the order of time: 3 rows by 2 columns."""
    module, _ = transformed(MakePersistent(programs=1, group_m=2), ORDER)
    rows, columns = np.zeros(6, np.int32), np.zeros(6, np.int32)
    launch(module, [rows, columns, np.zeros(1, np.int32)], (3, 2))
    tiles = list(zip(rows.tolist(), columns.tolist(), strict=True))
    assert tiles == [(0, 0), (1, 0), (0, 1), (1, 1), (2, 0), (2, 1)]


PIPELINES = [
    (MakePersistent(programs=3),),
    (MakePersistent(programs=3, group_m=2, flatten=True),),
    (SwizzleProgramIds(group_m=2), MakePersistent(programs=3)),
    (PeelKTail(), MakePersistent(programs=3, group_m=2)),
    (LoadsToDescriptors(stores=False), MakePersistent(programs=3), DescriptorsToPointers()),
]


@pytest.mark.parametrize("size", [(3, 16, 5), (40, 33, 48), (16, 16, 0)])
@pytest.mark.parametrize("passes", PIPELINES)
def test_gemm(size, passes):
    random = np.random.default_rng()
    assert_same_gemm(passes, size, random.standard_normal, padding=0)


def test_descriptors_are_made_once_before_the_loop():
    module = small_gemm()
    for instance in (LoadsToDescriptors(stores=False), MakePersistent(programs=3)):
        module, _ = transformed(instance, module.text())
    (function,) = module.functions()
    made = list(module.walk("tt.make_tensor_descriptor"))
    assert [op.parent.operation for op in made] == [function] * 2
    assert len(list(parsed(module.text()).walk("scf.for"))) == 2


@pytest.mark.parametrize("flatten", ["false", "true"])
def test_it_compiles_with_descriptors_and_wgmma(flatten):
    passes = f"loads-to-descriptors,make-persistent{{group-m=8,flatten={flatten}}}"
    result = compile_source(*aligned_gemm(), passes, stop_after="cubin")
    assert result.metadata["flagc_launch"] == LaunchPlan(programs=132).describe()
    assert "wgmma" in result.artifact("ptx").content


def test_a_plan_survives_being_written_down():
    plan = LaunchPlan(programs=5).with_block(1, 128, 192)
    assert LaunchPlan.of(plan.describe()) == plan
    assert plan.tiles((3, 4, 5)) == (3, 3, 5)
