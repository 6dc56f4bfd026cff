// RUN: flagc-opt %s --split-input-file --verify-diagnostics --passes fuse-epilogue
// RUN: flagc-opt %s --split-input-file --passes fuse-epilogue | filecheck %s

// Elements are counted: 64 columns divide into the bias's index, and the matrix is addressed by rows
// and columns. The result has the first kernel's mask; nothing is stored to %c.

// CHECK-LABEL: tt.func public @product(
// CHECK-SAME: flagc_merged = array<i32: 0, 0>
// CHECK-DAG: %[[ROWS:[0-9a-z_]+]] = tt.expand_dims %{{.*}} {axis = 1 : i32}
// CHECK-DAG: %[[COLUMNS:[0-9a-z_]+]] = tt.expand_dims %{{.*}} {axis = 0 : i32}
// CHECK: %[[MASK:[0-9a-z_]+]] = arith.andi
// CHECK: %[[BIAS:[0-9a-z_]+]] = tt.load %{{.*}} : tensor<1x32x!tt.ptr<f32>>
// CHECK: %[[WIDE:[0-9a-z_]+]] = tt.broadcast %[[BIAS]] : tensor<1x32xf32> -> tensor<16x32xf32>
// CHECK: %[[SUM:[0-9a-z_]+]] = arith.addf %{{.*}}, %[[WIDE]]
// CHECK: arith.muli %{{.*}}, %[[ROWS]]
// CHECK: tt.broadcast %[[COLUMNS]]
// CHECK: tt.store %{{.*}}, %[[SUM]], %[[MASK]] : tensor<16x32x!tt.ptr<f32>>
// CHECK-NEXT: tt.return
// CHECK-NEXT: }
// CHECK-NEXT: }
// expected-remark@+1 {{'add_bias' merged: its 32x64 numbers of type f32 stay in registers, 16384 bytes of DRAM traffic saved}}
tt.func public @product(%c: !tt.ptr<f32>, %m: i32, %n: i32, %stride: i32) {
  %value = arith.constant dense<2.0> : tensor<16x32xf32>
  %c16 = arith.constant 16 : i32
  %c32 = arith.constant 32 : i32
  %x = tt.get_program_id x : i32
  %y = tt.get_program_id y : i32
  %first_row = arith.muli %x, %c16 : i32
  %first_column = arith.muli %y, %c32 : i32
  %lanes16 = tt.make_range {start = 0 : i32, end = 16 : i32} : tensor<16xi32>
  %lanes32 = tt.make_range {start = 0 : i32, end = 32 : i32} : tensor<32xi32>
  %r0 = tt.splat %first_row : i32 -> tensor<16xi32>
  %r1 = arith.addi %r0, %lanes16 : tensor<16xi32>
  %k0 = tt.splat %first_column : i32 -> tensor<32xi32>
  %k1 = arith.addi %k0, %lanes32 : tensor<32xi32>
  %rows = tt.expand_dims %r1 {axis = 1 : i32} : tensor<16xi32> -> tensor<16x1xi32>
  %columns = tt.expand_dims %k1 {axis = 0 : i32} : tensor<32xi32> -> tensor<1x32xi32>
  %ms = tt.splat %m : i32 -> tensor<16x1xi32>
  %ns = tt.splat %n : i32 -> tensor<1x32xi32>
  %below_m = arith.cmpi slt, %rows, %ms : tensor<16x1xi32>
  %below_n = arith.cmpi slt, %columns, %ns : tensor<1x32xi32>
  %below_m2 = tt.broadcast %below_m : tensor<16x1xi1> -> tensor<16x32xi1>
  %below_n2 = tt.broadcast %below_n : tensor<1x32xi1> -> tensor<16x32xi1>
  %mask = arith.andi %below_m2, %below_n2 : tensor<16x32xi1>
  %strides = tt.splat %stride : i32 -> tensor<16x1xi32>
  %down = arith.muli %rows, %strides : tensor<16x1xi32>
  %p0 = tt.splat %c : !tt.ptr<f32> -> tensor<16x1x!tt.ptr<f32>>
  %p1 = tt.addptr %p0, %down : tensor<16x1x!tt.ptr<f32>>, tensor<16x1xi32>
  %p2 = tt.broadcast %p1 : tensor<16x1x!tt.ptr<f32>> -> tensor<16x32x!tt.ptr<f32>>
  %along = tt.broadcast %columns : tensor<1x32xi32> -> tensor<16x32xi32>
  %p3 = tt.addptr %p2, %along : tensor<16x32x!tt.ptr<f32>>, tensor<16x32xi32>
  tt.store %p3, %value, %mask : tensor<16x32x!tt.ptr<f32>>
  tt.return
}
tt.func public @add_bias(%x: !tt.ptr<f32>, %bias: !tt.ptr<f32>, %out: !tt.ptr<f32>, %count: i32, %n: i32)
    attributes {flagc_follow_up = {
      first_grid = array<i64: 2, 2, 1>, first_values = array<i64: 0, 32, 64, 64>,
      first_storages = array<i64: 0, -1, -1, -1>, first_offsets = array<i64: 0, 0, 0, 0>,
      grid = array<i64: 8, 1, 1>, values = array<i64: 0, 0, 0, 2048, 64>,
      storages = array<i64: 0, 1, 2, -1, -1>, offsets = array<i64: 0, 0, 0, 0, 0>}} {
  %c256 = arith.constant 256 : i32
  %pid = tt.get_program_id x : i32
  %first = arith.muli %pid, %c256 : i32
  %lanes = tt.make_range {start = 0 : i32, end = 256 : i32} : tensor<256xi32>
  %a0 = tt.splat %first : i32 -> tensor<256xi32>
  %at = arith.addi %a0, %lanes : tensor<256xi32>
  %counts = tt.splat %count : i32 -> tensor<256xi32>
  %mask = arith.cmpi slt, %at, %counts : tensor<256xi32>
  %xs = tt.splat %x : !tt.ptr<f32> -> tensor<256x!tt.ptr<f32>>
  %px = tt.addptr %xs, %at : tensor<256x!tt.ptr<f32>>, tensor<256xi32>
  %value = tt.load %px, %mask : tensor<256x!tt.ptr<f32>>
  %ns = tt.splat %n : i32 -> tensor<256xi32>
  %column = arith.remsi %at, %ns : tensor<256xi32>
  %bs = tt.splat %bias : !tt.ptr<f32> -> tensor<256x!tt.ptr<f32>>
  %pb = tt.addptr %bs, %column : tensor<256x!tt.ptr<f32>>, tensor<256xi32>
  %b = tt.load %pb, %mask : tensor<256x!tt.ptr<f32>>
  %sum = arith.addf %value, %b : tensor<256xf32>
  %os = tt.splat %out : !tt.ptr<f32> -> tensor<256x!tt.ptr<f32>>
  %po = tt.addptr %os, %at : tensor<256x!tt.ptr<f32>>, tensor<256xi32>
  tt.store %po, %sum, %mask : tensor<256x!tt.ptr<f32>>
  tt.return
}

