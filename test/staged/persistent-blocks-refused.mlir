// RUN: flagc-opt %s --target ascend --stage staged --split-input-file --verify-diagnostics --passes persistent-blocks
// RUN: flagc-opt %s --target ascend --stage staged --split-input-file --passes persistent-blocks | filecheck %s

// CHECK-NOT: max_blocks
"tt.func"() ({
^bb0(%n: i32):
  %x = "tt.get_program_id"() {axis = 0 : i32} : () -> i32
  %step = "tt.get_num_programs"() {axis = 0 : i32} : () -> i32
  // expected-remark@+1 {{not applied: this loop works through tiles already, a program's each}}
  scf.for %i = %x to %n step %step : i32 {
  }
  "tt.return"() : () -> ()
}) {sym_name = "k", function_type = (i32) -> ()} : () -> ()

// -----

"tt.func"() ({
^bb0(%n: !tt.ptr<i32>, %v: i32, %t: i1):
  // expected-remark@+1 {{not applied: programs may wait for one another through this atomic}}
  %old = "tt.atomic_rmw"(%n, %v, %t) {atomic_rmw_op = 4 : i32, sem = 4 : i32, scope = 1 : i32} : (!tt.ptr<i32>, i32, i1) -> i32
  "tt.return"() : () -> ()
}) {sym_name = "k", function_type = (!tt.ptr<i32>, i32, i1) -> ()} : () -> ()
