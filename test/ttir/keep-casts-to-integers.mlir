// RUN: flagc-opt %s --passes keep-casts-to-integers | filecheck %s

// CHECK-LABEL: @truncate
// CHECK: %[[I:.*]] = arith.fptosi %arg1 : tensor<8xf16> to tensor<8xi32>
// CHECK: %[[KEPT:.*]] = arith.maxsi %[[I]], %{{.*}} : tensor<8xi32>
// CHECK: arith.sitofp %[[KEPT]] : tensor<8xi32> to tensor<8xf16>
tt.func public @truncate(%out: tensor<8x!tt.ptr<f16>>, %x: tensor<8xf16>) {
  %0 = arith.fptosi %x : tensor<8xf16> to tensor<8xi32>
  %1 = arith.sitofp %0 : tensor<8xi32> to tensor<8xf16>
  tt.store %out, %1 : tensor<8x!tt.ptr<f16>>
  tt.return
}

// By way of i32, which holds -2**31 + 1.
// CHECK-LABEL: @quantise
// CHECK: %[[I:.*]] = arith.trunci %{{.*}} : tensor<8xi32> to tensor<8xi8>
// CHECK: %[[WIDE:.*]] = arith.extsi %[[I]] : tensor<8xi8> to tensor<8xi32>
// CHECK: %[[KEPT:.*]] = arith.maxsi %[[WIDE]], %{{.*}} : tensor<8xi32>
// CHECK: arith.sitofp %[[KEPT]] : tensor<8xi32> to tensor<8xf32>
tt.func public @quantise(%out: tensor<8x!tt.ptr<f32>>, %x: tensor<8xf32>) {
  %0 = arith.fptosi %x : tensor<8xf32> to tensor<8xi32>
  %1 = arith.trunci %0 : tensor<8xi32> to tensor<8xi8>
  %2 = arith.sitofp %1 : tensor<8xi8> to tensor<8xf32>
  tt.store %out, %2 : tensor<8x!tt.ptr<f32>>
  tt.return
}

// CHECK-LABEL: @wrap
// CHECK: %[[I:.*]] = arith.trunci %arg1 : tensor<8xi64> to tensor<8xi32>
// CHECK: %[[MAX:.*]] = arith.maxsi %[[I]], %[[ZERO:.*]] : tensor<8xi32>
// CHECK: %[[MIN:.*]] = arith.minsi %[[I]], %[[ZERO]] : tensor<8xi32>
// CHECK: %[[KEPT:.*]] = arith.addi %[[MAX]], %[[MIN]] : tensor<8xi32>
// CHECK: arith.extsi %[[KEPT]] : tensor<8xi32> to tensor<8xi64>
tt.func public @wrap(%out: tensor<8x!tt.ptr<i64>>, %x: tensor<8xi64>) {
  %0 = arith.trunci %x : tensor<8xi64> to tensor<8xi32>
  %1 = arith.extsi %0 : tensor<8xi32> to tensor<8xi64>
  tt.store %out, %1 : tensor<8x!tt.ptr<i64>>
  tt.return
}

// CHECK-LABEL: @to_bf16
// CHECK: %[[WIDE:.*]] = arith.sitofp %arg1 : tensor<8xi16> to tensor<8xf32>
// CHECK: arith.truncf %[[WIDE]] : tensor<8xf32> to tensor<8xbf16>
// CHECK: %[[SCALAR:.*]] = arith.sitofp %arg3 : i16 to f32
// CHECK: arith.truncf %[[SCALAR]] : f32 to bf16
tt.func public @to_bf16(%out: tensor<8x!tt.ptr<bf16>>, %x: tensor<8xi16>, %to: !tt.ptr<bf16>, %y: i16) {
  %0 = arith.sitofp %x : tensor<8xi16> to tensor<8xbf16>
  %1 = arith.sitofp %y : i16 to bf16
  tt.store %out, %0 : tensor<8x!tt.ptr<bf16>>
  tt.store %to, %1 : !tt.ptr<bf16>
  tt.return
}

// An op on the integer stands between, nothing was narrowed, or it is a scalar.
// CHECK-LABEL: @left_alone
// CHECK-NOT: arith.maxsi
tt.func public @left_alone(%out: tensor<8x!tt.ptr<f16>>, %out64: tensor<8x!tt.ptr<i64>>,
                           %to: !tt.ptr<f16>, %x: tensor<8xf16>, %y: tensor<8xi32>, %z: f16) {
  %0 = arith.fptosi %x : tensor<8xf16> to tensor<8xi32>
  %1 = arith.addi %0, %y : tensor<8xi32>
  %2 = arith.sitofp %1 : tensor<8xi32> to tensor<8xf16>
  %3 = arith.extsi %y : tensor<8xi32> to tensor<8xi64>
  %4 = arith.fptosi %z : f16 to i32
  %5 = arith.sitofp %4 : i32 to f16
  tt.store %out, %2 : tensor<8x!tt.ptr<f16>>
  tt.store %out64, %3 : tensor<8x!tt.ptr<i64>>
  tt.store %to, %5 : !tt.ptr<f16>
  tt.return
}
