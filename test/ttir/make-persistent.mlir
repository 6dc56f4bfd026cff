// RUN: flagc-opt %s --split-input-file --passes make-persistent{programs=4} | filecheck %s
// RUN: flagc-opt %s --split-input-file --passes make-persistent{programs=4,flatten=true} | filecheck %s --check-prefix FLATTEN
// RUN: flagc-opt %s --split-input-file --target cuda:sm90 --passes make-persistent | filecheck %s --check-prefix SM90
// RUN: flagc-opt %s --split-input-file --target ascend:910B1 --passes make-persistent | filecheck %s --check-prefix ASCEND
// RUN: flagc-opt %s --split-input-file --target cuda:sm90 --passes make-persistent{resident=2} | filecheck %s --check-prefix TWO
// RUN: not flagc-opt %s --passes make-persistent{programs=4,resident=0} 2>&1 | filecheck %s --check-prefix NONE
// RUN: not flagc-opt %s --passes make-persistent{group-m=-1} 2>&1 | filecheck %s --check-prefix NEGATIVE

// FLATTEN: tt.flatten
// SM90: flagc_launch = array<i32: 1, 1, 1, 1, 1, 1, 132, 1, 0, 0, 0, 0>
// ASCEND: flagc_launch = array<i32: 1, 1, 1, 1, 1, 1, 48, 1, 0, 0, 0, 0>
// TWO: flagc_launch = array<i32: 1, 1, 1, 1, 1, 1, 264, 1, 0, 0, 0, 0>
// NONE: resident is 0; at least 1 program runs at a time
// NEGATIVE: programs and group-m must not be negative

// The grid comes behind the arguments; what is the same for all tiles stays before the loop.
// CHECK-LABEL: @scale
// CHECK-SAME: %[[X:.*]]: i32, %[[Y:.*]]: i32, %[[Z:.*]]: i32) attributes {flagc_launch = array<i32: 1, 1, 1, 1, 1, 1, 4, 1, 0, 0, 0, 0>
// CHECK-DAG: %[[ME:.*]] = tt.get_program_id x
// CHECK-DAG: %[[PROGRAMS:.*]] = tt.get_num_programs x
// CHECK: tt.make_range
// CHECK: %[[FACTOR:.*]] = arith.muli %{{.*}}, %[[Y]]
// CHECK: scf.for %[[TILE:.*]] = %{{.*}} to %{{.*}} step %{{.*}}
// CHECK-NOT: tt.make_range
// CHECK: arith.remsi %[[TILE]]
// CHECK: arith.muli %{{.*}}, %[[FACTOR]]
// CHECK: tt.load
// CHECK: tt.store
tt.func public @scale(%x: !tt.ptr<i32>, %n: i32) {
  %pid = tt.get_program_id x : i32
  %lanes = tt.make_range {start = 0 : i32, end = 16 : i32} : tensor<16xi32>
  %size = tt.get_num_programs y : i32
  %factor = arith.muli %n, %size : i32
  %first = arith.muli %pid, %factor : i32
  %firsts = tt.splat %first : i32 -> tensor<16xi32>
  %at = arith.addi %firsts, %lanes : tensor<16xi32>
  %p = tt.splat %x : !tt.ptr<i32> -> tensor<16x!tt.ptr<i32>>
  %q = tt.addptr %p, %at : tensor<16x!tt.ptr<i32>>, tensor<16xi32>
  %v = tt.load %q : tensor<16x!tt.ptr<i32>>
  tt.store %q, %v : tensor<16x!tt.ptr<i32>>
  tt.return
}

// -----

// An atomic whose result nobody reads is no way to wait.
// CHECK-LABEL: @counts
// CHECK: scf.for
// CHECK: tt.atomic_rmw
tt.func public @counts(%x: !tt.ptr<i32>) {
  %true = arith.constant true
  %pid = tt.get_program_id x : i32
  %old = tt.atomic_rmw add, acq_rel, gpu, %x, %pid, %true : (!tt.ptr<i32>, i32, i1) -> i32
  tt.return
}
