// RUN: flagc-opt %s --passes count-ops 2>&1 | filecheck %s

// Equal counts are sorted by name; ops inside regions count, the module itself does not.
// CHECK: ops in ttir
// CHECK: arith.constant{{.*}}3
// CHECK-NEXT: arith.addi{{.*}}1
// CHECK-NEXT: scf.for{{.*}}1
// CHECK-NEXT: scf.yield{{.*}}1
// CHECK-NEXT: tt.func{{.*}}1
// CHECK-NEXT: tt.return{{.*}}1
// CHECK-NEXT: total{{.*}}8
tt.func public @kernel() {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %ten = arith.constant 10 : i32
  %sum = scf.for %i = %zero to %ten step %one iter_args(%acc = %zero) -> (i32) : i32 {
    %next = arith.addi %acc, %i : i32
    scf.yield %next : i32
  }
  tt.return
}
