// RUN: flagc-opt %s --split-input-file --verify-diagnostics --passes trim-grid
// RUN: flagc-opt %s --split-input-file --passes trim-grid | filecheck %s
// RUN: flagc-opt %s --split-input-file --passes trim-grid,drop-proven-masks | filecheck %s --check-prefix MASK

// 100 numbers are 7 tiles of 16; those of the second store end before.
// CHECK-LABEL: @two_stores
// CHECK-SAME: flagc_launch = array<i32: 1, 1, 1, 1, 1, 1, 0, 1, 0, 7, 0, 0>
tt.func public @two_stores(%x: !tt.ptr<i32>) {
  %c16 = arith.constant 16 : i32
  %pid = tt.get_program_id x : i32
  %first = arith.muli %pid, %c16 : i32
  %lanes = tt.make_range {start = 0 : i32, end = 16 : i32} : tensor<16xi32>
  %firsts = tt.splat %first : i32 -> tensor<16xi32>
  %at = arith.addi %firsts, %lanes : tensor<16xi32>
  %hundred = arith.constant dense<100> : tensor<16xi32>
  %ten = arith.constant dense<10> : tensor<16xi32>
  %in = arith.cmpi slt, %at, %hundred : tensor<16xi32>
  %few = arith.cmpi slt, %at, %ten : tensor<16xi32>
  %p = tt.splat %x : !tt.ptr<i32> -> tensor<16x!tt.ptr<i32>>
  %q = tt.addptr %p, %at : tensor<16x!tt.ptr<i32>>, tensor<16xi32>
  tt.store %q, %at, %in : tensor<16x!tt.ptr<i32>>
  tt.store %q, %lanes, %few : tensor<16x!tt.ptr<i32>>
  tt.return
}

// -----

// 6 tiles of 16 are 96 numbers.
// MASK-LABEL: @whole_tiles
// MASK: tt.store %{{[^,]*}}, %{{[^,]*}} : tensor<16x!tt.ptr<i32>>
tt.func public @whole_tiles(%x: !tt.ptr<i32>) {
  %c16 = arith.constant 16 : i32
  %pid = tt.get_program_id x : i32
  %first = arith.muli %pid, %c16 : i32
  %lanes = tt.make_range {start = 0 : i32, end = 16 : i32} : tensor<16xi32>
  %firsts = tt.splat %first : i32 -> tensor<16xi32>
  %at = arith.addi %firsts, %lanes : tensor<16xi32>
  %end = arith.constant dense<96> : tensor<16xi32>
  %in = arith.cmpi slt, %at, %end : tensor<16xi32>
  %p = tt.splat %x : !tt.ptr<i32> -> tensor<16x!tt.ptr<i32>>
  %q = tt.addptr %p, %at : tensor<16x!tt.ptr<i32>>, tensor<16xi32>
  tt.store %q, %at, %in : tensor<16x!tt.ptr<i32>>
  tt.return
}

// -----

// CHECK-LABEL: @sizes_are_arguments
// CHECK-NOT: flagc_launch
tt.func public @sizes_are_arguments(%x: !tt.ptr<i32>, %n: i32) {
  %c16 = arith.constant 16 : i32
  %pid = tt.get_program_id x : i32
  %first = arith.muli %pid, %c16 : i32
  %lanes = tt.make_range {start = 0 : i32, end = 16 : i32} : tensor<16xi32>
  %firsts = tt.splat %first : i32 -> tensor<16xi32>
  %at = arith.addi %firsts, %lanes : tensor<16xi32>
  %end = tt.splat %n : i32 -> tensor<16xi32>
  %in = arith.cmpi slt, %at, %end : tensor<16xi32>
  %p = tt.splat %x : !tt.ptr<i32> -> tensor<16x!tt.ptr<i32>>
  %q = tt.addptr %p, %at : tensor<16x!tt.ptr<i32>>, tensor<16xi32>
  // expected-remark@+1 {{no bound of this store is a number; specialise-arguments makes sizes numbers}}
  tt.store %q, %at, %in : tensor<16x!tt.ptr<i32>>
  tt.return
}

// -----

// CHECK-LABEL: @counts_programs
// CHECK-NOT: flagc_launch
tt.func public @counts_programs(%x: !tt.ptr<i32>) {
  // expected-remark@+1 {{not applied: the kernel reads the size of the grid}}
  %n = tt.get_num_programs x : i32
  tt.store %x, %n : !tt.ptr<i32>
  tt.return
}

// -----

// CHECK-LABEL: @adds_up
// CHECK-NOT: flagc_launch
tt.func public @adds_up(%x: !tt.ptr<i32>) {
  %c1 = arith.constant 1 : i32
  %true = arith.constant true
  // expected-remark@+1 {{not applied: this may write to memory whatever the tile}}
  %old = tt.atomic_rmw add, acq_rel, gpu, %x, %c1, %true : (!tt.ptr<i32>, i32, i1) -> i32
  tt.return
}
