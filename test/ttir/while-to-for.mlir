// RUN: flagc-opt %s --passes while-to-for | filecheck %s

// CHECK-LABEL: @counted
// CHECK: arith.constant 4 : i32
// CHECK: %[[SUM:.*]] = scf.for %[[I:.*]] = %arg1 to %arg2 step %{{.*}} iter_args(%[[S:.*]] = %{{.*}}) -> (i32)
// CHECK: %[[N:.*]] = arith.addi %[[S]], %[[I]]
// CHECK: scf.yield %[[N]] : i32
// CHECK: arith.divsi
// CHECK: tt.store %arg0, %[[SUM]]
// CHECK-NOT: scf.while
tt.func public @counted(%at: !tt.ptr<i32>, %start: i32, %n: i32) {
  %zero = arith.constant 0 : i32
  %four = arith.constant 4 : i32
  %end:2 = scf.while (%sum = %zero, %i = %start) : (i32, i32) -> (i32, i32) {
    %c = arith.cmpi slt, %i, %n : i32
    scf.condition(%c) %sum, %i : i32, i32
  } do {
  ^bb0(%sum: i32, %i: i32):
    %more = arith.addi %sum, %i : i32
    %next = arith.addi %i, %four : i32
    scf.yield %more, %next : i32, i32
  }
  tt.store %at, %end#0 : !tt.ptr<i32>
  tt.store %at, %end#1 : !tt.ptr<i32>
  tt.return
}

// Waits for memory to change.
// CHECK-LABEL: @waits
// CHECK: scf.while
tt.func public @waits(%at: !tt.ptr<i32>, %n: i32) {
  %zero = arith.constant 0 : i32
  %v = scf.while (%i = %zero) : (i32) -> i32 {
    %c = arith.cmpi slt, %i, %n : i32
    scf.condition(%c) %i : i32
  } do {
  ^bb0(%i: i32):
    %seen = tt.load %at {isVolatile = true} : !tt.ptr<i32>
    scf.yield %seen : i32
  }
  tt.store %at, %v : !tt.ptr<i32>
  tt.return
}

// The end moves, or the step is not known.
// CHECK-LABEL: @moving
// CHECK: scf.while
// CHECK: scf.while
tt.func public @moving(%at: !tt.ptr<i32>, %n: i32, %step: i32) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %v:2 = scf.while (%i = %zero, %e = %n) : (i32, i32) -> (i32, i32) {
    %c = arith.cmpi slt, %i, %e : i32
    scf.condition(%c) %i, %e : i32, i32
  } do {
  ^bb0(%i: i32, %e: i32):
    %next = arith.addi %i, %one : i32
    %less = arith.divsi %e, %step : i32
    scf.yield %next, %less : i32, i32
  }
  %w = scf.while (%i = %zero) : (i32) -> i32 {
    %c = arith.cmpi slt, %i, %n : i32
    scf.condition(%c) %i : i32
  } do {
  ^bb0(%i: i32):
    %next = arith.addi %i, %step : i32
    scf.yield %next : i32
  }
  tt.store %at, %v#0 : !tt.ptr<i32>
  tt.store %at, %w : !tt.ptr<i32>
  tt.return
}
