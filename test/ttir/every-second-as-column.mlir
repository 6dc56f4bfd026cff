// RUN: flagc-opt %s --passes every-second-as-column | filecheck %s

// CHECK-LABEL: @odd_ones
// CHECK: %[[P:.*]] = tt.expand_dims %{{.*}} {axis = 1 : i32} : tensor<8x!tt.ptr<f32>> -> tensor<8x1x!tt.ptr<f32>>
// CHECK: %[[V:.*]] = tt.expand_dims %arg1 {axis = 1 : i32} : tensor<8xf32> -> tensor<8x1xf32>
// CHECK: %[[M:.*]] = tt.expand_dims %arg2 {axis = 1 : i32} : tensor<8xi1> -> tensor<8x1xi1>
// CHECK: tt.store %[[P]], %[[V]], %[[M]] : tensor<8x1x!tt.ptr<f32>>
tt.func public @odd_ones(%out: !tt.ptr<f32>, %v: tensor<8xf32>, %m: tensor<8xi1>, %start: i32) {
  %one = arith.constant dense<1> : tensor<8xi32>
  %two = arith.constant dense<2> : tensor<8xi32>
  %r = tt.make_range {end = 8 : i32, start = 0 : i32} : tensor<8xi32>
  %s = tt.splat %start : i32 -> tensor<8xi32>
  %x = arith.addi %s, %r : tensor<8xi32>
  %x2 = arith.muli %x, %two : tensor<8xi32>
  %odd = arith.addi %x2, %one : tensor<8xi32>
  %outs = tt.splat %out : !tt.ptr<f32> -> tensor<8x!tt.ptr<f32>>
  %at = tt.addptr %outs, %odd : tensor<8x!tt.ptr<f32>>, tensor<8xi32>
  tt.store %at, %v, %m : tensor<8x!tt.ptr<f32>>
  tt.return
}

// No mask; every element; a stride that is not known; every third one.
// CHECK-LABEL: @others
// CHECK-NOT: tt.expand_dims
tt.func public @others(%out: !tt.ptr<f32>, %v: tensor<8xf32>, %m: tensor<8xi1>, %stride: i32) {
  %two = arith.constant dense<2> : tensor<8xi32>
  %three = arith.constant dense<3> : tensor<8xi32>
  %strides = tt.splat %stride : i32 -> tensor<8xi32>
  %r = tt.make_range {end = 8 : i32, start = 0 : i32} : tensor<8xi32>
  %r2 = arith.muli %r, %two : tensor<8xi32>
  %r3 = arith.muli %three, %r : tensor<8xi32>
  %rs = arith.muli %r, %strides : tensor<8xi32>
  %outs = tt.splat %out : !tt.ptr<f32> -> tensor<8x!tt.ptr<f32>>
  %0 = tt.addptr %outs, %r2 : tensor<8x!tt.ptr<f32>>, tensor<8xi32>
  %1 = tt.addptr %outs, %r : tensor<8x!tt.ptr<f32>>, tensor<8xi32>
  %2 = tt.addptr %outs, %r3 : tensor<8x!tt.ptr<f32>>, tensor<8xi32>
  %3 = tt.addptr %outs, %rs : tensor<8x!tt.ptr<f32>>, tensor<8xi32>
  tt.store %0, %v : tensor<8x!tt.ptr<f32>>
  tt.store %1, %v, %m : tensor<8x!tt.ptr<f32>>
  tt.store %2, %v, %m : tensor<8x!tt.ptr<f32>>
  tt.store %3, %v, %m : tensor<8x!tt.ptr<f32>>
  tt.return
}
