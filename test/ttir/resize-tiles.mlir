// RUN: flagc-opt %s --split-input-file --passes resize-tiles{x=32} | filecheck %s --check-prefix LARGER
// RUN: flagc-opt %s --split-input-file --passes resize-tiles{x=8} | filecheck %s --check-prefix SMALLER
// RUN: flagc-opt %s --target ascend --split-input-file --passes resize-tiles{x=8} | filecheck %s --check-prefix SMALLER
// RUN: not flagc-opt %s --passes resize-tiles{x=24} 2>&1 | filecheck %s --check-prefix POWER

// POWER: a tile of 24 elements; sizes are powers of two

// The grid's end masks what the script has no program for; hints on the old block go.
// LARGER-LABEL: @twice
// LARGER-SAME: %[[GRID:[a-z0-9]*]]: i32, %{{[a-z0-9]*}}: i32, %{{[a-z0-9]*}}: i32) attributes {flagc_launch = array<i32: 16, 1, 1, 32, 1, 1, 0, 1, 0, 0, 0, 0>
// LARGER: %[[PID:.*]] = tt.get_program_id x
// LARGER: %[[END:.*]] = arith.muli %[[GRID]], %{{.*}} : i32
// LARGER: arith.cmpi slt, %{{.*}}, %{{.*}} : tensor<32xi32>
// LARGER-NOT: tensor<16
// LARGER-NOT: tt.divisibility
// LARGER: tt.load %{{[^,]*}}, %{{[^,]*}} : tensor<32x!tt.ptr<i32>>
// LARGER: tt.store %{{[^,]*}}, %{{[^,]*}}, %{{[^,]*}} : tensor<32x!tt.ptr<i32>>

// SMALLER-LABEL: @twice
// SMALLER-SAME: flagc_launch = array<i32: 16, 1, 1, 8, 1, 1, 0, 1, 0, 0, 0, 0>
// SMALLER-NOT: arith.cmpi
// SMALLER: dense<2> : tensor<8xi32>
// SMALLER: %[[EIGHT:.*]] = arith.constant 8 : i32
// SMALLER: arith.muli %{{.*}}, %[[EIGHT]]
// SMALLER: tt.load %{{[^,]*}} : tensor<8x!tt.ptr<i32>>
tt.func public @twice(%x: !tt.ptr<i32>) {
  %c16 = arith.constant 16 : i32
  %two = arith.constant dense<2> : tensor<16xi32>
  %pid = tt.get_program_id x : i32
  %first = arith.muli %c16, %pid : i32
  %lanes = tt.make_range {start = 0 : i32, end = 16 : i32} : tensor<16xi32>
  %firsts = tt.splat %first : i32 -> tensor<16xi32>
  %at = arith.addi %lanes, %firsts {tt.divisibility = dense<16> : tensor<1xi32>} : tensor<16xi32>
  %p = tt.splat %x : !tt.ptr<i32> -> tensor<16x!tt.ptr<i32>>
  %q = tt.addptr %p, %at : tensor<16x!tt.ptr<i32>>, tensor<16xi32>
  %v = tt.load %q : tensor<16x!tt.ptr<i32>>
  %w = arith.muli %v, %two : tensor<16xi32>
  tt.store %q, %w : tensor<16x!tt.ptr<i32>>
  tt.return
}

// -----

// Another axis of the same tensors keeps its length, and its ranges.
// LARGER-LABEL: @rows
// LARGER: tt.make_range {end = 16 : i32, start = 0 : i32} : tensor<16xi32>
// LARGER: tt.store %{{.*}} : tensor<32x16x!tt.ptr<i32>>
tt.func public @rows(%x: !tt.ptr<i32>, %mask: i1) {
  %c16 = arith.constant 16 : i32
  %pid = tt.get_program_id x : i32
  %first = arith.muli %pid, %c16 : i32
  %lanes = tt.make_range {start = 0 : i32, end = 16 : i32} : tensor<16xi32>
  %firsts = tt.splat %first : i32 -> tensor<16xi32>
  %at = arith.addi %lanes, %firsts : tensor<16xi32>
  %row = tt.expand_dims %at {axis = 1 : i32} : tensor<16xi32> -> tensor<16x1xi32>
  %rows = tt.broadcast %row : tensor<16x1xi32> -> tensor<16x16xi32>
  %column = tt.expand_dims %lanes {axis = 0 : i32} : tensor<16xi32> -> tensor<1x16xi32>
  %columns = tt.broadcast %column : tensor<1x16xi32> -> tensor<16x16xi32>
  %sum = arith.addi %rows, %columns : tensor<16x16xi32>
  %p = tt.splat %x : !tt.ptr<i32> -> tensor<16x16x!tt.ptr<i32>>
  %q = tt.addptr %p, %sum : tensor<16x16x!tt.ptr<i32>>, tensor<16x16xi32>
  %m = tt.splat %mask : i1 -> tensor<16x16xi1>
  tt.store %q, %sum, %m : tensor<16x16x!tt.ptr<i32>>
  tt.return
}
