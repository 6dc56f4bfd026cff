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
