// RUN: flagc-opt %s --split-input-file --passes select-values-not-pointers | filecheck %s
// RUN: flagc-opt %s --split-input-file --verify-diagnostics --passes select-values-not-pointers

// CHECK-LABEL: @select
// CHECK-NOT: arith.select
// CHECK: %[[V:.*]] = scf.if %arg3 -> (tensor<8xf32>) {
// CHECK: tt.splat %arg0
// CHECK: %[[A:.*]] = tt.addptr
// CHECK: %[[L:.*]] = tt.load %[[A]], %{{.*}} : tensor<8x!tt.ptr<f32>>
// CHECK: scf.yield %[[L]]
// CHECK: } else {
// CHECK: tt.splat %arg1
// CHECK: tt.load
// CHECK: tt.store %{{.*}}, %[[V]], %{{.*}}
tt.func public @select(%p: !tt.ptr<f32>, %q: !tt.ptr<f32>, %out: !tt.ptr<f32>, %c: i1, %n: i32) {
  %r = tt.make_range {end = 8 : i32, start = 0 : i32} : tensor<8xi32>
  %ns = tt.splat %n : i32 -> tensor<8xi32>
  %mask = arith.cmpi slt, %r, %ns : tensor<8xi32>
  %at = arith.select %c, %p, %q : !tt.ptr<f32>
  %ats = tt.splat %at : !tt.ptr<f32> -> tensor<8x!tt.ptr<f32>>
  %from = tt.addptr %ats, %r : tensor<8x!tt.ptr<f32>>, tensor<8xi32>
  %v = tt.load %from, %mask : tensor<8x!tt.ptr<f32>>
  %outs = tt.splat %out : !tt.ptr<f32> -> tensor<8x!tt.ptr<f32>>
  %to = tt.addptr %outs, %r : tensor<8x!tt.ptr<f32>>, tensor<8xi32>
  tt.store %to, %v, %mask : tensor<8x!tt.ptr<f32>>
  tt.return
}

// -----

// A store, through a pointer that a branch yields next to a number.
// CHECK-LABEL: @branch_and_store
// CHECK: %[[C:.*]] = arith.cmpi eq, %arg2
// CHECK: %[[N:.*]] = arith.select %[[C]], %arg2, %{{.*}} : i32
// CHECK: scf.if %[[C]] {
// CHECK-NEXT: tt.store %arg0, %[[N]] : !tt.ptr<i32>
// CHECK-NEXT: } else {
// CHECK-NEXT: tt.store %arg1, %[[N]] : !tt.ptr<i32>
tt.func public @branch_and_store(%p: !tt.ptr<i32>, %q: !tt.ptr<i32>, %n: i32) {
  %zero = arith.constant 0 : i32
  %c = arith.cmpi eq, %n, %zero : i32
  %both:2 = scf.if %c -> (!tt.ptr<i32>, i32) {
    scf.yield %p, %n : !tt.ptr<i32>, i32
  } else {
    %twice = arith.addi %n, %n : i32
    scf.yield %q, %twice : !tt.ptr<i32>, i32
  }
  tt.store %both#0, %both#1 : !tt.ptr<i32>
  tt.return
}

// -----

// Lanes choose: two masked loads.
// CHECK-LABEL: @lanes
// CHECK: %[[NOT:.*]] = arith.xori %arg2
// CHECK: %[[A:.*]] = tt.load %arg0, %arg2 : tensor<8x!tt.ptr<f32>>
// CHECK: %[[B:.*]] = tt.load %arg1, %[[NOT]] : tensor<8x!tt.ptr<f32>>
// CHECK: arith.select %arg2, %[[A]], %[[B]] : tensor<8xi1>, tensor<8xf32>
tt.func public @lanes(%p: tensor<8x!tt.ptr<f32>>, %q: tensor<8x!tt.ptr<f32>>, %c: tensor<8xi1>) {
  %at = arith.select %c, %p, %q : tensor<8xi1>, tensor<8x!tt.ptr<f32>>
  %v = tt.load %at : tensor<8x!tt.ptr<f32>>
  tt.store %p, %v : tensor<8x!tt.ptr<f32>>
  tt.return
}

// -----

// The branch loads: it cannot run in any case.
// CHECK-LABEL: @loads_in_branch
// CHECK: scf.if %arg2 -> (!tt.ptr<i32>)
tt.func public @loads_in_branch(%p: !tt.ptr<i32>, %q: !tt.ptr<i32>, %c: i1, %n: i32) {
  %at = scf.if %c -> (!tt.ptr<i32>) {
    // expected-remark@+1 {{not applied: the branch that chooses a pointer does more than compute}}
    %i = tt.load %p : !tt.ptr<i32>
    %moved = tt.addptr %q, %i : !tt.ptr<i32>, i32
    scf.yield %moved : !tt.ptr<i32>
  } else {
    scf.yield %q : !tt.ptr<i32>
  }
  tt.store %at, %n : !tt.ptr<i32>
  tt.return
}

// -----

// The pointer moves through a loop.
// CHECK-LABEL: @loop
// CHECK: arith.select %arg2, %arg0, %arg1 : !tt.ptr<i32>
tt.func public @loop(%p: !tt.ptr<i32>, %q: !tt.ptr<i32>, %c: i1, %n: i32) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  // expected-remark@+1 {{not applied: this choice of a pointer reaches more than loads and stores}}
  %at = arith.select %c, %p, %q : !tt.ptr<i32>
  %end = scf.for %i = %zero to %n step %one iter_args(%here = %at) -> (!tt.ptr<i32>) : i32 {
    tt.store %here, %i : !tt.ptr<i32>
    %next = tt.addptr %here, %one : !tt.ptr<i32>, i32
    scf.yield %next : !tt.ptr<i32>
  }
  tt.return
}
