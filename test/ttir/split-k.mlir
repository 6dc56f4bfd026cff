// RUN: flagc-opt %s --passes split-k{ways=3} | filecheck %s
// RUN: flagc-opt %s --target ascend --passes split-k 2>&1 | filecheck %s --check-prefix ASCEND
// RUN: not flagc-opt %s --passes split-k{ways=1} 2>&1 | filecheck %s --check-prefix WAYS

// ASCEND: not applied: only CUDA's atomics order other programs' stores
// WAYS: ways is 1; at least 2 programs share a tile

// CHECK-LABEL: @square
// CHECK-SAME: %{{[a-z0-9]*}}: !tt.ptr<f32> {tt.divisibility = 16 : i32}, %{{[a-z0-9]*}}: !tt.ptr<i32> {tt.divisibility = 16 : i32})
// CHECK-SAME: flagc_launch = array<i32: 1, 1, 1, 1, 1, 1, 0, 3, 1024, 0, 0, 0>
// CHECK: %[[END:.*]] = arith.minsi
// CHECK: %[[SUM:.*]] = scf.for %{{.*}} = %{{.*}} to %[[END]]
// CHECK: tt.store %{{.*}}, %[[SUM]]
// CHECK: barrier
// CHECK: %[[OTHERS:.*]] = tt.atomic_rmw add, acq_rel, gpu
// CHECK: %[[LAST:.*]] = arith.cmpi eq, %[[OTHERS]]
// CHECK: scf.if %[[LAST]] {
// CHECK-COUNT-3: tt.load
// CHECK: %[[ONE:.*]] = arith.addf
// CHECK: %[[TWO:.*]] = arith.addf %[[ONE]]
// CHECK: %[[ALL:.*]] = arith.addf %[[TWO]]
// CHECK: tt.store %{{.*}}, %[[ALL]]

tt.func public @square(%a: !tt.ptr<f16>, %c: !tt.ptr<f32>, %k: i32) {
  %c0 = arith.constant 0 : i32
  %c32 = arith.constant 32 : i32
  %acc0 = arith.constant dense<0.0> : tensor<16x16xf32>
  %acc1 = arith.constant dense<1.0> : tensor<16x16xf32>
  %pa = tt.splat %a : !tt.ptr<f16> -> tensor<16x32x!tt.ptr<f16>>
  %loop = scf.for %start = %c0 to %k step %c32 iter_args(%acc = %acc0) -> (tensor<16x16xf32>) : i32 {
    %starts = tt.splat %start : i32 -> tensor<16x32xi32>
    %q = tt.addptr %pa, %starts : tensor<16x32x!tt.ptr<f16>>, tensor<16x32xi32>
    %left = tt.load %q : tensor<16x32x!tt.ptr<f16>>
    %right = tt.trans %left {order = array<i32: 1, 0>} : tensor<16x32xf16> -> tensor<32x16xf16>
    %sum = tt.dot %left, %right, %acc : tensor<16x32xf16> * tensor<32x16xf16> -> tensor<16x16xf32>
    scf.yield %sum : tensor<16x16xf32>
  }
  %pc = tt.splat %c : !tt.ptr<f32> -> tensor<16x16x!tt.ptr<f32>>
  tt.store %pc, %loop : tensor<16x16x!tt.ptr<f32>>
  tt.return
}
