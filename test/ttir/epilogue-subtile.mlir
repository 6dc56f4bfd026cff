// RUN: flagc-opt %s --split-input-file --verify-diagnostics --passes epilogue-subtile
// RUN: flagc-opt %s --split-input-file --passes epilogue-subtile | filecheck %s
// RUN: not flagc-opt %s --split-input-file --passes epilogue-subtile{pieces=3} 2>&1 | filecheck %s --check-prefix PIECES

// PIECES: pieces is 3; it must be a power of two from 2 on

// CHECK-LABEL: @bias
// CHECK: %[[DOT:.*]] = tt.dot
// CHECK: %[[PAIRS:.*]] = tt.reshape %[[DOT]] : tensor<16x32xf32> -> tensor<16x2x16xf32>
// CHECK: %[[LAST:.*]] = tt.trans %[[PAIRS]] {order = array<i32: 0, 2, 1>}
// CHECK: %[[LEFT:.*]], %[[RIGHT:.*]] = tt.split %[[LAST]]
// CHECK: arith.addf %[[LEFT]], %{{.*}} : tensor<16x16xf32>
// CHECK: tt.store %{{.*}} : tensor<16x16x!tt.ptr<f32>>
// CHECK: tt.make_range {end = 32 : i32, start = 16 : i32}
// CHECK: arith.addf %[[RIGHT]], %{{.*}} : tensor<16x16xf32>
// CHECK: tt.store %{{.*}} : tensor<16x16x!tt.ptr<f32>>
// CHECK-NOT: tt.store
tt.func public @bias(%a: tensor<16x16xf16>, %b: tensor<16x32xf16>, %c: !tt.ptr<f32>) {
  %zero = arith.constant dense<0.0> : tensor<16x32xf32>
  %ones = arith.constant dense<1.0> : tensor<16x32xf32>
  %dot = tt.dot %a, %b, %zero : tensor<16x16xf16> * tensor<16x32xf16> -> tensor<16x32xf32>
  %lanes = tt.make_range {start = 0 : i32, end = 32 : i32} : tensor<32xi32>
  %row = tt.expand_dims %lanes {axis = 0 : i32} : tensor<32xi32> -> tensor<1x32xi32>
  %at = tt.broadcast %row : tensor<1x32xi32> -> tensor<16x32xi32>
  %sum = arith.addf %dot, %ones : tensor<16x32xf32>
  %p = tt.splat %c : !tt.ptr<f32> -> tensor<16x32x!tt.ptr<f32>>
  %q = tt.addptr %p, %at : tensor<16x32x!tt.ptr<f32>>, tensor<16x32xi32>
  tt.store %q, %sum : tensor<16x32x!tt.ptr<f32>>
  tt.return
}

// -----

// CHECK-LABEL: @transposed
// CHECK-NOT: tt.split
tt.func public @transposed(%a: tensor<32x16xf16>, %b: tensor<16x32xf16>, %c: !tt.ptr<f32>) {
  %zero = arith.constant dense<0.0> : tensor<32x32xf32>
  // expected-remark@+1 {{stored whole: it is stored transposed}}
  %dot = tt.dot %a, %b, %zero : tensor<32x16xf16> * tensor<16x32xf16> -> tensor<32x32xf32>
  %turned = tt.trans %dot {order = array<i32: 1, 0>} : tensor<32x32xf32> -> tensor<32x32xf32>
  %p = tt.splat %c : !tt.ptr<f32> -> tensor<32x32x!tt.ptr<f32>>
  tt.store %p, %turned : tensor<32x32x!tt.ptr<f32>>
  tt.return
}

// -----

// CHECK-LABEL: @no_product
// expected-remark@+1 {{not applied: the kernel stores no matrix product}}
tt.func public @no_product(%c: !tt.ptr<f32>, %x: f32) {
  tt.store %c, %x : !tt.ptr<f32>
  tt.return
}
