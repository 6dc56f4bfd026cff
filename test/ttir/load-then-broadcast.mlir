// RUN: flagc-opt %s --passes load-then-broadcast | filecheck %s
// RUN: flagc-opt %s --verify-diagnostics --passes load-then-broadcast

// CHECK-LABEL: @broadcast
// CHECK: %[[SMALL:.*]] = tt.load %arg0, %arg1, %{{.*}} : tensor<1x8x!tt.ptr<f32>>
// CHECK-NEXT: %[[TILE:.*]] = tt.broadcast %[[SMALL]] : tensor<1x8xf32> -> tensor<4x8xf32>
// CHECK-NEXT: %[[VALUE:.*]] = arith.select %{{.*}}, %[[TILE]], %arg2
// CHECK: tt.store %arg3, %[[VALUE]]
tt.func public @broadcast(%p: tensor<1x8x!tt.ptr<f32>>, %m: tensor<1x8xi1>, %other: tensor<4x8xf32>, %out: tensor<4x8x!tt.ptr<f32>>) {
  %ps = tt.broadcast %p : tensor<1x8x!tt.ptr<f32>> -> tensor<4x8x!tt.ptr<f32>>
  %ms = tt.broadcast %m : tensor<1x8xi1> -> tensor<4x8xi1>
  %v = tt.load %ps, %ms, %other : tensor<4x8x!tt.ptr<f32>>
  tt.store %out, %v : tensor<4x8x!tt.ptr<f32>>
  tt.return
}

// The same address by way of offsets; rows that are masked off: loaded if any row is not.
// CHECK-LABEL: @rows_masked_off
// CHECK: %[[ANY:.*]] = "tt.reduce"
// CHECK: arith.maxsi
// CHECK: %[[IS:.*]] = arith.cmpi ne, %[[ANY]]
// CHECK: scf.if %[[IS]] -> (tensor<1x8xf32>)
// CHECK-NEXT: tt.load %{{.*}}, %arg2, %{{.*}} : tensor<1x8x!tt.ptr<f32>>
tt.func public @rows_masked_off(%p: !tt.ptr<f32>, %rows: tensor<4x1xi1>, %columns: tensor<1x8xi1>, %out: tensor<4x8x!tt.ptr<f32>>) {
  %r = tt.make_range {end = 8 : i32, start = 0 : i32} : tensor<8xi32>
  %e = tt.expand_dims %r {axis = 0 : i32} : tensor<8xi32> -> tensor<1x8xi32>
  %b = tt.broadcast %e : tensor<1x8xi32> -> tensor<4x8xi32>
  %ps = tt.splat %p : !tt.ptr<f32> -> tensor<4x8x!tt.ptr<f32>>
  %at = tt.addptr %ps, %b : tensor<4x8x!tt.ptr<f32>>, tensor<4x8xi32>
  %rs = tt.broadcast %rows : tensor<4x1xi1> -> tensor<4x8xi1>
  %cs = tt.broadcast %columns : tensor<1x8xi1> -> tensor<4x8xi1>
  %m = arith.andi %rs, %cs : tensor<4x8xi1>
  %v = tt.load %at, %m : tensor<4x8x!tt.ptr<f32>>
  tt.store %out, %v : tensor<4x8x!tt.ptr<f32>>
  tt.return
}

// Addresses that differ in both dimensions, a mask that depends on both at once, a volatile load.
// CHECK-LABEL: @others
// CHECK: tt.load %arg0 : tensor<4x8x!tt.ptr<f32>>
// CHECK: tt.load %{{.*}}, %arg2 : tensor<4x8x!tt.ptr<f32>>
// CHECK: tt.load %{{.*}} {isVolatile = true} : tensor<4x8x!tt.ptr<f32>>
tt.func public @others(%at: tensor<4x8x!tt.ptr<f32>>, %p: tensor<1x8x!tt.ptr<f32>>, %m: tensor<4x8xi1>) {
  %0 = tt.load %at : tensor<4x8x!tt.ptr<f32>>
  %ps = tt.broadcast %p : tensor<1x8x!tt.ptr<f32>> -> tensor<4x8x!tt.ptr<f32>>
  // expected-remark@+1 {{not applied: the mask depends on the dimension along which the address}}
  %1 = tt.load %ps, %m : tensor<4x8x!tt.ptr<f32>>
  %2 = tt.load %ps {isVolatile = true} : tensor<4x8x!tt.ptr<f32>>
  tt.store %at, %0 : tensor<4x8x!tt.ptr<f32>>
  tt.store %at, %1 : tensor<4x8x!tt.ptr<f32>>
  tt.store %at, %2 : tensor<4x8x!tt.ptr<f32>>
  tt.return
}
