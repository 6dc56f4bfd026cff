// RUN: flagc-opt %s --target ascend --stage staged --split-input-file --verify-diagnostics

"builtin.module"() ({
  "tt.func"() ({
    // expected-error@+1 {{a tile of i8 in l1 is made of fractals of 16x32, which 16x24 is no multiple of}}
    %t = "staged.alloc"() {buffers = 1 : i32} : () -> !staged.tile<l1, 16x24xi8>
    "tt.return"() : () -> ()
  }) {sym_name = "k", function_type = () -> ()} : () -> ()
}) : () -> ()

// -----

// Upstream ops are MLIR's to verify, in its own form as well.
"tt.func"() ({
^bb0(%n: i32):
  %a = arith.constant 1.0 : f32
  // expected-error@+1 {{'arith.addi' op operand #0 must be signless}}
  %s = "arith.addi"(%a, %a) : (f32, f32) -> f32
  "tt.return"() : () -> ()
}) {sym_name = "k", function_type = (i32) -> ()} : () -> ()

// -----

"tt.func"() ({
  // expected-error@+1 {{a pipe works in order: it needs no flag for itself}}
  "staged.set_flag"() {from = "M", to = "M", event = 0 : i32} : () -> ()
  "tt.return"() : () -> ()
}) {sym_name = "k", function_type = () -> ()} : () -> ()

// -----

"tt.func"() ({
  // expected-error@+1 {{blocks share one buffer in gm, not 1 in ub}}
  %t = "staged.alloc"() {buffers = 1 : i32, shared = true} : () -> !staged.tile<ub, 16x16xf32>
  "tt.return"() : () -> ()
}) {sym_name = "k", function_type = () -> ()} : () -> ()

// -----

"tt.func"() ({
  // expected-error@+1 {{MTE1 and FIX are pipes of the same core}}
  "staged.grid_barrier"() {from = "MTE1", to = "FIX", flag = 0 : i32} : () -> ()
  "tt.return"() : () -> ()
}) {sym_name = "k", function_type = () -> ()} : () -> ()
