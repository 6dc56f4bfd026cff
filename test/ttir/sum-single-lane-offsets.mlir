// RUN: flagc-opt %s --passes sum-single-lane-offsets | filecheck %s

// CHECK-LABEL: @indexed
// CHECK: %[[O:.*]] = tt.splat %arg1 : i64 -> tensor<1xi64>
// CHECK: %[[P:.*]] = tt.splat %arg0 : !tt.ptr<f32> -> tensor<1x!tt.ptr<f32>>
// CHECK: %[[W:.*]] = arith.extsi %arg2 : tensor<1xi32> to tensor<1xi64>
// CHECK: %[[S:.*]] = arith.addi %[[O]], %[[W]] : tensor<1xi64>
// CHECK: tt.addptr %[[P]], %[[S]] : tensor<1x!tt.ptr<f32>>, tensor<1xi64>
tt.func public @indexed(%x: !tt.ptr<f32>, %row: i64, %index: tensor<1xi32>) -> tensor<1xf32> {
  %at = tt.addptr %x, %row : !tt.ptr<f32>, i64
  %ats = tt.splat %at : !tt.ptr<f32> -> tensor<1x!tt.ptr<f32>>
  %p = tt.addptr %ats, %index : tensor<1x!tt.ptr<f32>>, tensor<1xi32>
  %v = tt.load %p : tensor<1x!tt.ptr<f32>>
  tt.return %v : tensor<1xf32>
}

// The adapter has no trouble with two elements, nor with one offset.
// CHECK-LABEL: @others
// CHECK-NOT: arith
tt.func public @others(%x: !tt.ptr<f32>, %row: i64, %pair: tensor<2xi64>, %one: tensor<1xi64>) {
  %at = tt.addptr %x, %row : !tt.ptr<f32>, i64
  %ats = tt.splat %at : !tt.ptr<f32> -> tensor<2x!tt.ptr<f32>>
  %p = tt.addptr %ats, %pair : tensor<2x!tt.ptr<f32>>, tensor<2xi64>
  %xs = tt.splat %x : !tt.ptr<f32> -> tensor<1x!tt.ptr<f32>>
  %q = tt.addptr %xs, %one : tensor<1x!tt.ptr<f32>>, tensor<1xi64>
  %v = tt.load %p : tensor<2x!tt.ptr<f32>>
  %w = tt.load %q : tensor<1x!tt.ptr<f32>>
  tt.store %p, %v : tensor<2x!tt.ptr<f32>>
  tt.store %q, %w : tensor<1x!tt.ptr<f32>>
  tt.return
}
