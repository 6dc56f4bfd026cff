// RUN: flagc-opt %s --passes split-welford-reduce | filecheck %s
// RUN: flagc-opt %s --verify-diagnostics --passes split-welford-reduce

// CHECK-LABEL: @flaggems
// CHECK: %[[COUNT:.*]] = "tt.reduce"(%arg2) <{axis = 1 : i32}>
// CHECK: arith.addf
// CHECK: tt.reduce.return
// CHECK: %[[MC:.*]] = arith.mulf %arg1, %arg2
// CHECK: %[[SUM:.*]] = "tt.reduce"(%[[MC]]) <{axis = 1 : i32}>
// CHECK: %[[MAX:.*]] = arith.maxnumf %[[COUNT]]
// CHECK: %[[MEAN:.*]] = arith.divf %[[SUM]], %[[MAX]] : tensor<4xf32>
// CHECK: tt.expand_dims %[[MEAN]] {axis = 1 : i32} : tensor<4xf32> -> tensor<4x1xf32>
// CHECK: %[[M2:.*]] = "tt.reduce"(%{{.*}}) <{axis = 1 : i32}>
// CHECK: tt.store %arg0, %[[MEAN]]
// CHECK: tt.store %arg0, %[[COUNT]]
// CHECK: tt.store %arg0, %[[M2]]
tt.func public @flaggems(%at: tensor<4x!tt.ptr<f32>>, %means: tensor<4x8xf32>, %counts: tensor<4x8xf32>, %m2s: tensor<4x8xf32>) {
  %one = arith.constant 1.0 : f32
  %0:3 = "tt.reduce"(%means, %counts, %m2s) <{axis = 1 : i32}> ({
  ^bb0(%m1: f32, %c1: f32, %s1: f32, %m2: f32, %c2: f32, %s2: f32):
    %count = arith.addf %c1, %c2 : f32
    %divisor = arith.maxnumf %one, %count : f32
    %a = arith.mulf %m1, %c1 : f32
    %b = arith.mulf %m2, %c2 : f32
    %ab = arith.addf %a, %b : f32
    %mean = arith.divf %ab, %divisor : f32
    %aa = arith.mulf %a, %m1 : f32
    %bb = arith.mulf %b, %m2 : f32
    %s3 = arith.addf %s1, %aa : f32
    %s4 = arith.addf %s3, %s2 : f32
    %s5 = arith.addf %s4, %bb : f32
    %cm = arith.mulf %count, %mean : f32
    %cmm = arith.mulf %cm, %mean : f32
    %s = arith.subf %s5, %cmm : f32
    tt.reduce.return %mean, %count, %s : f32, f32, f32
  }) : (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
  tt.store %at, %0#0 : tensor<4x!tt.ptr<f32>>
  tt.store %at, %0#1 : tensor<4x!tt.ptr<f32>>
  tt.store %at, %0#2 : tensor<4x!tt.ptr<f32>>
  tt.return
}

// Not divided by the count: no mean.
// CHECK-LABEL: @something_else
// CHECK: "tt.reduce"(%arg1, %arg2, %arg3)
tt.func public @something_else(%at: !tt.ptr<f32>, %a: tensor<8xf32>, %b: tensor<8xf32>, %c: tensor<8xf32>) {
  // expected-remark@+1 {{not applied: this reduction of several values does not combine (mean,}}
  %0:3 = "tt.reduce"(%a, %b, %c) <{axis = 0 : i32}> ({
  ^bb0(%m1: f32, %c1: f32, %s1: f32, %m2: f32, %c2: f32, %s2: f32):
    %m = arith.addf %m1, %m2 : f32
    %n = arith.addf %c1, %c2 : f32
    %s = arith.addf %s1, %s2 : f32
    tt.reduce.return %m, %n, %s : f32, f32, f32
  }) : (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) -> (f32, f32, f32)
  tt.store %at, %0#0 : !tt.ptr<f32>
  tt.return
}

// Reductions of one and two values stay, in silence.
// CHECK-LABEL: @two_values
// CHECK: "tt.reduce"(%arg1, %arg2)
tt.func public @two_values(%at: !tt.ptr<f32>, %a: tensor<8xf32>, %b: tensor<8xf32>) {
  %0:2 = "tt.reduce"(%a, %b) <{axis = 0 : i32}> ({
  ^bb0(%m1: f32, %c1: f32, %m2: f32, %c2: f32):
    %m = arith.addf %m1, %m2 : f32
    %n = arith.addf %c1, %c2 : f32
    tt.reduce.return %m, %n : f32, f32
  }) : (tensor<8xf32>, tensor<8xf32>) -> (f32, f32)
  tt.store %at, %0#0 : !tt.ptr<f32>
  tt.return
}
