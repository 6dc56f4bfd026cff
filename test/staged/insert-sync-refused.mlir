// RUN: flagc-opt %s --target ascend --stage staged --split-input-file --verify-diagnostics --passes insert-sync

"tt.func"() ({
  // expected-error@+1 {{the tile has no addresses yet: run plan-memory before}}
  %t = "staged.alloc"() {buffers = 1 : i32} : () -> !staged.tile<l1, 16x16xf16>
  "tt.return"() : () -> ()
}) {sym_name = "k", function_type = () -> ()} : () -> ()

// -----

"tt.func"() ({
  // expected-error@+1 {{calls are not handled}}
  "tt.call"() {callee = @other} : () -> ()
  "tt.return"() : () -> ()
}) {sym_name = "k", function_type = () -> ()} : () -> ()

// -----

// In the loop's next iteration, the part would be overwritten while it is read.
"tt.func"() ({
^bb0(%n: i32):
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %c = "staged.alloc"() {addresses = array<i64: 0>, buffers = 1 : i32} : () -> !staged.tile<l0c, 16x16xf32>
  %gm = "staged.alloc"() {addresses = array<i64: 0>, buffers = 1 : i32, shared = true} : () -> !staged.tile<gm, 16x16xf32>
  scf.for %i = %zero to %n step %one : i32 {
    // expected-error@+1 {{blocks share this tile: a grid_barrier is to stand between writing and reading}}
    "staged.spill"(%c, %gm, %n, %n, %zero) : (!staged.tile<l0c, 16x16xf32>, !staged.tile<gm, 16x16xf32>, i32, i32, i32) -> ()
    "staged.grid_barrier"() {from = "FIX", to = "AIV.MTE2", flag = 0 : i32} : () -> ()
    %sum = "staged.alloc"() {addresses = array<i64: 0>, buffers = 1 : i32} : () -> !staged.tile<ub, 16x16xf32>
    "staged.fetch"(%gm, %zero, %n, %n, %sum) : (!staged.tile<gm, 16x16xf32>, i32, i32, i32, !staged.tile<ub, 16x16xf32>) -> ()
  }
  "tt.return"() : () -> ()
}) {sym_name = "k", function_type = (i32) -> ()} : () -> ()
