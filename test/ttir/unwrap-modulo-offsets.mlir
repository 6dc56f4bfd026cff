// RUN: flagc-opt %s --passes unwrap-modulo-offsets | filecheck %s

// Rows of one tile, copied under the store's mask.
// CHECK-LABEL: @rows
// CHECK: %[[X:.*]] = arith.addi
// CHECK: %[[M:.*]] = tt.splat %arg2
// CHECK-NEXT: %[[IN:.*]] = arith.cmpi slt, %[[X]], %[[M]] : tensor<8xi32>
// CHECK-NOT: arith.remsi
// CHECK: tt.expand_dims %[[X]] {axis = 1 : i32}
// CHECK: %[[COLUMN:.*]] = tt.expand_dims %[[IN]] {axis = 1 : i32} : tensor<8xi1> -> tensor<8x1xi1>
// CHECK: %[[MASK:.*]] = tt.broadcast %[[COLUMN]] : tensor<8x1xi1> -> tensor<8x4xi1>
// CHECK: %[[ZERO:.*]] = arith.constant dense<0.000000e+00> : tensor<8x4xf32>
// CHECK: tt.load %{{.*}}, %[[MASK]], %[[ZERO]] {isVolatile = true}
tt.func public @rows(%in: !tt.ptr<f32>, %out: !tt.ptr<f32>, %m: i32, %stride: i32) {
  %c8 = arith.constant 8 : i32
  %pid = tt.get_program_id x : i32
  %start = arith.muli %pid, %c8 : i32
  %r = tt.make_range {end = 8 : i32, start = 0 : i32} : tensor<8xi32>
  %s = tt.splat %start : i32 -> tensor<8xi32>
  %x = arith.addi %s, %r : tensor<8xi32>
  %size = tt.splat %m : i32 -> tensor<8xi32>
  %wrapped = arith.remsi %x, %size : tensor<8xi32>
  %column = tt.make_range {end = 4 : i32, start = 0 : i32} : tensor<4xi32>
  %c = tt.expand_dims %column {axis = 0 : i32} : tensor<4xi32> -> tensor<1x4xi32>
  %cc = tt.broadcast %c : tensor<1x4xi32> -> tensor<8x4xi32>
  %strides = tt.splat %stride : i32 -> tensor<8x1xi32>
  %w = tt.expand_dims %wrapped {axis = 1 : i32} : tensor<8xi32> -> tensor<8x1xi32>
  %ws = arith.muli %w, %strides : tensor<8x1xi32>
  %wss = tt.broadcast %ws : tensor<8x1xi32> -> tensor<8x4xi32>
  %from = arith.addi %wss, %cc : tensor<8x4xi32>
  %ins = tt.splat %in : !tt.ptr<f32> -> tensor<8x4x!tt.ptr<f32>>
  %source = tt.addptr %ins, %from : tensor<8x4x!tt.ptr<f32>>, tensor<8x4xi32>
  %value = tt.load %source {isVolatile = true} : tensor<8x4x!tt.ptr<f32>>
  %u = tt.expand_dims %x {axis = 1 : i32} : tensor<8xi32> -> tensor<8x1xi32>
  %us = arith.muli %u, %strides : tensor<8x1xi32>
  %uss = tt.broadcast %us : tensor<8x1xi32> -> tensor<8x4xi32>
  %to = arith.addi %uss, %cc : tensor<8x4xi32>
  %sizes = tt.splat %m : i32 -> tensor<8x1xi32>
  %fits = arith.cmpi slt, %u, %sizes : tensor<8x1xi32>
  %mask = tt.broadcast %fits : tensor<8x1xi1> -> tensor<8x4xi1>
  %outs = tt.splat %out : !tt.ptr<f32> -> tensor<8x4x!tt.ptr<f32>>
  %target = tt.addptr %outs, %to : tensor<8x4x!tt.ptr<f32>>, tensor<8x4xi32>
  tt.store %target, %value, %mask : tensor<8x4x!tt.ptr<f32>>
  tt.return
}

// A store without a mask writes the wrapped lanes: they stay, silently, as no product is involved.
// CHECK-LABEL: @stored
// CHECK: arith.remsi
// CHECK-NEXT: tt.splat
// CHECK-NEXT: tt.addptr
// CHECK-NEXT: tt.load %{{[0-9]+}} : tensor<8x!tt.ptr<f32>>
tt.func public @stored(%in: !tt.ptr<f32>, %out: tensor<8x!tt.ptr<f32>>, %m: i32) {
  %r = tt.make_range {end = 8 : i32, start = 0 : i32} : tensor<8xi32>
  %size = tt.splat %m : i32 -> tensor<8xi32>
  %wrapped = arith.remsi %r, %size : tensor<8xi32>
  %ins = tt.splat %in : !tt.ptr<f32> -> tensor<8x!tt.ptr<f32>>
  %source = tt.addptr %ins, %wrapped : tensor<8x!tt.ptr<f32>>, tensor<8xi32>
  %value = tt.load %source : tensor<8x!tt.ptr<f32>>
  tt.store %out, %value : tensor<8x!tt.ptr<f32>>
  tt.return
}

// A flat index taken apart: its quotient is stored to under a mask of another bound.
// CHECK-LABEL: @other_bound
// CHECK: arith.remsi
// CHECK-NOT: arith.constant
// CHECK: tt.load %{{.*}}, %{{.*}} : tensor<8x!tt.ptr<f32>>
tt.func public @other_bound(%in: !tt.ptr<f32>, %out: !tt.ptr<f32>, %width: i32, %n: i32) {
  %r = tt.make_range {end = 8 : i32, start = 0 : i32} : tensor<8xi32>
  %size = tt.splat %width : i32 -> tensor<8xi32>
  %ns = tt.splat %n : i32 -> tensor<8xi32>
  %mask = arith.cmpi slt, %r, %ns : tensor<8xi32>
  %wrapped = arith.remsi %r, %size : tensor<8xi32>
  %ins = tt.splat %in : !tt.ptr<f32> -> tensor<8x!tt.ptr<f32>>
  %source = tt.addptr %ins, %wrapped : tensor<8x!tt.ptr<f32>>, tensor<8xi32>
  %value = tt.load %source, %mask : tensor<8x!tt.ptr<f32>>
  %outs = tt.splat %out : !tt.ptr<f32> -> tensor<8x!tt.ptr<f32>>
  %target = tt.addptr %outs, %r : tensor<8x!tt.ptr<f32>>, tensor<8xi32>
  tt.store %target, %value, %mask : tensor<8x!tt.ptr<f32>>
  tt.return
}
