// RUN: flagc-opt %s --passes explicit-other | filecheck %s

// CHECK-LABEL: @tensors
// CHECK: %[[ZERO:.*]] = arith.constant dense<0.000000e+00> : tensor<8xf16>
// CHECK: tt.load %arg0, %arg1, %[[ZERO]] {isVolatile = true} : tensor<8x!tt.ptr<f16>>
// CHECK-NOT: arith.constant
// CHECK: tt.load %arg0, %arg1, %arg2 : tensor<8x!tt.ptr<f16>>
// CHECK-NEXT: tt.load %arg0 : tensor<8x!tt.ptr<f16>>
tt.func public @tensors(%at: tensor<8x!tt.ptr<f16>>, %mask: tensor<8xi1>, %other: tensor<8xf16>) {
  %0 = tt.load %at, %mask {isVolatile = true} : tensor<8x!tt.ptr<f16>>
  %1 = tt.load %at, %mask, %other : tensor<8x!tt.ptr<f16>>
  %2 = tt.load %at : tensor<8x!tt.ptr<f16>>
  tt.store %at, %0 : tensor<8x!tt.ptr<f16>>
  tt.store %at, %1 : tensor<8x!tt.ptr<f16>>
  tt.store %at, %2 : tensor<8x!tt.ptr<f16>>
  tt.return
}

// CHECK-LABEL: @other_types
// CHECK: %[[FALSE:.*]] = arith.constant false
// CHECK: tt.load %arg0, %arg1, %[[FALSE]] : !tt.ptr<i1>
// CHECK: %[[EIGHT:.*]] = arith.constant dense<0.000000e+00> : tensor<4xf8E5M2>
// CHECK: tt.load %arg2, %arg3, %[[EIGHT]]
tt.func public @other_types(%flag: !tt.ptr<i1>, %one: i1, %fp8: tensor<4x!tt.ptr<f8E5M2>>, %mask: tensor<4xi1>) {
  %0 = tt.load %flag, %one : !tt.ptr<i1>
  %1 = tt.load %fp8, %mask : tensor<4x!tt.ptr<f8E5M2>>
  tt.store %flag, %0 : !tt.ptr<i1>
  tt.store %fp8, %1 : tensor<4x!tt.ptr<f8E5M2>>
  tt.return
}
