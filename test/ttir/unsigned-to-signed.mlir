// RUN: flagc-opt %s --passes unsigned-to-signed | filecheck %s

// CHECK-LABEL: @compare
// CHECK: %[[SIGN:.*]] = arith.constant dense<-2147483648> : tensor<8xi32>
// CHECK: %[[A:.*]] = arith.xori %arg1, %[[SIGN]]
// CHECK: %[[B:.*]] = arith.xori %arg2
// CHECK: arith.cmpi slt, %[[A]], %[[B]] : tensor<8xi32>
// CHECK: arith.cmpi sge
// CHECK-NOT: arith.cmpi u
tt.func public @compare(%out: tensor<8x!tt.ptr<i1>>, %a: tensor<8xi32>, %b: tensor<8xi32>) {
  %0 = arith.cmpi ult, %a, %b : tensor<8xi32>
  %1 = arith.cmpi uge, %a, %b : tensor<8xi32>
  tt.store %out, %0 : tensor<8x!tt.ptr<i1>>
  tt.store %out, %1 : tensor<8x!tt.ptr<i1>>
  tt.return
}

// Neither operand can be negative: the comparison is the same signed.
// CHECK-LABEL: @never_negative
// CHECK-NOT: arith.xori
// CHECK: arith.cmpi sle, %{{.*}}, %{{.*}} : i32
// CHECK: arith.remsi %{{.*}}, %{{.*}} : i32
tt.func public @never_negative(%out: !tt.ptr<i1>, %at: !tt.ptr<i32>, %a: i32) {
  %ten = arith.constant 10 : i32
  %pid = tt.get_program_id x : i32
  %masked = arith.andi %a, %ten : i32
  %0 = arith.cmpi ule, %pid, %masked : i32
  %1 = arith.remui %masked, %ten : i32
  tt.store %out, %0 : !tt.ptr<i1>
  tt.store %at, %1 : !tt.ptr<i32>
  tt.return
}

// CHECK-LABEL: @divide
// CHECK: arith.extui %arg1 : i32 to i64
// CHECK: arith.remsi %{{.*}}, %{{.*}} : i64
// CHECK: arith.trunci
// CHECK: arith.shrui %arg2
// CHECK-NEXT: arith.divsi
// CHECK-NEXT: arith.shli
tt.func public @divide(%out: !tt.ptr<i32>, %a: i32, %b: i64, %at: !tt.ptr<i64>) {
  %0 = arith.remui %a, %a : i32
  %1 = arith.divui %b, %b : i64
  tt.store %out, %0 : !tt.ptr<i32>
  tt.store %at, %1 : !tt.ptr<i64>
  tt.return
}

// Signed comparisons, and unsigned ops that the vendor's tools take, stay.
// CHECK-LABEL: @others
// CHECK-NEXT: arith.cmpi slt, %arg1, %arg1
// CHECK-NEXT: arith.cmpi ne, %arg1, %arg1
// CHECK-NEXT: arith.shrui %arg1, %arg1
// CHECK-NEXT: arith.uitofp %arg4 : i8 to f32
tt.func public @others(%out: !tt.ptr<i1>, %a: i32, %at: !tt.ptr<i32>, %float: !tt.ptr<f32>, %byte: i8) {
  %0 = arith.cmpi slt, %a, %a : i32
  %1 = arith.cmpi ne, %a, %a : i32
  %2 = arith.shrui %a, %a : i32
  %3 = arith.uitofp %byte : i8 to f32
  tt.store %out, %0 : !tt.ptr<i1>
  tt.store %out, %1 : !tt.ptr<i1>
  tt.store %at, %2 : !tt.ptr<i32>
  tt.store %float, %3 : !tt.ptr<f32>
  tt.return
}

// CHECK-LABEL: @casts
// CHECK: %[[WIDE:.*]] = arith.extui %arg1 : tensor<8xi32> to tensor<8xi64>
// CHECK-NEXT: %[[FLOAT:.*]] = arith.sitofp %[[WIDE]] : tensor<8xi64> to tensor<8xf32>
// CHECK-NEXT: %[[BACK:.*]] = arith.fptosi %[[FLOAT]] : tensor<8xf32> to tensor<8xi64>
// CHECK-NEXT: arith.trunci %[[BACK]] : tensor<8xi64> to tensor<8xi32>
tt.func public @casts(%at: tensor<8x!tt.ptr<i32>>, %a: tensor<8xi32>) {
  %0 = arith.uitofp %a : tensor<8xi32> to tensor<8xf32>
  %1 = arith.fptoui %0 : tensor<8xf32> to tensor<8xi32>
  tt.store %at, %1 : tensor<8x!tt.ptr<i32>>
  tt.return
}
