// RUN: flagc-opt %s --passes int8-arithmetic-in-i32 | filecheck %s

// CHECK-LABEL: @quotient_plus
// CHECK: %[[A:.*]] = arith.extsi %arg1 : tensor<8xi8> to tensor<8xi32>
// CHECK: %[[B:.*]] = arith.extsi %arg2 : tensor<8xi8> to tensor<8xi32>
// CHECK: %[[Q:.*]] = arith.divsi %[[A]], %[[B]] : tensor<8xi32>
// CHECK: %[[NARROW:.*]] = arith.trunci %[[Q]] : tensor<8xi32> to tensor<8xi8>
// CHECK: %[[WIDE:.*]] = arith.extsi %[[NARROW]] : tensor<8xi8> to tensor<8xi32>
// CHECK: arith.addi %[[WIDE]], %{{.*}} : tensor<8xi32>
tt.func public @quotient_plus(%out: tensor<8x!tt.ptr<i8>>, %a: tensor<8xi8>, %b: tensor<8xi8>) {
  %0 = arith.divsi %a, %b : tensor<8xi8>
  %1 = arith.addi %0, %a : tensor<8xi8>
  tt.store %out, %1 : tensor<8x!tt.ptr<i8>>
  tt.return
}

// Computed in i8 or f16 by the vendor, scalar, or wider already.
// CHECK-LABEL: @left_alone
// CHECK-NOT: arith.ext
tt.func public @left_alone(%out: tensor<8x!tt.ptr<i8>>, %out16: tensor<8x!tt.ptr<i16>>,
                           %to: !tt.ptr<i8>, %a: tensor<8xi8>, %b: tensor<8xi16>, %c: i8) {
  %0 = arith.maxsi %a, %a : tensor<8xi8>
  %1 = arith.xori %0, %a : tensor<8xi8>
  %2 = arith.addi %b, %b : tensor<8xi16>
  %3 = arith.addi %c, %c : i8
  tt.store %out, %1 : tensor<8x!tt.ptr<i8>>
  tt.store %out16, %2 : tensor<8x!tt.ptr<i16>>
  tt.store %to, %3 : !tt.ptr<i8>
  tt.return
}