// -----

// One kernel alone.

// CHECK-LABEL: @alone
// expected-remark@+1 {{not applied: no other kernel follows this one in the module}}
tt.func public @alone(%x: !tt.ptr<f32>) {
  %one = arith.constant 1.0 : f32
  tt.store %x, %one : !tt.ptr<f32>
  tt.return
}

// -----

// The first kernel stores twice; both stay.

// CHECK-LABEL: @stores_twice
// CHECK-COUNT-2: tt.store
// CHECK: tt.func public @next
tt.func public @stores_twice(%c: !tt.ptr<f32>) {
  %value = arith.constant dense<2.0> : tensor<16x16xf32>
  %p = tt.splat %c : !tt.ptr<f32> -> tensor<16x16x!tt.ptr<f32>>
  tt.store %p, %value : tensor<16x16x!tt.ptr<f32>>
  // expected-remark@+1 {{'next' not merged: the first kernel does not write its result with a single store}}
  tt.store %p, %value : tensor<16x16x!tt.ptr<f32>>
  tt.return
}
tt.func public @next(%x: !tt.ptr<f32>)
    attributes {flagc_follow_up = {
      first_grid = array<i64: 1, 1, 1>, first_values = array<i64: 0>,
      first_storages = array<i64: 0>, first_offsets = array<i64: 0>,
      grid = array<i64: 1, 1, 1>, values = array<i64: 0>,
      storages = array<i64: 0>, offsets = array<i64: 0>}} {
  tt.return
}
