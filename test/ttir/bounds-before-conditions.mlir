// RUN: flagc-opt %s --passes bounds-before-conditions | filecheck %s

// The bound goes to memory, the condition to the values.
// CHECK-LABEL: @one_dimension
// CHECK: %[[INSIDE:.*]] = arith.cmpi slt
// CHECK: %[[CHOSEN:.*]] = arith.cmpi ne
// CHECK-NOT: arith.andi
// CHECK: %[[LOADED:.*]] = tt.load %{{.*}}, %[[INSIDE]], %arg4 :
// CHECK: %[[VALUE:.*]] = arith.select %[[CHOSEN]], %[[LOADED]], %arg4
// CHECK: %[[HELD:.*]] = tt.load %{{.*}}, %[[INSIDE]] :
// CHECK: %[[STORED:.*]] = arith.select %[[CHOSEN]], %[[VALUE]], %[[HELD]]
// CHECK: tt.store %{{.*}}, %[[STORED]], %[[INSIDE]] :
tt.func public @one_dimension(%x: !tt.ptr<f32>, %y: !tt.ptr<f32>, %n: i32, %set: tensor<8xi8>, %other: tensor<8xf32>) {
  %zero = arith.constant dense<0> : tensor<8xi8>
  %i = tt.make_range {end = 8 : i32, start = 0 : i32} : tensor<8xi32>
  %end = tt.splat %n : i32 -> tensor<8xi32>
  %inside = arith.cmpi slt, %i, %end : tensor<8xi32>
  %chosen = arith.cmpi ne, %set, %zero : tensor<8xi8>
  %mask = arith.andi %inside, %chosen : tensor<8xi1>
  %from = tt.splat %x : !tt.ptr<f32> -> tensor<8x!tt.ptr<f32>>
  %to = tt.splat %y : !tt.ptr<f32> -> tensor<8x!tt.ptr<f32>>
  %source = tt.addptr %from, %i : tensor<8x!tt.ptr<f32>>, tensor<8xi32>
  %target = tt.addptr %to, %i : tensor<8x!tt.ptr<f32>>, tensor<8xi32>
  %value = tt.load %source, %mask, %other : tensor<8x!tt.ptr<f32>>
  tt.store %target, %value, %mask : tensor<8x!tt.ptr<f32>>
  tt.return
}

// A conjunction below a broadcast is taken apart too.
// CHECK-LABEL: @below_a_broadcast
// CHECK: %[[INSIDE:.*]] = arith.cmpi slt
// CHECK: %[[CHOSEN:.*]] = arith.cmpi ne
// CHECK: %[[WIDE:.*]] = tt.broadcast %[[INSIDE]]
// CHECK: %[[CONDITION:.*]] = tt.broadcast %[[CHOSEN]]
// CHECK: tt.load %{{.*}}, %[[WIDE]] :
// CHECK: arith.select %[[CONDITION]]
// CHECK: tt.store %{{.*}}, %[[WIDE]] :
tt.func public @below_a_broadcast(%y: !tt.ptr<f32>, %n: i32, %set: tensor<1x8xi8>, %value: tensor<4x8xf32>) {
  %zero = arith.constant dense<0> : tensor<1x8xi8>
  %i = tt.make_range {end = 8 : i32, start = 0 : i32} : tensor<8xi32>
  %row = tt.expand_dims %i {axis = 0 : i32} : tensor<8xi32> -> tensor<1x8xi32>
  %end = tt.splat %n : i32 -> tensor<1x8xi32>
  %inside = arith.cmpi slt, %row, %end : tensor<1x8xi32>
  %chosen = arith.cmpi ne, %set, %zero : tensor<1x8xi8>
  %both = arith.andi %inside, %chosen : tensor<1x8xi1>
  %mask = tt.broadcast %both : tensor<1x8xi1> -> tensor<4x8xi1>
  %place = tt.broadcast %row : tensor<1x8xi32> -> tensor<4x8xi32>
  %to = tt.splat %y : !tt.ptr<f32> -> tensor<4x8x!tt.ptr<f32>>
  %target = tt.addptr %to, %place : tensor<4x8x!tt.ptr<f32>>, tensor<4x8xi32>
  tt.store %target, %value, %mask : tensor<4x8x!tt.ptr<f32>>
  tt.return
}

// Only bounds, only a condition, volatile: nothing to split.
// CHECK-LABEL: @stay
// CHECK: tt.load %{{.*}}, %[[BOUND:.*]], %arg4 : tensor
// CHECK: tt.load %{{.*}}, %{{.*}}, %arg4 {isVolatile = true}
// CHECK-NOT: arith.select
// CHECK: tt.store %{{.*}}, %{{.*}}, %[[BOUND]] :
// CHECK: tt.store %{{.*}}, %{{.*}}, %arg3 :
tt.func public @stay(%x: !tt.ptr<f32>, %y: !tt.ptr<f32>, %n: i32, %chosen: tensor<8xi1>, %other: tensor<8xf32>) {
  %i = tt.make_range {end = 8 : i32, start = 0 : i32} : tensor<8xi32>
  %end = tt.splat %n : i32 -> tensor<8xi32>
  %inside = arith.cmpi slt, %i, %end : tensor<8xi32>
  %mask = arith.andi %inside, %chosen : tensor<8xi1>
  %from = tt.splat %x : !tt.ptr<f32> -> tensor<8x!tt.ptr<f32>>
  %to = tt.splat %y : !tt.ptr<f32> -> tensor<8x!tt.ptr<f32>>
  %source = tt.addptr %from, %i : tensor<8x!tt.ptr<f32>>, tensor<8xi32>
  %target = tt.addptr %to, %i : tensor<8x!tt.ptr<f32>>, tensor<8xi32>
  %0 = tt.load %source, %inside, %other : tensor<8x!tt.ptr<f32>>
  %1 = tt.load %source, %mask, %other {isVolatile = true} : tensor<8x!tt.ptr<f32>>
  tt.store %target, %0, %inside : tensor<8x!tt.ptr<f32>>
  tt.store %target, %1, %chosen : tensor<8x!tt.ptr<f32>>
  tt.return
}
