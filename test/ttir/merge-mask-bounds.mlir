// RUN: flagc-opt %s --passes merge-mask-bounds | filecheck %s

// CHECK-LABEL: @two_upper_bounds
// CHECK: %[[MIN:.*]] = arith.minsi %arg2, %arg3 : i32
// CHECK-NEXT: %[[BOUND:.*]] = tt.splat %[[MIN]] : i32 -> tensor<8xi32>
// CHECK-NEXT: %[[UPPER:.*]] = arith.cmpi slt, %arg1, %[[BOUND]]
// CHECK-NEXT: %[[LOW:.*]] = tt.splat %arg4
// CHECK-NEXT: %[[LOWER:.*]] = arith.cmpi sge, %arg1, %[[LOW]]
// CHECK-NEXT: %[[MASK:.*]] = arith.andi %[[UPPER]], %[[LOWER]]
// CHECK-NEXT: tt.store %arg0, %arg1, %[[MASK]]
tt.func public @two_upper_bounds(%at: tensor<8x!tt.ptr<i32>>, %x: tensor<8xi32>, %a: i32, %b: i32, %c: i32) {
  %as = tt.splat %a : i32 -> tensor<8xi32>
  %bs = tt.splat %b : i32 -> tensor<8xi32>
  %cs = tt.splat %c : i32 -> tensor<8xi32>
  %0 = arith.cmpi slt, %x, %as : tensor<8xi32>
  %1 = arith.cmpi sge, %x, %cs : tensor<8xi32>
  %2 = arith.andi %0, %1 : tensor<8xi1>
  %3 = arith.cmpi sgt, %bs, %x : tensor<8xi32>
  %4 = arith.andi %2, %3 : tensor<8xi1>
  tt.store %at, %x, %4 : tensor<8x!tt.ptr<i32>>
  tt.return
}

// The index in two widths; a range is never negative.
// CHECK-LABEL: @two_widths
// CHECK: %[[WIDE:.*]] = arith.extsi %{{.*}} : tensor<8xi32> to tensor<8xi64>
// CHECK-NOT: arith.cmpi sge
// CHECK: %[[A:.*]] = arith.extsi %arg1 : i32 to i64
// CHECK: %[[MIN:.*]] = arith.minsi %[[A]], %arg2 : i64
// CHECK: %[[BOUND:.*]] = tt.splat %[[MIN]] : i64 -> tensor<8xi64>
// CHECK: arith.cmpi slt, %[[WIDE]], %[[BOUND]] : tensor<8xi64>
tt.func public @two_widths(%at: tensor<8x!tt.ptr<i32>>, %a: i32, %b: i64) {
  %zeros = arith.constant dense<0> : tensor<8xi32>
  %x = tt.make_range {end = 8 : i32, start = 0 : i32} : tensor<8xi32>
  %wide = arith.extsi %x : tensor<8xi32> to tensor<8xi64>
  %as = tt.splat %a : i32 -> tensor<8xi32>
  %bs = tt.splat %b : i64 -> tensor<8xi64>
  %0 = arith.cmpi slt, %x, %as : tensor<8xi32>
  %1 = arith.cmpi slt, %wide, %bs : tensor<8xi64>
  %2 = arith.cmpi sge, %x, %zeros : tensor<8xi32>
  %3 = arith.andi %0, %1 : tensor<8xi1>
  %4 = arith.andi %3, %2 : tensor<8xi1>
  tt.store %at, %x, %4 : tensor<8x!tt.ptr<i32>>
  tt.return
}

// One bound of each kind, bounds of different indices, bounds that are no scalars,
// and a lower bound of an index that may be negative: nothing to merge.
// CHECK-LABEL: @nothing_to_merge
// CHECK-NOT: arith.minsi
// CHECK-NOT: arith.maxsi
// CHECK: arith.cmpi slt
// CHECK-NEXT: arith.cmpi sge
// CHECK-NEXT: arith.cmpi slt
// CHECK-NEXT: arith.cmpi slt
// CHECK-NEXT: arith.andi
// CHECK-NEXT: arith.andi
// CHECK-NEXT: arith.andi
tt.func public @nothing_to_merge(%at: tensor<8x!tt.ptr<i32>>, %x: tensor<8xi32>, %y: tensor<8xi32>, %a: i32) {
  %zeros = arith.constant dense<0> : tensor<8xi32>
  %as = tt.splat %a : i32 -> tensor<8xi32>
  %0 = arith.cmpi slt, %x, %as : tensor<8xi32>
  %1 = arith.cmpi sge, %x, %zeros : tensor<8xi32>
  %2 = arith.cmpi slt, %y, %as : tensor<8xi32>
  %3 = arith.cmpi slt, %x, %y : tensor<8xi32>
  %4 = arith.andi %0, %1 : tensor<8xi1>
  %5 = arith.andi %2, %3 : tensor<8xi1>
  %6 = arith.andi %4, %5 : tensor<8xi1>
  tt.store %at, %x, %6 : tensor<8x!tt.ptr<i32>>
  tt.return
}
