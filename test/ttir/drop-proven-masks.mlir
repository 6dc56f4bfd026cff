// RUN: flagc-opt %s --passes drop-proven-masks | filecheck %s
// RUN: flagc-opt %s --passes 'drop-proven-masks{grid-x=4}' | filecheck %s --check-prefix GRID
// RUN: not flagc-opt %s --passes 'drop-proven-masks{grid-x=-1}' 2>&1 | filecheck %s --check-prefix WRONG
// WRONG: grid-x is -1; it must be positive

// 16 divides k, by the argument's attribute, so the last 16 lanes are inside as well.
// CHECK-LABEL: @divisible
// CHECK-NOT: arith.cmpi
// CHECK: tt.load %{{[^ ,]*}} :
// CHECK-NOT: tt.load
tt.func public @divisible(%p: !tt.ptr<f32>, %o: !tt.ptr<f32>, %k: i32 {tt.divisibility = 16 : i32}) {
  %c0 = arith.constant 0 : i32
  %c16 = arith.constant 16 : i32
  %zeros = arith.constant dense<0.0> : tensor<16xf32>
  %lane = tt.make_range {end = 16 : i32, start = 0 : i32} : tensor<16xi32>
  %ps = tt.splat %p : !tt.ptr<f32> -> tensor<16x!tt.ptr<f32>>
  %os = tt.splat %o : !tt.ptr<f32> -> tensor<16x!tt.ptr<f32>>
  %ks = tt.splat %k : i32 -> tensor<16xi32>
  %sum = scf.for %i = %c0 to %k step %c16 iter_args(%acc = %zeros) -> (tensor<16xf32>) : i32 {
    %is = tt.splat %i : i32 -> tensor<16xi32>
    %at = arith.addi %is, %lane : tensor<16xi32>
    %in = arith.cmpi slt, %at, %ks : tensor<16xi32>
    %q = tt.addptr %ps, %at : tensor<16x!tt.ptr<f32>>, tensor<16xi32>
    %v = tt.load %q, %in, %zeros : tensor<16x!tt.ptr<f32>>
    %next = arith.addf %acc, %v : tensor<16xf32>
    scf.yield %next : tensor<16xf32>
  }
  %oq = tt.addptr %os, %lane : tensor<16x!tt.ptr<f32>>, tensor<16xi32>
  tt.store %oq, %sum : tensor<16x!tt.ptr<f32>>
  tt.return
}

// 32 lanes a step: 16 is not enough, and the mask stays.
// CHECK-LABEL: @half_divisible
// CHECK: arith.cmpi slt
// CHECK: tt.load %{{.*}}, %{{.*}}, %{{.*}} :
tt.func public @half_divisible(%p: !tt.ptr<f32>, %k: i32 {tt.divisibility = 16 : i32}) {
  %c0 = arith.constant 0 : i32
  %c32 = arith.constant 32 : i32
  %zeros = arith.constant dense<0.0> : tensor<32xf32>
  %lane = tt.make_range {end = 32 : i32, start = 0 : i32} : tensor<32xi32>
  %ps = tt.splat %p : !tt.ptr<f32> -> tensor<32x!tt.ptr<f32>>
  %ks = tt.splat %k : i32 -> tensor<32xi32>
  scf.for %i = %c0 to %k step %c32 : i32 {
    %is = tt.splat %i : i32 -> tensor<32xi32>
    %at = arith.addi %is, %lane : tensor<32xi32>
    %in = arith.cmpi slt, %at, %ks : tensor<32xi32>
    %q = tt.addptr %ps, %at : tensor<32x!tt.ptr<f32>>, tensor<32xi32>
    %v = tt.load %q, %in, %zeros : tensor<32x!tt.ptr<f32>>
    tt.store %q, %v, %in : tensor<32x!tt.ptr<f32>>
  }
  tt.return
}

