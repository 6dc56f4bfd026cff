// RUN: flagc-opt %s --split-input-file --passes fp8-stores-as-bits | filecheck %s
// RUN: flagc-opt %s --split-input-file --verify-diagnostics --passes fp8-stores-as-bits

// CHECK-LABEL: @stored
// CHECK-NOT: tt.fp_to_fp
// CHECK: %[[CODES:.*]] = arith.trunci %{{.*}} : tensor<8xi32> to tensor<8xi8>
// CHECK: %[[AT:.*]] = tt.bitcast %arg0 : tensor<8x!tt.ptr<f8E4M3FN>> -> tensor<8x!tt.ptr<i8>>
// CHECK: tt.store %[[AT]], %[[CODES]], %arg2 : tensor<8x!tt.ptr<i8>>
tt.func public @stored(%p: tensor<8x!tt.ptr<f8E4M3FN>>, %v: tensor<8xf32>, %m: tensor<8xi1>) {
  %r = tt.fp_to_fp %v, rounding = rtne : tensor<8xf32> -> tensor<8xf8E4M3FN>
  tt.store %p, %r, %m : tensor<8x!tt.ptr<f8E4M3FN>>
  tt.return
}

// -----

// CHECK-LABEL: @towards_zero
// CHECK: tt.fp_to_fp
tt.func public @towards_zero(%p: tensor<8x!tt.ptr<f8E5M2>>, %v: tensor<8xf32>) {
  // expected-remark@+1 {{not applied: only rounding to the nearest}}
  %r = tt.fp_to_fp %v, rounding = rtz : tensor<8xf32> -> tensor<8xf8E5M2>
  tt.store %p, %r : tensor<8x!tt.ptr<f8E5M2>>
  tt.return
}

// -----

// CHECK-LABEL: @multiplied
// CHECK: tt.fp_to_fp
tt.func public @multiplied(%p: tensor<16x16x!tt.ptr<f32>>, %v: tensor<16x16xf32>) {
  // expected-remark@+1 {{not applied: the 8-bit numbers are not just stored}}
  %r = tt.fp_to_fp %v, rounding = rtne : tensor<16x16xf32> -> tensor<16x16xf8E5M2>
  %d = tt.dot %r, %r, %v : tensor<16x16xf8E5M2> * tensor<16x16xf8E5M2> -> tensor<16x16xf32>
  tt.store %p, %d : tensor<16x16x!tt.ptr<f32>>
  tt.return
}
