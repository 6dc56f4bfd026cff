// RUN: flagc-opt %s --passes peel-k-tail | filecheck %s

// One masked iteration at most is left.
// CHECK-LABEL: @one_left
// CHECK: %[[STEPS:.*]] = arith.divsi %arg1, %{{.*}} : i32
// CHECK: %[[COUNT:.*]] = arith.maxsi %[[STEPS]], %{{.*}} : i32
// CHECK: %[[END:.*]] = arith.muli %[[COUNT]], %{{.*}} : i32
// CHECK: %[[LEFT:.*]] = arith.cmpi slt, %[[END]], %arg1 : i32
// CHECK: %[[SUM:.*]] = scf.for %{{.*}} = %{{.*}} to %[[END]] step
// CHECK-NOT: arith.cmpi
// CHECK: tt.load %{{[^ ,]*}} :
// CHECK: scf.yield
// CHECK: %[[ALL:.*]] = scf.if %[[LEFT]]
// CHECK: tt.splat %[[END]]
// CHECK: tt.load %{{.*}}, %{{.*}}, %{{.*}} :
// CHECK: arith.addf %[[SUM]]
// CHECK: } else {
// CHECK: scf.yield %[[SUM]]
// CHECK: tt.store %{{.*}}, %[[ALL]]
tt.func public @one_left(%p: !tt.ptr<f32>, %k: i32) {
  %c0 = arith.constant 0 : i32
  %c16 = arith.constant 16 : i32
  %zeros = arith.constant dense<0.0> : tensor<16xf32>
  %lane = tt.make_range {end = 16 : i32, start = 0 : i32} : tensor<16xi32>
  %ps = tt.splat %p : !tt.ptr<f32> -> tensor<16x!tt.ptr<f32>>
  %ks = tt.splat %k : i32 -> tensor<16xi32>
  %sum = scf.for %i = %c0 to %k step %c16 iter_args(%acc = %zeros) -> (tensor<16xf32>) : i32 {
    %is = tt.splat %i : i32 -> tensor<16xi32>
    %at = arith.addi %is, %lane : tensor<16xi32>
    %in = arith.cmpi slt, %at, %ks : tensor<16xi32>
    %q = tt.addptr %ps, %at : tensor<16x!tt.ptr<f32>>, tensor<16xi32>
    %v = tt.load %q, %in, %zeros : tensor<16x!tt.ptr<f32>>
    %next = arith.addf %acc, %v : tensor<16xf32>
    scf.yield %next : tensor<16xf32>
  }
  tt.store %ps, %sum : tensor<16x!tt.ptr<f32>>
  tt.return
}

// The loop goes on beyond the bound of the mask, so the rest is a loop; no pipeline for it. The
// other condition of the mask stays in both.
// CHECK-LABEL: @several_left
// CHECK: %[[END:.*]] = arith.muli
// CHECK: scf.for %{{.*}} = %{{.*}} to %[[END]] step
// CHECK: %[[OTHER:.*]] = arith.cmpi sge
// CHECK-NOT: arith.cmpi
// CHECK: tt.store %{{.*}}, %{{.*}}, %[[OTHER]] :
// CHECK: } {tt.num_stages = 3 : i32}
// CHECK: scf.for %{{.*}} = %[[END]] to %arg2 step
// CHECK: arith.cmpi slt
// CHECK: tt.store
// CHECK: } {tt.num_stages = 1 : i32}
tt.func public @several_left(%p: !tt.ptr<i32>, %k: i32, %end: i32, %low: i32) {
  %c0 = arith.constant 0 : i32
  %c8 = arith.constant 8 : i32
  %lane = tt.make_range {end = 16 : i32, start = 0 : i32} : tensor<16xi32>
  %ps = tt.splat %p : !tt.ptr<i32> -> tensor<16x!tt.ptr<i32>>
  %ks = tt.splat %k : i32 -> tensor<16xi32>
  %lows = tt.splat %low : i32 -> tensor<16xi32>
  scf.for %i = %c0 to %end step %c8 : i32 {
    %is = tt.splat %i : i32 -> tensor<16xi32>
    %at = arith.addi %is, %lane : tensor<16xi32>
    %in = arith.cmpi slt, %at, %ks : tensor<16xi32>
    %above = arith.cmpi sge, %at, %lows : tensor<16xi32>
    %both = arith.andi %in, %above : tensor<16xi1>
    %q = tt.addptr %ps, %at : tensor<16x!tt.ptr<i32>>, tensor<16xi32>
    tt.store %q, %at, %both : tensor<16x!tt.ptr<i32>>
  } {tt.num_stages = 3 : i32}
  tt.return
}
