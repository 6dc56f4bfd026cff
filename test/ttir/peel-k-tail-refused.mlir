// RUN: flagc-opt %s --split-input-file --verify-diagnostics --passes peel-k-tail

tt.func public @row_mask(%p: !tt.ptr<i32>, %m: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %lane = tt.make_range {end = 16 : i32, start = 0 : i32} : tensor<16xi32>
  %ms = tt.splat %m : i32 -> tensor<16xi32>
  %in = arith.cmpi slt, %lane, %ms : tensor<16xi32>
  %ps = tt.splat %p : !tt.ptr<i32> -> tensor<16x!tt.ptr<i32>>
  // expected-remark@+1 {{no mask in it has a condition that fails only in the last iterations}}
  scf.for %i = %c0 to %m step %c1 : i32 {
    tt.store %ps, %lane, %in : tensor<16x!tt.ptr<i32>>
  }
  tt.return
}

// -----

tt.func public @starts_anywhere(%p: !tt.ptr<i32>, %first: i32, %m: i32) {
  %c16 = arith.constant 16 : i32
  %lane = tt.make_range {end = 16 : i32, start = 0 : i32} : tensor<16xi32>
  %ms = tt.splat %m : i32 -> tensor<16xi32>
  %ps = tt.splat %p : !tt.ptr<i32> -> tensor<16x!tt.ptr<i32>>
  // expected-remark@+1 {{it may start below 0}}
  scf.for %i = %first to %m step %c16 : i32 {
    %is = tt.splat %i : i32 -> tensor<16xi32>
    %at = arith.addi %is, %lane : tensor<16xi32>
    %in = arith.cmpi slt, %at, %ms : tensor<16xi32>
    tt.store %ps, %lane, %in : tensor<16x!tt.ptr<i32>>
  }
  tt.return
}

// -----

tt.func public @proven(%p: !tt.ptr<i32>, %m: i32 {tt.divisibility = 16 : i32}) {
  %c0 = arith.constant 0 : i32
  %c16 = arith.constant 16 : i32
  %lane = tt.make_range {end = 16 : i32, start = 0 : i32} : tensor<16xi32>
  %ms = tt.splat %m : i32 -> tensor<16xi32>
  %ps = tt.splat %p : !tt.ptr<i32> -> tensor<16x!tt.ptr<i32>>
  // expected-remark@+1 {{its masks always hold; drop-proven-masks drops them}}
  scf.for %i = %c0 to %m step %c16 : i32 {
    %is = tt.splat %i : i32 -> tensor<16xi32>
    %at = arith.addi %is, %lane : tensor<16xi32>
    %in = arith.cmpi slt, %at, %ms : tensor<16xi32>
    tt.store %ps, %lane, %in : tensor<16x!tt.ptr<i32>>
  }
  tt.return
}
