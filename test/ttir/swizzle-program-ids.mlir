// RUN: flagc-opt %s --split-input-file --passes swizzle-program-ids{group-m=4} | filecheck %s

// Axis 0 numbers the rows of tiles: it ends as offsets[:, None].
// CHECK-LABEL: @two_axes
// CHECK-DAG: %[[X:.*]] = tt.get_program_id x
// CHECK-DAG: %[[Y:.*]] = tt.get_program_id y
// CHECK-DAG: %[[NX:.*]] = tt.get_num_programs x
// CHECK-DAG: %[[NY:.*]] = tt.get_num_programs y
// CHECK: %[[SKIP:.*]] = arith.muli %[[Y]], %[[NX]]
// CHECK: %[[LINEAR:.*]] = arith.addi %[[X]], %[[SKIP]]
// CHECK: %[[GROUP:.*]] = arith.constant 4 : i32
// CHECK: arith.muli %[[GROUP]], %[[NY]]
// CHECK: arith.subi %[[NX]]
// CHECK: arith.minsi
// CHECK: %[[ROW:.*]] = arith.addi %{{.*}}, %{{.*}}
// CHECK: %[[COLUMN:.*]] = arith.divsi
// CHECK: tt.splat %[[ROW]]
// CHECK: tt.splat %[[COLUMN]]
tt.func public @two_axes(%out: !tt.ptr<i32>) {
  %x = tt.get_program_id x : i32
  %y = tt.get_program_id y : i32
  %rows = tt.splat %x : i32 -> tensor<8xi32>
  %columns = tt.splat %y : i32 -> tensor<8xi32>
  %rows_2d = tt.expand_dims %rows {axis = 1 : i32} : tensor<8xi32> -> tensor<8x1xi32>
  %columns_2d = tt.expand_dims %columns {axis = 0 : i32} : tensor<8xi32> -> tensor<1x8xi32>
  %rows_all = tt.broadcast %rows_2d : tensor<8x1xi32> -> tensor<8x8xi32>
  %columns_all = tt.broadcast %columns_2d : tensor<1x8xi32> -> tensor<8x8xi32>
  %offsets = arith.addi %rows_all, %columns_all : tensor<8x8xi32>
  %base = tt.splat %out : !tt.ptr<i32> -> tensor<8x8x!tt.ptr<i32>>
  %at = tt.addptr %base, %offsets : tensor<8x8x!tt.ptr<i32>>, tensor<8x8xi32>
  tt.store %at, %offsets : tensor<8x8x!tt.ptr<i32>>
  tt.return
}

// -----

// Here axis 1 numbers the rows: groups are rows of axis 1.
// CHECK-LABEL: @rows_on_axis_1
// CHECK-DAG: %[[NX:.*]] = tt.get_num_programs x
// CHECK-DAG: %[[NY:.*]] = tt.get_num_programs y
// CHECK: %[[GROUP:.*]] = arith.constant 4 : i32
// CHECK: arith.muli %[[GROUP]], %[[NX]]
// CHECK: arith.subi %[[NY]]
// CHECK: %[[ROW:.*]] = arith.addi %{{.*}}, %{{.*}}
// CHECK: %[[COLUMN:.*]] = arith.divsi
// CHECK: tt.splat %[[COLUMN]]
// CHECK: tt.splat %[[ROW]]
tt.func public @rows_on_axis_1(%out: !tt.ptr<i32>) {
  %x = tt.get_program_id x : i32
  %y = tt.get_program_id y : i32
  %columns = tt.splat %x : i32 -> tensor<8xi32>
  %rows = tt.splat %y : i32 -> tensor<8xi32>
  %rows_2d = tt.expand_dims %rows {axis = 1 : i32} : tensor<8xi32> -> tensor<8x1xi32>
  %columns_2d = tt.expand_dims %columns {axis = 0 : i32} : tensor<8xi32> -> tensor<1x8xi32>
  %rows_all = tt.broadcast %rows_2d : tensor<8x1xi32> -> tensor<8x8xi32>
  %columns_all = tt.broadcast %columns_2d : tensor<1x8xi32> -> tensor<8x8xi32>
  %offsets = arith.addi %rows_all, %columns_all : tensor<8x8xi32>
  %base = tt.splat %out : !tt.ptr<i32> -> tensor<8x8x!tt.ptr<i32>>
  %at = tt.addptr %base, %offsets : tensor<8x8x!tt.ptr<i32>>, tensor<8x8xi32>
  tt.store %at, %offsets : tensor<8x8x!tt.ptr<i32>>
  tt.return
}

// -----

// Programs beyond the last complete row of tiles keep theirs.
// CHECK-LABEL: @one_axis
// CHECK: %[[PID:.*]] = tt.get_program_id x
// CHECK: %[[PROGRAMS:.*]] = tt.get_num_programs x
// CHECK: %[[COMPLETE:.*]] = arith.divsi %[[PROGRAMS]], %[[N:.*]] : i32
// CHECK: arith.minsi
// CHECK: %[[TILES:.*]] = arith.muli %[[COMPLETE]], %[[N]]
// CHECK: %[[GROUPED:.*]] = arith.cmpi slt, %[[PID]], %[[TILES]]
// CHECK: %[[ROW:.*]] = arith.select %[[GROUPED]]
// CHECK: %[[COLUMN:.*]] = arith.select %[[GROUPED]]
// CHECK: tt.store %{{.*}}, %[[ROW]]
// CHECK: tt.store %{{.*}}, %[[COLUMN]]
tt.func public @one_axis(%out: !tt.ptr<i32>, %n: i32) {
  %pid = tt.get_program_id x : i32
  %row = arith.divsi %pid, %n : i32
  %column = arith.remsi %pid, %n : i32
  tt.store %out, %row : !tt.ptr<i32>
  tt.store %out, %column : !tt.ptr<i32>
  tt.return
}