// 4 programs of 8 rows are all below 32. The columns' condition is another one's, and stays; so
// does what the select chooses by.
// CHECK-LABEL: @one_of_two
// CHECK: tt.store %{{.*}}, %{{.*}}, %{{.*}} :
// GRID-LABEL: @one_of_two
// GRID: %[[COLUMNS:.*]] = arith.cmpi slt, %{{.*}} : tensor<1x8xi32>
// GRID-NOT: arith.cmpi
// GRID: %[[MASK:.*]] = tt.broadcast %[[COLUMNS]] : tensor<1x8xi1> -> tensor<8x8xi1>
// GRID-NOT: arith.andi
// GRID: arith.select %[[MASK]]
// GRID: tt.store %{{.*}}, %{{.*}}, %[[MASK]]
tt.func public @one_of_two(%p: !tt.ptr<f32>, %v: tensor<8x8xf32>, %n: i32) {
  %c8 = arith.constant 8 : i32
  %sizes = arith.constant dense<32> : tensor<8x1xi32>
  %zeros = arith.constant dense<0.0> : tensor<8x8xf32>
  %pid = tt.get_program_id x : i32
  %first = arith.muli %pid, %c8 : i32
  %lane = tt.make_range {end = 8 : i32, start = 0 : i32} : tensor<8xi32>
  %firsts = tt.splat %first : i32 -> tensor<8xi32>
  %rows = arith.addi %firsts, %lane : tensor<8xi32>
  %r = tt.expand_dims %rows {axis = 1 : i32} : tensor<8xi32> -> tensor<8x1xi32>
  %c = tt.expand_dims %lane {axis = 0 : i32} : tensor<8xi32> -> tensor<1x8xi32>
  %inr = arith.cmpi slt, %r, %sizes : tensor<8x1xi32>
  %ns = tt.splat %n : i32 -> tensor<1x8xi32>
  %inc = arith.cmpi slt, %c, %ns : tensor<1x8xi32>
  %inrs = tt.broadcast %inr : tensor<8x1xi1> -> tensor<8x8xi1>
  %incs = tt.broadcast %inc : tensor<1x8xi1> -> tensor<8x8xi1>
  %mask = arith.andi %inrs, %incs : tensor<8x8xi1>
  %cs = tt.broadcast %c : tensor<1x8xi32> -> tensor<8x8xi32>
  %ps = tt.splat %p : !tt.ptr<f32> -> tensor<8x8x!tt.ptr<f32>>
  %q = tt.addptr %ps, %cs : tensor<8x8x!tt.ptr<f32>>, tensor<8x8xi32>
  %w = arith.select %mask, %v, %zeros : tensor<8x8xi1>, tensor<8x8xf32>
  tt.store %q, %w, %mask : tensor<8x8x!tt.ptr<f32>>
  tt.return
}

// The column of a swizzled tile is below the number of tiles, which 16 lanes make exactly n.
// CHECK-LABEL: @remainder
// CHECK-NOT: arith.cmpi
// CHECK: tt.store %{{[^ ,]*}}, %{{[^ ,]*}} :
tt.func public @remainder(%p: !tt.ptr<i32>, %n: i32 {tt.divisibility = 16 : i32}) {
  %c15 = arith.constant 15 : i32
  %c16 = arith.constant 16 : i32
  %pid = tt.get_program_id x : i32
  %more = arith.addi %n, %c15 : i32
  %tiles = arith.divsi %more, %c16 : i32
  %tile = arith.remsi %pid, %tiles : i32
  %first = arith.muli %tile, %c16 : i32
  %lane = tt.make_range {end = 16 : i32, start = 0 : i32} : tensor<16xi32>
  %firsts = tt.splat %first : i32 -> tensor<16xi32>
  %columns = arith.addi %firsts, %lane : tensor<16xi32>
  %ns = tt.splat %n : i32 -> tensor<16xi32>
  %in = arith.cmpi slt, %columns, %ns : tensor<16xi32>
  %ps = tt.splat %p : !tt.ptr<i32> -> tensor<16x!tt.ptr<i32>>
  %q = tt.addptr %ps, %columns : tensor<16x!tt.ptr<i32>>, tensor<16xi32>
  tt.store %q, %columns, %in : tensor<16x!tt.ptr<i32>>
  tt.return
}
