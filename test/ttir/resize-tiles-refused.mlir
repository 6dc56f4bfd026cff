// RUN: flagc-opt %s --split-input-file --verify-diagnostics --passes resize-tiles{x=32}
// RUN: flagc-opt %s --split-input-file --passes resize-tiles{x=32} | filecheck %s

// CHECK-NOT: flagc_launch

// expected-remark@+1 {{axis x left as it is: the kernel has no such program id}}
tt.func public @no_id(%x: !tt.ptr<i32>, %v: i32) {
  tt.store %x, %v : !tt.ptr<i32>
  tt.return
}

// -----

tt.func public @id_elsewhere(%x: !tt.ptr<i32>) {
  %c16 = arith.constant 16 : i32
  %pid = tt.get_program_id x : i32
  %first = arith.muli %pid, %c16 : i32
  %lanes = tt.make_range {start = 0 : i32, end = 16 : i32} : tensor<16xi32>
  %firsts = tt.splat %first : i32 -> tensor<16xi32>
  %at = arith.addi %firsts, %lanes : tensor<16xi32>
  // expected-remark@+1 {{axis x left as it is: the program id is used otherwise than multiplied by a block}}
  tt.store %x, %pid : !tt.ptr<i32>
  %p = tt.splat %x : !tt.ptr<i32> -> tensor<16x!tt.ptr<i32>>
  %q = tt.addptr %p, %at : tensor<16x!tt.ptr<i32>>, tensor<16xi32>
  tt.store %q, %at : tensor<16x!tt.ptr<i32>>
  tt.return
}

// -----

tt.func public @start_elsewhere(%x: !tt.ptr<i32>) {
  %c16 = arith.constant 16 : i32
  %pid = tt.get_program_id x : i32
  %first = arith.muli %pid, %c16 : i32
  %lanes = tt.make_range {start = 0 : i32, end = 16 : i32} : tensor<16xi32>
  %firsts = tt.splat %first : i32 -> tensor<16xi32>
  %at = arith.addi %firsts, %lanes : tensor<16xi32>
  // expected-remark@+1 {{axis x left as it is: the tile's first index is used otherwise}}
  tt.store %x, %first : !tt.ptr<i32>
  %p = tt.splat %x : !tt.ptr<i32> -> tensor<16x!tt.ptr<i32>>
  %q = tt.addptr %p, %at : tensor<16x!tt.ptr<i32>>, tensor<16xi32>
  tt.store %q, %at : tensor<16x!tt.ptr<i32>>
  tt.return
}

// -----

tt.func public @lane_numbers(%x: !tt.ptr<i32>) {
  %c16 = arith.constant 16 : i32
  %pid = tt.get_program_id x : i32
  %first = arith.muli %pid, %c16 : i32
  %lanes = tt.make_range {start = 0 : i32, end = 16 : i32} : tensor<16xi32>
  %firsts = tt.splat %first : i32 -> tensor<16xi32>
  %at = arith.addi %firsts, %lanes : tensor<16xi32>
  // expected-remark@+1 {{axis x left as it is: lanes are numbered within the tile here}}
  %odd = arith.muli %at, %lanes : tensor<16xi32>
  %p = tt.splat %x : !tt.ptr<i32> -> tensor<16x!tt.ptr<i32>>
  %q = tt.addptr %p, %at : tensor<16x!tt.ptr<i32>>, tensor<16xi32>
  tt.store %q, %odd : tensor<16x!tt.ptr<i32>>
  tt.return
}

// -----

tt.func public @lane_constants(%x: !tt.ptr<i32>) {
  %c16 = arith.constant 16 : i32
  %c = arith.constant dense<[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]> : tensor<16xi32>
  %pid = tt.get_program_id x : i32
  %first = arith.muli %pid, %c16 : i32
  %lanes = tt.make_range {start = 0 : i32, end = 16 : i32} : tensor<16xi32>
  %firsts = tt.splat %first : i32 -> tensor<16xi32>
  %at = arith.addi %firsts, %lanes : tensor<16xi32>
  // expected-remark@+1 {{axis x left as it is: it has a constant for each lane}}
  %odd = arith.muli %at, %c : tensor<16xi32>
  %p = tt.splat %x : !tt.ptr<i32> -> tensor<16x!tt.ptr<i32>>
  %q = tt.addptr %p, %at : tensor<16x!tt.ptr<i32>>, tensor<16xi32>
  tt.store %q, %odd : tensor<16x!tt.ptr<i32>>
  tt.return
}

// -----

