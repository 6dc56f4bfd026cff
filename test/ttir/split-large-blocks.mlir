// RUN: flagc-opt %s --passes 'split-large-blocks{max-elements=256}' | filecheck %s

// Rows of a row-wise sum: nothing looks across them.
// CHECK-LABEL: @rows
// CHECK: %[[TO:.*]] = arith.constant 64 : i32
// CHECK: %[[CHUNK:.*]] = arith.constant 2 : i32
// CHECK: scf.for %[[AT:.*]] = %{{.*}} to %[[TO]] step %[[CHUNK]]
// CHECK: %[[RANGE:.*]] = tt.make_range {end = 2 : i32, start = 0 : i32}
// CHECK: %[[OFFSET:.*]] = tt.splat %[[AT]] : i32 -> tensor<2xi32>
// CHECK: arith.addi %[[OFFSET]], %[[RANGE]]
// CHECK: tt.load {{.*}} : tensor<2x128x!tt.ptr<f32>>
// CHECK: "tt.reduce"
// CHECK: tt.store {{.*}} : tensor<2x!tt.ptr<f32>>
tt.func public @rows(%x: !tt.ptr<f32>, %y: !tt.ptr<f32>) {
  %row = tt.make_range {end = 64 : i32, start = 0 : i32} : tensor<64xi32>
  %column = tt.make_range {end = 128 : i32, start = 0 : i32} : tensor<128xi32>
  %stride = arith.constant dense<128> : tensor<64x1xi32>
  %0 = tt.expand_dims %row {axis = 1 : i32} : tensor<64xi32> -> tensor<64x1xi32>
  %1 = arith.muli %0, %stride : tensor<64x1xi32>
  %2 = tt.expand_dims %column {axis = 0 : i32} : tensor<128xi32> -> tensor<1x128xi32>
  %3 = tt.broadcast %1 : tensor<64x1xi32> -> tensor<64x128xi32>
  %4 = tt.broadcast %2 : tensor<1x128xi32> -> tensor<64x128xi32>
  %5 = arith.addi %3, %4 : tensor<64x128xi32>
  %6 = tt.splat %x : !tt.ptr<f32> -> tensor<64x128x!tt.ptr<f32>>
  %7 = tt.addptr %6, %5 : tensor<64x128x!tt.ptr<f32>>, tensor<64x128xi32>
  %8 = tt.load %7 : tensor<64x128x!tt.ptr<f32>>
  %9 = "tt.reduce"(%8) <{axis = 1 : i32}> ({
  ^bb0(%a: f32, %b: f32):
    %10 = arith.addf %a, %b : f32
    tt.reduce.return %10 : f32
  }) : (tensor<64x128xf32>) -> tensor<64xf32>
  %11 = tt.splat %y : !tt.ptr<f32> -> tensor<64x!tt.ptr<f32>>
  %12 = tt.addptr %11, %row : tensor<64x!tt.ptr<f32>>, tensor<64xi32>
  tt.store %12, %9 : tensor<64x!tt.ptr<f32>>
  tt.return
}

// A maximum of all elements is the maximum of the chunks'; what needs it is a second loop.
// CHECK-LABEL: @subtract_maximum
// CHECK: %[[LOWEST:.*]] = arith.constant 0xFF800000 : f32
// CHECK: %[[MAX:.*]] = scf.for {{.*}} iter_args(%[[BEFORE:.*]] = %[[LOWEST]]) -> (f32)
// CHECK: tt.load {{.*}} : tensor<256x!tt.ptr<f32>>
// CHECK: %[[PART:.*]] = "tt.reduce"
// CHECK: %[[NOW:.*]] = arith.maxnumf %[[BEFORE]], %[[PART]] : f32
// CHECK: scf.yield %[[NOW]] : f32
// CHECK: scf.for
// CHECK-NOT: "tt.reduce"
// CHECK: tt.load {{.*}} : tensor<256x!tt.ptr<f32>>
// CHECK: tt.splat %[[MAX]] : f32 -> tensor<256xf32>
// CHECK: tt.store {{.*}} : tensor<256x!tt.ptr<f32>>
tt.func public @subtract_maximum(%x: !tt.ptr<f32>, %y: !tt.ptr<f32>) {
  %at = tt.make_range {end = 1024 : i32, start = 0 : i32} : tensor<1024xi32>
  %0 = tt.splat %x : !tt.ptr<f32> -> tensor<1024x!tt.ptr<f32>>
  %1 = tt.addptr %0, %at : tensor<1024x!tt.ptr<f32>>, tensor<1024xi32>
  %2 = tt.load %1 : tensor<1024x!tt.ptr<f32>>
  %3 = "tt.reduce"(%2) <{axis = 0 : i32}> ({
  ^bb0(%a: f32, %b: f32):
    %4 = arith.maxnumf %a, %b : f32
    tt.reduce.return %4 : f32
  }) : (tensor<1024xf32>) -> f32
  %5 = tt.splat %3 : f32 -> tensor<1024xf32>
  %6 = arith.subf %2, %5 : tensor<1024xf32>
  %7 = tt.splat %y : !tt.ptr<f32> -> tensor<1024x!tt.ptr<f32>>
  %8 = tt.addptr %7, %at : tensor<1024x!tt.ptr<f32>>, tensor<1024xi32>
  tt.store %8, %6 : tensor<1024x!tt.ptr<f32>>
  tt.return
}

// CHECK-LABEL: @fits
// CHECK-NOT: scf.for
tt.func public @fits(%x: !tt.ptr<f32>) {
  %at = tt.make_range {end = 256 : i32, start = 0 : i32} : tensor<256xi32>
  %0 = tt.splat %x : !tt.ptr<f32> -> tensor<256x!tt.ptr<f32>>
  %1 = tt.addptr %0, %at : tensor<256x!tt.ptr<f32>>, tensor<256xi32>
  %2 = tt.load %1 : tensor<256x!tt.ptr<f32>>
  tt.store %1, %2 : tensor<256x!tt.ptr<f32>>
  tt.return
}

// Neighbours are exchanged in one buffer: chunks would read what others wrote.
// CHECK-LABEL: @shift_in_place
// CHECK-NOT: scf.for
// CHECK: tt.load {{.*}} : tensor<1024x!tt.ptr<f32>>
tt.func public @shift_in_place(%x: !tt.ptr<f32>, %by: i32) {
  %at = tt.make_range {end = 1024 : i32, start = 0 : i32} : tensor<1024xi32>
  %0 = tt.splat %x : !tt.ptr<f32> -> tensor<1024x!tt.ptr<f32>>
  %1 = tt.addptr %0, %at : tensor<1024x!tt.ptr<f32>>, tensor<1024xi32>
  %2 = tt.load %1 : tensor<1024x!tt.ptr<f32>>
  %3 = tt.splat %by : i32 -> tensor<1024xi32>
  %4 = tt.addptr %1, %3 : tensor<1024x!tt.ptr<f32>>, tensor<1024xi32>
  tt.store %4, %2 : tensor<1024x!tt.ptr<f32>>
  tt.return
}
