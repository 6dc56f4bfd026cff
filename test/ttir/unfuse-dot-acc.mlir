// RUN: flagc-opt %s --passes unfuse-dot-acc 2>/dev/null | filecheck %s
// RUN: flagc-opt %s --verify-diagnostics --passes unfuse-dot-acc

// CHECK-LABEL: @kernel(%arg0: tensor<16x16xf16>, %arg1: tensor<16x16xf32>
// CHECK: %[[ZERO:.*]] = arith.constant dense<0.000000e+00> : tensor<16x16xf32>
// CHECK: %[[PRODUCT:.*]] = tt.dot %arg0, %arg0, %[[ZERO]], inputPrecision = tf32x3 : tensor<16x16xf16>
// CHECK: %[[SUM:.*]] = arith.addf %[[PRODUCT]], %arg1 : tensor<16x16xf32>
// CHECK: arith.addf %[[SUM]]
// CHECK: tt.dot {{.*}} -> tensor<16x16xi32>
// CHECK: arith.addi
tt.func public @kernel(%a: tensor<16x16xf16>, %c: tensor<16x16xf32>, %i: tensor<16x16xi8>, %n: tensor<16x16xi32>, %out: tensor<16x16x!tt.ptr<f32>>) {
  %0 = tt.dot %a, %a, %c, inputPrecision = tf32x3 : tensor<16x16xf16> * tensor<16x16xf16> -> tensor<16x16xf32>
  %zero = arith.constant dense<0.0> : tensor<16x16xf32>
  // expected-remark@+1 {{left alone: the accumulator is zero already}}
  %1 = tt.dot %a, %a, %zero : tensor<16x16xf16> * tensor<16x16xf16> -> tensor<16x16xf32>
  %2 = arith.addf %0, %1 : tensor<16x16xf32>
  %3 = tt.dot %i, %i, %n : tensor<16x16xi8> * tensor<16x16xi8> -> tensor<16x16xi32>
  %4 = arith.sitofp %3 : tensor<16x16xi32> to tensor<16x16xf32>
  %5 = arith.addf %2, %4 : tensor<16x16xf32>
  tt.store %out, %5 : tensor<16x16x!tt.ptr<f32>>
  tt.return
}
