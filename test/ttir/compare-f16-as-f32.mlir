// RUN: flagc-opt %s --passes compare-f16-as-f32 | filecheck %s

// CHECK-LABEL: @compare
// CHECK: %[[A:.*]] = arith.extf %arg1 : tensor<8xf16> to tensor<8xf32>
// CHECK: %[[B:.*]] = arith.extf %arg2 : tensor<8xf16> to tensor<8xf32>
// CHECK: arith.cmpf ole, %[[A]], %[[B]] : tensor<8xf32>
tt.func public @compare(%out: tensor<8x!tt.ptr<i1>>, %a: tensor<8xf16>, %b: tensor<8xf16>) {
  %0 = arith.cmpf ole, %a, %b : tensor<8xf16>
  tt.store %out, %0 : tensor<8x!tt.ptr<i1>>
  tt.return
}

// CHECK-LABEL: @left_alone
// CHECK-NOT: arith.extf
tt.func public @left_alone(%out: tensor<8x!tt.ptr<i1>>, %a: tensor<8xf32>, %to: !tt.ptr<i1>, %b: f16) {
  %0 = arith.cmpf ole, %a, %a : tensor<8xf32>
  %1 = arith.cmpf ole, %b, %b : f16
  tt.store %out, %0 : tensor<8x!tt.ptr<i1>>
  tt.store %to, %1 : !tt.ptr<i1>
  tt.return
}
