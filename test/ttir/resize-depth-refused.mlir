// RUN: flagc-opt %s --split-input-file --verify-diagnostics --passes resize-depth{size=64}
// RUN: flagc-opt %s --split-input-file --passes resize-depth{size=64} | filecheck %s

// CHECK-NOT: tensor<64

tt.func public @other_bound(%a: !tt.ptr<f16>, %c: !tt.ptr<f32>, %k: i32, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c32 = arith.constant 32 : i32
  %zero_a = arith.constant dense<0.0> : tensor<16x32xf16>
  %one_a = arith.constant dense<1.0> : tensor<16x32xf16>
  %acc0 = arith.constant dense<0.0> : tensor<16x16xf32>
  %lanes = tt.make_range {start = 0 : i32, end = 32 : i32} : tensor<32xi32>
  %ends = tt.splat %n : i32 -> tensor<1x32xi32>
  %pa = tt.splat %a : !tt.ptr<f16> -> tensor<16x32x!tt.ptr<f16>>
  %loop = scf.for %start = %c0 to %k step %c32 iter_args(%acc = %acc0) -> (tensor<16x16xf32>) : i32 {
    %starts = tt.splat %start : i32 -> tensor<32xi32>
    %inner = arith.addi %starts, %lanes : tensor<32xi32>
    %row = tt.expand_dims %inner {axis = 0 : i32} : tensor<32xi32> -> tensor<1x32xi32>
    %in = arith.cmpi slt, %row, %ends : tensor<1x32xi32>
    %ma = tt.broadcast %in : tensor<1x32xi1> -> tensor<16x32xi1>
    %at = tt.broadcast %row : tensor<1x32xi32> -> tensor<16x32xi32>
    %q = tt.addptr %pa, %at : tensor<16x32x!tt.ptr<f16>>, tensor<16x32xi32>
    // expected-remark@+1 {{depth left as it is: it is not masked by the loop's end}}
    %left = tt.load %q, %ma, %zero_a : tensor<16x32x!tt.ptr<f16>>
    %right = tt.trans %left {order = array<i32: 1, 0>} : tensor<16x32xf16> -> tensor<32x16xf16>
    %sum = tt.dot %left, %right, %acc : tensor<16x32xf16> * tensor<32x16xf16> -> tensor<16x16xf32>
    scf.yield %sum : tensor<16x16xf32>
  }
  %pc = tt.splat %c : !tt.ptr<f32> -> tensor<16x16x!tt.ptr<f32>>
  tt.store %pc, %loop : tensor<16x16x!tt.ptr<f32>>
  tt.return
}

// -----

