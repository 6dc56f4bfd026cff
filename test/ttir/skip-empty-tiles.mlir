// RUN: flagc-opt %s --split-input-file --verify-diagnostics --passes skip-empty-tiles
// RUN: flagc-opt %s --split-input-file --passes skip-empty-tiles | filecheck %s

// CHECK-LABEL: @masked
// CHECK: %[[LEFT:.*]] = arith.subi %{{.*}}, %{{.*}} : i32
// CHECK: %[[EMPTY:.*]] = arith.cmpi sle, %[[LEFT]]
// CHECK: %[[END:.*]] = arith.select %[[EMPTY]], %[[START:.*]], %{{.*}} : i32
// CHECK: scf.for %{{.*}} = %[[START]] to %[[END]]
tt.func public @masked(%x: !tt.ptr<i32>, %n: i32, %k: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c16 = arith.constant 16 : i32
  %pid = tt.get_program_id x : i32
  %first = arith.muli %pid, %c16 : i32
  %lanes = tt.make_range {start = 0 : i32, end = 16 : i32} : tensor<16xi32>
  %firsts = tt.splat %first : i32 -> tensor<16xi32>
  %at = arith.addi %firsts, %lanes : tensor<16xi32>
  %end = tt.splat %n : i32 -> tensor<16xi32>
  %mask = arith.cmpi slt, %at, %end : tensor<16xi32>
  %sum = scf.for %i = %c0 to %k step %c1 iter_args(%s = %at) -> (tensor<16xi32>) : i32 {
    %t = arith.addi %s, %at : tensor<16xi32>
    scf.yield %t : tensor<16xi32>
  }
  %p = tt.splat %x : !tt.ptr<i32> -> tensor<16x!tt.ptr<i32>>
  %q = tt.addptr %p, %at : tensor<16x!tt.ptr<i32>>, tensor<16xi32>
  tt.store %q, %sum, %mask : tensor<16x!tt.ptr<i32>>
  tt.return
}

// -----

// CHECK-LABEL: @unmasked
// CHECK-NOT: arith.select
tt.func public @unmasked(%x: !tt.ptr<i32>, %k: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %at = tt.make_range {start = 0 : i32, end = 16 : i32} : tensor<16xi32>
  %sum = scf.for %i = %c0 to %k step %c1 iter_args(%s = %at) -> (tensor<16xi32>) : i32 {
    %t = arith.addi %s, %at : tensor<16xi32>
    scf.yield %t : tensor<16xi32>
  }
  %p = tt.splat %x : !tt.ptr<i32> -> tensor<16x!tt.ptr<i32>>
  %q = tt.addptr %p, %at : tensor<16x!tt.ptr<i32>>, tensor<16xi32>
  // expected-remark@+1 {{not applied: this stores whole tiles: its mask has no bounds}}
  tt.store %q, %sum : tensor<16x!tt.ptr<i32>>
  tt.return
}

// -----

// CHECK-LABEL: @writes_in_the_loop
// CHECK-NOT: arith.select
tt.func public @writes_in_the_loop(%x: !tt.ptr<i32>, %k: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  scf.for %i = %c0 to %k step %c1 : i32 {
    // expected-remark@+1 {{not applied: this may write to memory whatever the tile}}
    tt.store %x, %i : !tt.ptr<i32>
  }
  tt.return
}

// -----

// CHECK-LABEL: @counts
// CHECK-NOT: arith.select
tt.func public @counts(%x: !tt.ptr<i32>, %k: i32) {
  %true = arith.constant true
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %sum = scf.for %i = %c0 to %k step %c1 iter_args(%s = %c0) -> (i32) : i32 {
    %t = arith.addi %s, %i : i32
    scf.yield %t : i32
  }
  // expected-remark@+1 {{not applied: this may write to memory whatever the tile}}
  %o = tt.atomic_rmw add, acq_rel, gpu, %x, %sum, %true : (!tt.ptr<i32>, i32, i1) -> i32
  tt.return
}

// -----

// expected-remark@+1 {{not applied: the kernel has no loop at its top level, or returns early}}
tt.func public @no_loop(%x: !tt.ptr<i32>, %v: i32) {
  tt.store %x, %v : !tt.ptr<i32>
  tt.return
}
