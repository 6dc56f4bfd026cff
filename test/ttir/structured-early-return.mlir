// RUN: flagc-opt %s --split-input-file --passes structured-early-return | filecheck %s
// RUN: flagc-opt %s --split-input-file --verify-diagnostics --passes structured-early-return

// CHECK-LABEL: @early
// CHECK: %[[C:.*]] = arith.cmpi sge
// CHECK: %[[NOT:.*]] = arith.xori %[[C]]
// CHECK: scf.if %[[NOT]] {
// CHECK: %[[V:.*]] = tt.load %arg0
// CHECK: scf.if {{.*}} {
// CHECK: tt.store %arg0, %[[V]]
// CHECK-NOT: cf.
// CHECK: tt.return
tt.func public @early(%p: !tt.ptr<i32> {tt.divisibility = 16 : i32}, %n: i32) {
  %pid = tt.get_program_id x : i32
  %c = arith.cmpi sge, %pid, %n : i32
  cf.cond_br %c, ^exit, ^first
^first:
  %v = tt.load %p : !tt.ptr<i32>
  %more = arith.cmpi slt, %v, %n : i32
  cf.cond_br %more, ^second, ^exit
^second:
  tt.store %p, %v : !tt.ptr<i32>
  cf.br ^exit
^exit:
  tt.return
}

// -----

// The branches meet again before the end.
// CHECK-LABEL: @meet
// CHECK: cf.cond_br
tt.func public @meet(%p: !tt.ptr<i32>, %c: i1, %n: i32) {
  cf.cond_br %c, ^one, ^two
^one:
  tt.store %p, %n : !tt.ptr<i32>
  cf.br ^join
^two:
  // expected-remark@+1 {{not applied: these branches meet again, or hand on values}}
  cf.br ^join
^join:
  tt.store %p, %n : !tt.ptr<i32>
  tt.return
}
