// RUN: flagc-opt %s --target ascend:910B3 --passes split-accumulators | filecheck %s
// RUN: flagc-opt %s --target ascend:910B3 --passes split-accumulators --verify-diagnostics

// 256 x 256 sums of 4 bytes are twice what L0C holds: 128 rows at a time, over the whole depth.
// CHECK-LABEL: @square
// CHECK-DAG: %[[TO:.*]] = arith.constant 256 : i32
// CHECK-DAG: %[[CHUNK:.*]] = arith.constant 128 : i32
// CHECK: scf.for %[[AT:.*]] = %{{.*}} to %[[TO]] step %[[CHUNK]]
// CHECK: %[[SUM:.*]] = scf.for {{.*}} -> (tensor<128x256xf32>)
// CHECK: tt.load {{.*}} : tensor<128x64x!tt.ptr<f16>>
// CHECK: tt.load {{.*}} : tensor<64x256x!tt.ptr<f16>>
// CHECK: tt.dot {{.*}} -> tensor<128x256xf32>
// CHECK: arith.truncf %[[SUM]]
// CHECK: tt.store {{.*}} : tensor<128x256x!tt.ptr<f16>>
tt.func public @square(%a: !tt.ptr<f16>, %b: !tt.ptr<f16>, %c: !tt.ptr<f16>, %k: i32) {
  %zero = arith.constant dense<0.0> : tensor<256x256xf32>
  %c0 = arith.constant 0 : i32
  %c64 = arith.constant 64 : i32
  %row = tt.make_range {end = 256 : i32, start = 0 : i32} : tensor<256xi32>
  %depth = tt.make_range {end = 64 : i32, start = 0 : i32} : tensor<64xi32>
  %0 = tt.expand_dims %row {axis = 1 : i32} : tensor<256xi32> -> tensor<256x1xi32>
  %1 = tt.expand_dims %row {axis = 0 : i32} : tensor<256xi32> -> tensor<1x256xi32>
  %wide = arith.constant dense<256> : tensor<256x1xi32>
  %2 = arith.muli %0, %wide : tensor<256x1xi32>
  %sum = scf.for %at = %c0 to %k step %c64 iter_args(%acc = %zero) -> (tensor<256x256xf32>) : i32 {
    %3 = tt.splat %at : i32 -> tensor<64xi32>
    %4 = arith.addi %3, %depth : tensor<64xi32>
    %5 = tt.expand_dims %4 {axis = 0 : i32} : tensor<64xi32> -> tensor<1x64xi32>
    %6 = tt.expand_dims %4 {axis = 1 : i32} : tensor<64xi32> -> tensor<64x1xi32>
    %7 = tt.broadcast %2 : tensor<256x1xi32> -> tensor<256x64xi32>
    %8 = tt.broadcast %5 : tensor<1x64xi32> -> tensor<256x64xi32>
    %9 = arith.addi %7, %8 : tensor<256x64xi32>
    %10 = tt.splat %a : !tt.ptr<f16> -> tensor<256x64x!tt.ptr<f16>>
    %11 = tt.addptr %10, %9 : tensor<256x64x!tt.ptr<f16>>, tensor<256x64xi32>
    %x = tt.load %11 : tensor<256x64x!tt.ptr<f16>>
    %12 = tt.broadcast %6 : tensor<64x1xi32> -> tensor<64x256xi32>
    %13 = tt.broadcast %1 : tensor<1x256xi32> -> tensor<64x256xi32>
    %14 = arith.addi %12, %13 : tensor<64x256xi32>
    %15 = tt.splat %b : !tt.ptr<f16> -> tensor<64x256x!tt.ptr<f16>>
    %16 = tt.addptr %15, %14 : tensor<64x256x!tt.ptr<f16>>, tensor<64x256xi32>
    %y = tt.load %16 : tensor<64x256x!tt.ptr<f16>>
    // expected-remark @+1 {{sums of 256x256 need 262144 bytes of L0C, which has 131072: 128 of 256 rows are computed at a time}}
    %next = tt.dot %x, %y, %acc : tensor<256x64xf16> * tensor<64x256xf16> -> tensor<256x256xf32>
    scf.yield %next : tensor<256x256xf32>
  }
  %out = arith.truncf %sum : tensor<256x256xf32> to tensor<256x256xf16>
  %17 = tt.broadcast %2 : tensor<256x1xi32> -> tensor<256x256xi32>
  %18 = tt.broadcast %1 : tensor<1x256xi32> -> tensor<256x256xi32>
  %19 = arith.addi %17, %18 : tensor<256x256xi32>
  %20 = tt.splat %c : !tt.ptr<f16> -> tensor<256x256x!tt.ptr<f16>>
  %21 = tt.addptr %20, %19 : tensor<256x256x!tt.ptr<f16>>, tensor<256x256xi32>
  tt.store %21, %out : tensor<256x256x!tt.ptr<f16>>
  tt.return
}

// 64 x 512 sums fit exactly.
// CHECK-LABEL: @fits
// CHECK-NOT: scf.for
// CHECK: tt.dot {{.*}} -> tensor<64x512xf32>
tt.func public @fits(%c: !tt.ptr<f32>, %x: tensor<64x16xf16>, %y: tensor<16x512xf16>) {
  %zero = arith.constant dense<0.0> : tensor<64x512xf32>
  %sum = tt.dot %x, %y, %zero : tensor<64x16xf16> * tensor<16x512xf16> -> tensor<64x512xf32>
  %0 = tt.splat %c : !tt.ptr<f32> -> tensor<64x512x!tt.ptr<f32>>
  tt.store %0, %sum : tensor<64x512x!tt.ptr<f32>>
  tt.return
}

// The rows cannot be cut, as the operand comes from outside; the columns neither.
// CHECK-LABEL: @refused
// CHECK-NOT: scf.for
// CHECK: tt.dot {{.*}} -> tensor<256x256xf32>
// expected-remark @+1 {{a product is too large for L0C and cannot be cut: it is an argument}}
tt.func public @refused(%c: !tt.ptr<f32>, %x: tensor<256x16xf16>, %y: tensor<16x256xf16>) {
  %zero = arith.constant dense<0.0> : tensor<256x256xf32>
  %sum = tt.dot %x, %y, %zero : tensor<256x16xf16> * tensor<16x256xf16> -> tensor<256x256xf32>
  %0 = tt.splat %c : !tt.ptr<f32> -> tensor<256x256x!tt.ptr<f32>>
  tt.store %0, %sum : tensor<256x256x!tt.ptr<f32>>
  tt.return
}
