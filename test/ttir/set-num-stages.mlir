// RUN: flagc-opt %s --passes set-num-stages{n=4} 2>/dev/null | filecheck %s --check-prefix ALL
// RUN: flagc-opt %s --passes set-num-stages{loop=1} | filecheck %s --check-prefix SECOND
// RUN: flagc-opt %s --verify-diagnostics --passes set-num-stages{n=4}
// RUN: not flagc-opt %s --passes set-num-stages{loop=7} 2>&1 | filecheck %s --check-prefix NO-LOOP
// RUN: not flagc-opt %s --passes set-num-stages{loop=x} 2>&1 | filecheck %s --check-prefix NO-NUMBER
// RUN: not flagc-opt %s --passes set-num-stages{n=0} 2>&1 | filecheck %s --check-prefix NO-STAGE

// The outer loop and the one that only counts have nothing to pipeline.
// ALL: scf.for
// ALL: scf.for
// ALL: } {tt.num_stages = 4 : i32}
// ALL-NOT: tt.num_stages

// SECOND: } {tt.num_stages = 3 : i32}

// NO-LOOP: there is no loop 7; the kernel's loops are 0 (set-num-stages.mlir:{{[0-9]+}}), 1 (
// NO-NUMBER: loop is 'x'; it must be 'all' or a number from 0
// NO-STAGE: n is 0; a loop has at least 1 stage
tt.func public @kernel(%in: !tt.ptr<f32>, %out: !tt.ptr<f32>, %rows: i32, %n: i32) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %start = arith.constant 0.0 : f32
  // expected-remark@+1 {{not set: this loop has no load or dot of its own to pipeline}}
  scf.for %outer = %zero to %rows step %one : i32 {
    %sum = scf.for %inner = %zero to %n step %one iter_args(%acc = %start) -> (f32) : i32 {
      %at = tt.addptr %in, %inner : !tt.ptr<f32>, i32
      %value = tt.load %at : !tt.ptr<f32>
      %next = arith.addf %acc, %value : f32
      scf.yield %next : f32
    }
    tt.store %out, %sum : !tt.ptr<f32>
  }
  // expected-remark@+1 {{not set: this loop has no load or dot of its own to pipeline}}
  scf.for %outer = %zero to %rows step %one : i32 {
    tt.store %out, %start : !tt.ptr<f32>
  }
  tt.return
}