tt.func public @unmasked(%a: !tt.ptr<f16>, %c: !tt.ptr<f32>, %k: i32, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c32 = arith.constant 32 : i32
  %zero_a = arith.constant dense<0.0> : tensor<16x32xf16>
  %one_a = arith.constant dense<1.0> : tensor<16x32xf16>
  %acc0 = arith.constant dense<0.0> : tensor<16x16xf32>
  %lanes = tt.make_range {start = 0 : i32, end = 32 : i32} : tensor<32xi32>
  %ends = tt.splat %k : i32 -> tensor<1x32xi32>
  %pa = tt.splat %a : !tt.ptr<f16> -> tensor<16x32x!tt.ptr<f16>>
  %loop = scf.for %start = %c0 to %k step %c32 iter_args(%acc = %acc0) -> (tensor<16x16xf32>) : i32 {
    %starts = tt.splat %start : i32 -> tensor<32xi32>
    %inner = arith.addi %starts, %lanes : tensor<32xi32>
    %row = tt.expand_dims %inner {axis = 0 : i32} : tensor<32xi32> -> tensor<1x32xi32>
    %in = arith.cmpi slt, %row, %ends : tensor<1x32xi32>
    %ma = tt.broadcast %in : tensor<1x32xi1> -> tensor<16x32xi1>
    %at = tt.broadcast %row : tensor<1x32xi32> -> tensor<16x32xi32>
    %q = tt.addptr %pa, %at : tensor<16x32x!tt.ptr<f16>>, tensor<16x32xi32>
    // expected-remark@+1 {{depth left as it is: it is not masked by the loop's end}}
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

tt.func public @ones(%a: !tt.ptr<f16>, %c: !tt.ptr<f32>, %k: i32, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c32 = arith.constant 32 : i32
  %zero_a = arith.constant dense<0.0> : tensor<16x32xf16>
  %one_a = arith.constant dense<1.0> : tensor<16x32xf16>
  %acc0 = arith.constant dense<0.0> : tensor<16x16xf32>
  %lanes = tt.make_range {start = 0 : i32, end = 32 : i32} : tensor<32xi32>
  %ends = tt.splat %k : i32 -> tensor<1x32xi32>
  %pa = tt.splat %a : !tt.ptr<f16> -> tensor<16x32x!tt.ptr<f16>>
  %loop = scf.for %start = %c0 to %k step %c32 iter_args(%acc = %acc0) -> (tensor<16x16xf32>) : i32 {
    %starts = tt.splat %start : i32 -> tensor<32xi32>
    %inner = arith.addi %starts, %lanes : tensor<32xi32>
    %row = tt.expand_dims %inner {axis = 0 : i32} : tensor<32xi32> -> tensor<1x32xi32>
    %in = arith.cmpi slt, %row, %ends : tensor<1x32xi32>
    %ma = tt.broadcast %in : tensor<1x32xi1> -> tensor<16x32xi1>
    %at = tt.broadcast %row : tensor<1x32xi32> -> tensor<16x32xi32>
    %q = tt.addptr %pa, %at : tensor<16x32x!tt.ptr<f16>>, tensor<16x32xi32>
    // expected-remark@+1 {{depth left as it is: it is not zero beyond the loop's end}}
    %left = tt.load %q, %ma, %one_a : tensor<16x32x!tt.ptr<f16>>
    %right = tt.trans %left {order = array<i32: 1, 0>} : tensor<16x32xf16> -> tensor<32x16xf16>
    %sum = tt.dot %left, %right, %acc : tensor<16x32xf16> * tensor<32x16xf16> -> tensor<16x16xf32>
    scf.yield %sum : tensor<16x16xf32>
  }
  %pc = tt.splat %c : !tt.ptr<f32> -> tensor<16x16x!tt.ptr<f32>>
  tt.store %pc, %loop : tensor<16x16x!tt.ptr<f32>>
  tt.return
}

// -----

tt.func public @undefined(%a: !tt.ptr<f16>, %c: !tt.ptr<f32>, %k: i32, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c32 = arith.constant 32 : i32
  %zero_a = arith.constant dense<0.0> : tensor<16x32xf16>
  %one_a = arith.constant dense<1.0> : tensor<16x32xf16>
  %acc0 = arith.constant dense<0.0> : tensor<16x16xf32>
  %lanes = tt.make_range {start = 0 : i32, end = 32 : i32} : tensor<32xi32>
  %ends = tt.splat %k : i32 -> tensor<1x32xi32>
  %pa = tt.splat %a : !tt.ptr<f16> -> tensor<16x32x!tt.ptr<f16>>
  %loop = scf.for %start = %c0 to %k step %c32 iter_args(%acc = %acc0) -> (tensor<16x16xf32>) : i32 {
    %starts = tt.splat %start : i32 -> tensor<32xi32>
    %inner = arith.addi %starts, %lanes : tensor<32xi32>
    %row = tt.expand_dims %inner {axis = 0 : i32} : tensor<32xi32> -> tensor<1x32xi32>
    %in = arith.cmpi slt, %row, %ends : tensor<1x32xi32>
    %ma = tt.broadcast %in : tensor<1x32xi1> -> tensor<16x32xi1>
    %at = tt.broadcast %row : tensor<1x32xi32> -> tensor<16x32xi32>
    %q = tt.addptr %pa, %at : tensor<16x32x!tt.ptr<f16>>, tensor<16x32xi32>
    // expected-remark@+1 {{depth left as it is: it is not zero beyond the loop's end}}
    %left = tt.load %q, %ma : tensor<16x32x!tt.ptr<f16>>
    %right = tt.trans %left {order = array<i32: 1, 0>} : tensor<16x32xf16> -> tensor<32x16xf16>
    %sum = tt.dot %left, %right, %acc : tensor<16x32xf16> * tensor<32x16xf16> -> tensor<16x16xf32>
    scf.yield %sum : tensor<16x16xf32>
  }
  %pc = tt.splat %c : !tt.ptr<f32> -> tensor<16x16x!tt.ptr<f32>>
  tt.store %pc, %loop : tensor<16x16x!tt.ptr<f32>>
  tt.return
}

// -----

tt.func public @from_one(%a: !tt.ptr<f16>, %c: !tt.ptr<f32>, %k: i32, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c32 = arith.constant 32 : i32
  %zero_a = arith.constant dense<0.0> : tensor<16x32xf16>
  %one_a = arith.constant dense<1.0> : tensor<16x32xf16>
  %acc0 = arith.constant dense<0.0> : tensor<16x16xf32>
  %lanes = tt.make_range {start = 0 : i32, end = 32 : i32} : tensor<32xi32>
  %ends = tt.splat %k : i32 -> tensor<1x32xi32>
  %pa = tt.splat %a : !tt.ptr<f16> -> tensor<16x32x!tt.ptr<f16>>
  // expected-remark@+1 {{depth left as it is: the loop does not begin at 0, or its step is not constant}}
  %loop = scf.for %start = %c1 to %k step %c32 iter_args(%acc = %acc0) -> (tensor<16x16xf32>) : i32 {
    %starts = tt.splat %start : i32 -> tensor<32xi32>
    %inner = arith.addi %starts, %lanes : tensor<32xi32>
    %row = tt.expand_dims %inner {axis = 0 : i32} : tensor<32xi32> -> tensor<1x32xi32>
    %in = arith.cmpi slt, %row, %ends : tensor<1x32xi32>
    %ma = tt.broadcast %in : tensor<1x32xi1> -> tensor<16x32xi1>
    %at = tt.broadcast %row : tensor<1x32xi32> -> tensor<16x32xi32>
    %q = tt.addptr %pa, %at : tensor<16x32x!tt.ptr<f16>>, tensor<16x32xi32>
    %left = tt.load %q, %ma, %zero_a : tensor<16x32x!tt.ptr<f16>>
    %right = tt.trans %left {order = array<i32: 1, 0>} : tensor<16x32xf16> -> tensor<32x16xf16>
    %sum = tt.dot %left, %right, %acc : tensor<16x32xf16> * tensor<32x16xf16> -> tensor<16x16xf32>
    scf.yield %sum : tensor<16x16xf32>
  }
  %pc = tt.splat %c : !tt.ptr<f32> -> tensor<16x16x!tt.ptr<f32>>
  tt.store %pc, %loop : tensor<16x16x!tt.ptr<f32>>
  tt.return
}

// -----

tt.func public @forgets(%a: !tt.ptr<f16>, %c: !tt.ptr<f32>, %k: i32, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c32 = arith.constant 32 : i32
  %zero_a = arith.constant dense<0.0> : tensor<16x32xf16>
  %one_a = arith.constant dense<1.0> : tensor<16x32xf16>
  %acc0 = arith.constant dense<0.0> : tensor<16x16xf32>
  %lanes = tt.make_range {start = 0 : i32, end = 32 : i32} : tensor<32xi32>
  %ends = tt.splat %k : i32 -> tensor<1x32xi32>
  %pa = tt.splat %a : !tt.ptr<f16> -> tensor<16x32x!tt.ptr<f16>>
  // expected-remark@+1 {{depth left as it is: the loop carries something else than sums of products}}
  %loop = scf.for %start = %c0 to %k step %c32 iter_args(%acc = %acc0) -> (tensor<16x16xf32>) : i32 {
    %starts = tt.splat %start : i32 -> tensor<32xi32>
    %inner = arith.addi %starts, %lanes : tensor<32xi32>
    %row = tt.expand_dims %inner {axis = 0 : i32} : tensor<32xi32> -> tensor<1x32xi32>
    %in = arith.cmpi slt, %row, %ends : tensor<1x32xi32>
    %ma = tt.broadcast %in : tensor<1x32xi1> -> tensor<16x32xi1>
    %at = tt.broadcast %row : tensor<1x32xi32> -> tensor<16x32xi32>
    %q = tt.addptr %pa, %at : tensor<16x32x!tt.ptr<f16>>, tensor<16x32xi32>
    %left = tt.load %q, %ma, %zero_a : tensor<16x32x!tt.ptr<f16>>
    %right = tt.trans %left {order = array<i32: 1, 0>} : tensor<16x32xf16> -> tensor<32x16xf16>
    %sum = tt.dot %left, %right, %acc : tensor<16x32xf16> * tensor<32x16xf16> -> tensor<16x16xf32>
    scf.yield %acc : tensor<16x16xf32>
  }
  %pc = tt.splat %c : !tt.ptr<f32> -> tensor<16x16x!tt.ptr<f32>>
  tt.store %pc, %loop : tensor<16x16x!tt.ptr<f32>>
  tt.return
}

// -----

tt.func public @counts(%a: !tt.ptr<f16>, %c: !tt.ptr<f32>, %k: i32, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c32 = arith.constant 32 : i32
  %zero_a = arith.constant dense<0.0> : tensor<16x32xf16>
  %one_a = arith.constant dense<1.0> : tensor<16x32xf16>
  %acc0 = arith.constant dense<0.0> : tensor<16x16xf32>
  %lanes = tt.make_range {start = 0 : i32, end = 32 : i32} : tensor<32xi32>
  %ends = tt.splat %k : i32 -> tensor<1x32xi32>
  %pa = tt.splat %a : !tt.ptr<f16> -> tensor<16x32x!tt.ptr<f16>>
  %loop = scf.for %start = %c0 to %k step %c32 iter_args(%acc = %acc0) -> (tensor<16x16xf32>) : i32 {
    %starts = tt.splat %start : i32 -> tensor<32xi32>
    %inner = arith.addi %starts, %lanes : tensor<32xi32>
    %row = tt.expand_dims %inner {axis = 0 : i32} : tensor<32xi32> -> tensor<1x32xi32>
    %in = arith.cmpi slt, %row, %ends : tensor<1x32xi32>
    %ma = tt.broadcast %in : tensor<1x32xi1> -> tensor<16x32xi1>
    %at = tt.broadcast %row : tensor<1x32xi32> -> tensor<16x32xi32>
    %q = tt.addptr %pa, %at : tensor<16x32x!tt.ptr<f16>>, tensor<16x32xi32>
    %left = tt.load %q, %ma, %zero_a : tensor<16x32x!tt.ptr<f16>>
    // expected-remark@+1 {{depth left as it is: the loop's counter does more than number the depth}}
    %v = arith.sitofp %start : i32 to f32
    tt.store %c, %v : !tt.ptr<f32>
    %right = tt.trans %left {order = array<i32: 1, 0>} : tensor<16x32xf16> -> tensor<32x16xf16>
    %sum = tt.dot %left, %right, %acc : tensor<16x32xf16> * tensor<32x16xf16> -> tensor<16x16xf32>
    scf.yield %sum : tensor<16x16xf32>
  }
  %pc = tt.splat %c : !tt.ptr<f32> -> tensor<16x16x!tt.ptr<f32>>
  tt.store %pc, %loop : tensor<16x16x!tt.ptr<f32>>
  tt.return
}

// -----

tt.func public @writes(%a: !tt.ptr<f16>, %c: !tt.ptr<f32>, %k: i32, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c32 = arith.constant 32 : i32
  %zero_a = arith.constant dense<0.0> : tensor<16x32xf16>
  %one_a = arith.constant dense<1.0> : tensor<16x32xf16>
  %acc0 = arith.constant dense<0.0> : tensor<16x16xf32>
  %lanes = tt.make_range {start = 0 : i32, end = 32 : i32} : tensor<32xi32>
  %ends = tt.splat %k : i32 -> tensor<1x32xi32>
  %pa = tt.splat %a : !tt.ptr<f16> -> tensor<16x32x!tt.ptr<f16>>
  %loop = scf.for %start = %c0 to %k step %c32 iter_args(%acc = %acc0) -> (tensor<16x16xf32>) : i32 {
    %starts = tt.splat %start : i32 -> tensor<32xi32>
    %inner = arith.addi %starts, %lanes : tensor<32xi32>
    %row = tt.expand_dims %inner {axis = 0 : i32} : tensor<32xi32> -> tensor<1x32xi32>
    %in = arith.cmpi slt, %row, %ends : tensor<1x32xi32>
    %ma = tt.broadcast %in : tensor<1x32xi1> -> tensor<16x32xi1>
    %at = tt.broadcast %row : tensor<1x32xi32> -> tensor<16x32xi32>
    %q = tt.addptr %pa, %at : tensor<16x32x!tt.ptr<f16>>, tensor<16x32xi32>
    %left = tt.load %q, %ma, %zero_a : tensor<16x32x!tt.ptr<f16>>
    %f = arith.constant 1.0 : f32
    // expected-remark@+1 {{depth left as it is: the loop writes to memory}}
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

tt.func public @shifted(%a: !tt.ptr<f16>, %c: !tt.ptr<f32>, %k: i32, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c32 = arith.constant 32 : i32
  %zero_a = arith.constant dense<0.0> : tensor<16x32xf16>
  %one_a = arith.constant dense<1.0> : tensor<16x32xf16>
  %acc0 = arith.constant dense<0.0> : tensor<16x16xf32>
  %lanes = tt.make_range {start = 0 : i32, end = 32 : i32} : tensor<32xi32>
  %ends = tt.splat %k : i32 -> tensor<1x32xi32>
  %pa = tt.splat %a : !tt.ptr<f16> -> tensor<16x32x!tt.ptr<f16>>
  %loop = scf.for %start = %c0 to %k step %c32 iter_args(%acc = %acc0) -> (tensor<16x16xf32>) : i32 {
    %starts = tt.splat %start : i32 -> tensor<32xi32>
    %inner = arith.addi %starts, %lanes : tensor<32xi32>
    %row = tt.expand_dims %inner {axis = 0 : i32} : tensor<32xi32> -> tensor<1x32xi32>
    %in = arith.cmpi slt, %row, %ends : tensor<1x32xi32>
    %ma = tt.broadcast %in : tensor<1x32xi1> -> tensor<16x32xi1>
    %at = tt.broadcast %row : tensor<1x32xi32> -> tensor<16x32xi32>
    %q = tt.addptr %pa, %at : tensor<16x32x!tt.ptr<f16>>, tensor<16x32xi32>
    %left = tt.load %q, %ma, %zero_a : tensor<16x32x!tt.ptr<f16>>
    // expected-remark@+1 {{depth left as it is: the product's operand is not what is loaded}}
    %shifted = arith.addf %left, %one_a : tensor<16x32xf16>
    %right = tt.trans %shifted {order = array<i32: 1, 0>} : tensor<16x32xf16> -> tensor<32x16xf16>
    %sum = tt.dot %left, %right, %acc : tensor<16x32xf16> * tensor<32x16xf16> -> tensor<16x16xf32>
    scf.yield %sum : tensor<16x16xf32>
  }
  %pc = tt.splat %c : !tt.ptr<f32> -> tensor<16x16x!tt.ptr<f32>>
  tt.store %pc, %loop : tensor<16x16x!tt.ptr<f32>>
  tt.return
}

// -----

// expected-remark@unknown {{not applied: no loop has a matrix product}}
tt.func public @nothing(%x: !tt.ptr<i32>, %v: i32) {
  tt.store %x, %v : !tt.ptr<i32>
  tt.return
}
