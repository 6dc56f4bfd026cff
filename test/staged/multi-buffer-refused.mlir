// RUN: flagc-opt %s --target ascend:910B3 --stage staged --verify-diagnostics --passes 'multi-buffer{l1=3}'

"tt.func"() ({
^bb0(%n: i32, %a: !tt.ptr<f16>, %o: i64):
  scf.for %i = %n to %n step %n : i32 {
    // expected-remark@+1 {{3 buffers were asked for; 2 fit L1's 524288 bytes with tiles of 196608 bytes in loops}}
    %t = "staged.alloc"() {buffers = 1 : i32} : () -> !staged.tile<l1, 384x256xf16>
    "staged.nd2nz"(%a, %o, %o, %n, %n, %t) : (!tt.ptr<f16>, i64, i64, i32, i32, !staged.tile<l1, 384x256xf16>) -> ()
  }
  "tt.return"() : () -> ()
}) {sym_name = "k", function_type = (i32, !tt.ptr<f16>, i64) -> ()} : () -> ()
