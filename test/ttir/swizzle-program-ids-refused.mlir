// RUN: flagc-opt %s --split-input-file --verify-diagnostics --passes swizzle-program-ids
// RUN: flagc-opt %s --split-input-file --passes swizzle-program-ids | filecheck %s
// RUN: not flagc-opt %s --passes swizzle-program-ids{group-m=0} 2>&1 | filecheck %s --check-prefix ZERO

// ZERO: group-m is 0; it must be at least 1
// CHECK-NOT: tt.get_num_programs

tt.func public @grouped_already(%out: !tt.ptr<i32>, %in_group: i32, %rows: i32) {
  %pid = tt.get_program_id x : i32
  %group = arith.divsi %pid, %in_group : i32
  %place = arith.remsi %pid, %in_group : i32
  // expected-remark@+1 {{not applied: the program id is already split into groups}}
  %row = arith.remsi %place, %rows : i32
  tt.store %out, %group : !tt.ptr<i32>
  tt.store %out, %row : !tt.ptr<i32>
  tt.return
}

// -----

tt.func public @swizzled_already(%out: !tt.ptr<i32>, %in_group: i32, %width: i32) {
  %x = tt.get_program_id x : i32
  %y = tt.get_program_id y : i32
  %skip = arith.muli %x, %width : i32
  %linear = arith.addi %skip, %y : i32
  // expected-remark@+1 {{not applied: the program id is divided here}}
  %group = arith.divsi %linear, %in_group : i32
  tt.store %out, %group : !tt.ptr<i32>
  tt.return
}

// -----

tt.func public @no_tiles(%out: !tt.ptr<i32>) {
  // expected-remark@+1 {{not applied: the program id is not split into a row and a column}}
  %x = tt.get_program_id x : i32
  tt.store %out, %x : !tt.ptr<i32>
  tt.return
}

// -----

tt.func public @used_otherwise(%out: !tt.ptr<i32>, %n: i32) {
  %pid = tt.get_program_id x : i32
  %row = arith.divsi %pid, %n : i32
  %column = arith.remsi %pid, %n : i32
  tt.store %out, %row : !tt.ptr<i32>
  tt.store %out, %column : !tt.ptr<i32>
  // expected-remark@+1 {{not applied: the program id is used beyond its tile's numbers}}
  tt.store %out, %pid : !tt.ptr<i32>
  tt.return
}

// -----

// expected-remark@unknown {{not applied: the kernel does not read its program id}}
tt.func public @no_id() {
  tt.return
}
