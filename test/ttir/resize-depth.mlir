// RUN: flagc-opt %s --passes resize-depth{size=64} | filecheck %s
// RUN: not flagc-opt %s --passes resize-depth{size=8} 2>&1 | filecheck %s --check-prefix SMALL

// SMALL: a depth of 8; powers of two from 16 on can be

// CHECK: %[[LANES:.*]] = tt.make_range {end = 64 : i32, start = 0 : i32} : tensor<64xi32>
// CHECK: %[[STEP:.*]] = arith.constant 64 : i32
// CHECK: scf.for {{.*}} step %[[STEP]]
// CHECK: tt.load {{.*}} : tensor<16x64x!tt.ptr<f16>>
// CHECK: tt.dot {{.*}} : tensor<16x64xf16> * tensor<64x16xf16> -> tensor<16x16xf32>

tt.func public @square(%a: !tt.ptr<f16>, %c: !tt.ptr<f32>, %k: i32, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c32 = arith.constant 32 : i32
  %zero_a = arith.constant dense<0.0> : tensor<16x32xf16>
  %one_a = arith.constant dense<1.0> : tensor<16x32xf16>
  %acc0 = arith.constant dense<0.0> : tensor<16x16xf32>
  %lanes = tt.make_range {start = 0 : i32, end = 32 : i32} : tensor<32xi32>
  %ends = tt.splat %k : i32 -> tensor<1x32xi32>
  %pa = tt.splat %a : !tt.ptr<f16> -> tensor<16x32x!tt.ptr<f16>>
  %loop = scf.for %start = %c0 to %k step %c32 iter_args(%acc = %acc0) -> (tensor<16x16xf32>) : i32 {
    %starts = tt.splat %start : i32 -> tensor<32xi32>
    %inner = arith.addi %starts, %lanes : tensor<32xi32>
    %row = tt.expand_dims %inner {axis = 0 : i32} : tensor<32xi32> -> tensor<1x32xi32>
    %in = arith.cmpi slt, %row, %ends : tensor<1x32xi32>
    %ma = tt.broadcast %in : tensor<1x32xi1> -> tensor<16x32xi1>
    %at = tt.broadcast %row : tensor<1x32xi32> -> tensor<16x32xi32>
    %q = tt.addptr %pa, %at : tensor<16x32x!tt.ptr<f16>>, tensor<16x32xi32>
    %left = tt.load %q, %ma, %zero_a : tensor<16x32x!tt.ptr<f16>>
    %right = tt.trans %left {order = array<i32: 1, 0>} : tensor<16x32xf16> -> tensor<32x16xf16>
    %sum = tt.dot %left, %right, %acc : tensor<16x32xf16> * tensor<32x16xf16> -> tensor<16x16xf32>
    scf.yield %sum : tensor<16x16xf32>
  }
  %pc = tt.splat %c : !tt.ptr<f32> -> tensor<16x16x!tt.ptr<f32>>
  tt.store %pc, %loop : tensor<16x16x!tt.ptr<f32>>
  tt.return
}
