// RUN: flagc-opt %s --split-input-file --verify-diagnostics --passes split-k{ways=3}
// RUN: flagc-opt %s --split-input-file --passes split-k{ways=3} | filecheck %s

// CHECK-NOT: tt.atomic_rmw
// CHECK-NOT: flagc_launch

tt.func public @from_one(%a: !tt.ptr<f16>, %c: !tt.ptr<f32>, %k: i32) {
  %c0 = arith.constant 0 : i32
  %c32 = arith.constant 32 : i32
  %acc0 = arith.constant dense<0.0> : tensor<16x16xf32>
  %acc1 = arith.constant dense<1.0> : tensor<16x16xf32>
  %pa = tt.splat %a : !tt.ptr<f16> -> tensor<16x32x!tt.ptr<f16>>
  // expected-remark@+1 {{not applied: its sums are no f32, or do not begin at zero}}
  %loop = scf.for %start = %c0 to %k step %c32 iter_args(%acc = %acc1) -> (tensor<16x16xf32>) : i32 {
    %starts = tt.splat %start : i32 -> tensor<16x32xi32>
    %q = tt.addptr %pa, %starts : tensor<16x32x!tt.ptr<f16>>, tensor<16x32xi32>
    %left = tt.load %q : tensor<16x32x!tt.ptr<f16>>
    %right = tt.trans %left {order = array<i32: 1, 0>} : tensor<16x32xf16> -> tensor<32x16xf16>
    %sum = tt.dot %left, %right, %acc : tensor<16x32xf16> * tensor<32x16xf16> -> tensor<16x16xf32>
    scf.yield %sum : tensor<16x16xf32>
  }
  %pc = tt.splat %c : !tt.ptr<f32> -> tensor<16x16x!tt.ptr<f32>>
  tt.store %pc, %loop : tensor<16x16x!tt.ptr<f32>>
  tt.return
}

// -----

tt.func public @forgets(%a: !tt.ptr<f16>, %c: !tt.ptr<f32>, %k: i32) {
  %c0 = arith.constant 0 : i32
  %c32 = arith.constant 32 : i32
  %acc0 = arith.constant dense<0.0> : tensor<16x16xf32>
  %acc1 = arith.constant dense<1.0> : tensor<16x16xf32>
  %pa = tt.splat %a : !tt.ptr<f16> -> tensor<16x32x!tt.ptr<f16>>
  // expected-remark@+1 {{not applied: the loop carries something else than sums of products}}
  %loop = scf.for %start = %c0 to %k step %c32 iter_args(%acc = %acc0) -> (tensor<16x16xf32>) : i32 {
    %starts = tt.splat %start : i32 -> tensor<16x32xi32>
    %q = tt.addptr %pa, %starts : tensor<16x32x!tt.ptr<f16>>, tensor<16x32xi32>
    %left = tt.load %q : tensor<16x32x!tt.ptr<f16>>
    %right = tt.trans %left {order = array<i32: 1, 0>} : tensor<16x32xf16> -> tensor<32x16xf16>
    %sum = tt.dot %left, %right, %acc : tensor<16x32xf16> * tensor<32x16xf16> -> tensor<16x16xf32>
    scf.yield %acc : tensor<16x16xf32>
  }
  %pc = tt.splat %c : !tt.ptr<f32> -> tensor<16x16x!tt.ptr<f32>>
  tt.store %pc, %loop : tensor<16x16x!tt.ptr<f32>>
  tt.return
}

// -----

tt.func public @writes(%a: !tt.ptr<f16>, %c: !tt.ptr<f32>, %k: i32) {
  %c0 = arith.constant 0 : i32
  %c32 = arith.constant 32 : i32
  %acc0 = arith.constant dense<0.0> : tensor<16x16xf32>
  %acc1 = arith.constant dense<1.0> : tensor<16x16xf32>
  %pa = tt.splat %a : !tt.ptr<f16> -> tensor<16x32x!tt.ptr<f16>>
  %loop = scf.for %start = %c0 to %k step %c32 iter_args(%acc = %acc0) -> (tensor<16x16xf32>) : i32 {
    %starts = tt.splat %start : i32 -> tensor<16x32xi32>
    %q = tt.addptr %pa, %starts : tensor<16x32x!tt.ptr<f16>>, tensor<16x32xi32>
    %left = tt.load %q : tensor<16x32x!tt.ptr<f16>>
    %f = arith.constant 1.0 : f32
    // expected-remark@+1 {{not applied: the loop writes to memory}}
    tt.store %c, %f : !tt.ptr<f32>
    %right = tt.trans %left {order = array<i32: 1, 0>} : tensor<16x32xf16> -> tensor<32x16xf16>
    %sum = tt.dot %left, %right, %acc : tensor<16x32xf16> * tensor<32x16xf16> -> tensor<16x16xf32>
    scf.yield %sum : tensor<16x16xf32>
  }
  %pc = tt.splat %c : !tt.ptr<f32> -> tensor<16x16x!tt.ptr<f32>>
  tt.store %pc, %loop : tensor<16x16x!tt.ptr<f32>>
  tt.return
}

// -----

tt.func public @writes_before(%a: !tt.ptr<f16>, %c: !tt.ptr<f32>, %k: i32) {
  %c0 = arith.constant 0 : i32
  %c32 = arith.constant 32 : i32
  %acc0 = arith.constant dense<0.0> : tensor<16x16xf32>
  %acc1 = arith.constant dense<1.0> : tensor<16x16xf32>
  %pa = tt.splat %a : !tt.ptr<f16> -> tensor<16x32x!tt.ptr<f16>>
  %f = arith.constant 1.0 : f32
  // expected-remark@+1 {{not applied: memory is written before the loop}}
  tt.store %c, %f : !tt.ptr<f32>
  %loop = scf.for %start = %c0 to %k step %c32 iter_args(%acc = %acc0) -> (tensor<16x16xf32>) : i32 {
    %starts = tt.splat %start : i32 -> tensor<16x32xi32>
    %q = tt.addptr %pa, %starts : tensor<16x32x!tt.ptr<f16>>, tensor<16x32xi32>
    %left = tt.load %q : tensor<16x32x!tt.ptr<f16>>
    %right = tt.trans %left {order = array<i32: 1, 0>} : tensor<16x32xf16> -> tensor<32x16xf16>
    %sum = tt.dot %left, %right, %acc : tensor<16x32xf16> * tensor<32x16xf16> -> tensor<16x16xf32>
    scf.yield %sum : tensor<16x16xf32>
  }
  %pc = tt.splat %c : !tt.ptr<f32> -> tensor<16x16x!tt.ptr<f32>>
  tt.store %pc, %loop : tensor<16x16x!tt.ptr<f32>>
  tt.return
}

// -----

// expected-remark@+1 {{not applied: it has 0 loops with matrix products at its top level}}
tt.func public @nothing(%x: !tt.ptr<i32>, %v: i32) {
  tt.store %x, %v : !tt.ptr<i32>
  tt.return
}

// -----

tt.func public @early(%out: !tt.ptr<i32>, %done: i1, %v: i32) {
  // expected-remark@+1 {{not applied: the kernel returns early; structured-early-return makes it one block}}
  cf.cond_br %done, ^end, ^rest
^rest:
  tt.store %out, %v : !tt.ptr<i32>
  cf.br ^end
^end:
  tt.return
}
