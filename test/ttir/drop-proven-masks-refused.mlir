// RUN: flagc-opt %s --split-input-file --verify-diagnostics --passes drop-proven-masks

tt.func public @any_size(%p: !tt.ptr<i32>, %n: i32) {
  %lane = tt.make_range {end = 16 : i32, start = 0 : i32} : tensor<16xi32>
  %ns = tt.splat %n : i32 -> tensor<16xi32>
  %in = arith.cmpi slt, %lane, %ns : tensor<16xi32>
  %ps = tt.splat %p : !tt.ptr<i32> -> tensor<16x!tt.ptr<i32>>
  %q = tt.addptr %ps, %lane : tensor<16x!tt.ptr<i32>>, tensor<16xi32>
  // expected-remark@+1 {{it is not known that arg1 - lane(0) - 1 is at least 0}}
  tt.store %q, %lane, %in : tensor<16x!tt.ptr<i32>>
  tt.return
}

// -----

tt.func public @from_memory(%p: !tt.ptr<i32>, %flags: !tt.ptr<i1>) {
  %lane = tt.make_range {end = 16 : i32, start = 0 : i32} : tensor<16xi32>
  %fs = tt.splat %flags : !tt.ptr<i1> -> tensor<16x!tt.ptr<i1>>
  %f = tt.addptr %fs, %lane : tensor<16x!tt.ptr<i1>>, tensor<16xi32>
  %in = tt.load %f : tensor<16x!tt.ptr<i1>>
  %ps = tt.splat %p : !tt.ptr<i32> -> tensor<16x!tt.ptr<i32>>
  %q = tt.addptr %ps, %lane : tensor<16x!tt.ptr<i32>>, tensor<16xi32>
  // expected-remark@+1 {{no mask is proven to always hold; of this one, the mask is computed by 'tt.load'}}
  tt.store %q, %lane, %in : tensor<16x!tt.ptr<i32>>
  tt.return
}