tt.func public @gaps(%x: !tt.ptr<i32>) {
  %c16 = arith.constant 16 : i32
  %c32 = arith.constant 32 : i32
  %pid = tt.get_program_id x : i32
  %first = arith.muli %pid, %c32 : i32
  %lanes = tt.make_range {start = 0 : i32, end = 16 : i32} : tensor<16xi32>
  // expected-remark@+1 {{axis x left as it is: the tile's first index is used otherwise}}
  %firsts = tt.splat %first : i32 -> tensor<16xi32>
  %at = arith.addi %firsts, %lanes : tensor<16xi32>
  %p = tt.splat %x : !tt.ptr<i32> -> tensor<16x!tt.ptr<i32>>
  %q = tt.addptr %p, %at : tensor<16x!tt.ptr<i32>>, tensor<16xi32>
  tt.store %q, %at : tensor<16x!tt.ptr<i32>>
  tt.return
}

// -----

tt.func public @reduced(%x: !tt.ptr<i32>) {
  %c16 = arith.constant 16 : i32
  %pid = tt.get_program_id x : i32
  %first = arith.muli %pid, %c16 : i32
  %lanes = tt.make_range {start = 0 : i32, end = 16 : i32} : tensor<16xi32>
  %firsts = tt.splat %first : i32 -> tensor<16xi32>
  %at = arith.addi %firsts, %lanes : tensor<16xi32>
  %p = tt.splat %x : !tt.ptr<i32> -> tensor<16x!tt.ptr<i32>>
  %q = tt.addptr %p, %at : tensor<16x!tt.ptr<i32>>, tensor<16xi32>
  %v = tt.load %q : tensor<16x!tt.ptr<i32>>
  // expected-remark@+1 {{axis x left as it is: the tile is reduced along it}}
  %s = "tt.reduce"(%v) <{axis = 0 : i32}> ({
  ^bb0(%a: i32, %b: i32):
    %c = arith.addi %a, %b : i32
    tt.reduce.return %c : i32
  }) : (tensor<16xi32>) -> i32
  tt.store %x, %s : !tt.ptr<i32>
  tt.return
}

// -----

tt.func public @scanned(%x: !tt.ptr<i32>) {
  %c16 = arith.constant 16 : i32
  %pid = tt.get_program_id x : i32
  %first = arith.muli %pid, %c16 : i32
  %lanes = tt.make_range {start = 0 : i32, end = 16 : i32} : tensor<16xi32>
  %firsts = tt.splat %first : i32 -> tensor<16xi32>
  %at = arith.addi %firsts, %lanes : tensor<16xi32>
  %p = tt.splat %x : !tt.ptr<i32> -> tensor<16x!tt.ptr<i32>>
  %q = tt.addptr %p, %at : tensor<16x!tt.ptr<i32>>, tensor<16xi32>
  %v = tt.load %q : tensor<16x!tt.ptr<i32>>
  // expected-remark@+1 {{axis x left as it is: it is scanned}}
  %s = "tt.scan"(%v) <{axis = 0 : i32, reverse = false}> ({
  ^bb0(%a: i32, %b: i32):
    %c = arith.addi %a, %b : i32
    tt.scan.return %c : i32
  }) : (tensor<16xi32>) -> tensor<16xi32>
  tt.store %q, %s : tensor<16x!tt.ptr<i32>>
  tt.return
}

// -----

tt.func public @counts_programs(%x: !tt.ptr<i32>, %n: i32) {
  %c16 = arith.constant 16 : i32
  %true = arith.constant true
  %pid = tt.get_program_id x : i32
  %first = arith.muli %pid, %c16 : i32
  %lanes = tt.make_range {start = 0 : i32, end = 16 : i32} : tensor<16xi32>
  %firsts = tt.splat %first : i32 -> tensor<16xi32>
  %at = arith.addi %firsts, %lanes : tensor<16xi32>
  // expected-remark@+1 {{axis x left as it is: each program does it once}}
  %o = tt.atomic_rmw add, acq_rel, gpu, %x, %n, %true : (!tt.ptr<i32>, i32, i1) -> i32
  %p = tt.splat %x : !tt.ptr<i32> -> tensor<16x!tt.ptr<i32>>
  %q = tt.addptr %p, %at : tensor<16x!tt.ptr<i32>>, tensor<16xi32>
  tt.store %q, %at : tensor<16x!tt.ptr<i32>>
  tt.return
}

// -----

tt.func public @reads_the_grid(%x: !tt.ptr<i32>) {
  %c16 = arith.constant 16 : i32
  %pid = tt.get_program_id x : i32
  %first = arith.muli %pid, %c16 : i32
  %lanes = tt.make_range {start = 0 : i32, end = 16 : i32} : tensor<16xi32>
  %firsts = tt.splat %first : i32 -> tensor<16xi32>
  %at = arith.addi %firsts, %lanes : tensor<16xi32>
  // expected-remark@+1 {{axis x left as it is: the kernel reads the size of the grid}}
  %n = tt.get_num_programs x : i32
  tt.store %x, %n : !tt.ptr<i32>
  %p = tt.splat %x : !tt.ptr<i32> -> tensor<16x!tt.ptr<i32>>
  %q = tt.addptr %p, %at : tensor<16x!tt.ptr<i32>>, tensor<16xi32>
  tt.store %q, %at : tensor<16x!tt.ptr<i32>>
  tt.return
}
