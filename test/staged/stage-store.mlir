// RUN: flagc-opt %s --target ascend --passes stage-store | filecheck %s

// One sum with a bias, stored once with ReLU, rounded and limited by the mask, and added once. BT takes
// 64 bytes at a time.
// CHECK: %[[ROW:.*]] = "staged.alloc"() {{.*}} -> !staged.tile<l1, 1x32xf16>
// CHECK: "staged.nd2nz"(%arg3, %{{.*}}, %{{.*}}, %c1_i32, %c16_i32, %[[ROW]])
// CHECK: %[[BT:.*]] = "staged.alloc"() {{.*}} -> !staged.tile<bt, 1x32xf32>
// CHECK: "staged.load_bt"(%[[ROW]], %c32_i32, %[[BT]])
// CHECK: %[[C:.*]] = "staged.alloc"() {{.*}} -> !staged.tile<l0c, 32x16xf32>
// CHECK: "staged.mad"(%arg0, %arg1, %[[C]], %arg4, %arg6, %arg5, %true, %[[BT]])
// CHECK: %[[S:.*]] = arith.extsi %arg7 : i32 to i64
// CHECK: "staged.fixpipe"(%[[C]], %arg2, %{{.*}}, %[[S]], %arg4, %arg5) {relu = true}
// CHECK: "staged.fixpipe"(%[[C]], %arg8, %{{.*}}, %[[S]], %c32_i32, %c16_i32) {atomic = "add"}
// CHECK-NEXT: "tt.return"
"tt.func"() ({
^bb0(%a: !staged.tile<l0a, 32x16xf16>, %b: !staged.tile<l0b, 16x16xf16>, %c: !tt.ptr<f16>, %bias: !tt.ptr<f16>, %m: i32, %n: i32, %k: i32, %sc: i32, %d: !tt.ptr<f32>):
  %r32 = "tt.make_range"() {start = 0 : i32, end = 32 : i32} : () -> tensor<32xi32>
  %r16 = "tt.make_range"() {start = 0 : i32, end = 16 : i32} : () -> tensor<16xi32>
  %row = "tt.expand_dims"(%r32) {axis = 1 : i32} : (tensor<32xi32>) -> tensor<32x1xi32>
  %column = "tt.expand_dims"(%r16) {axis = 0 : i32} : (tensor<16xi32>) -> tensor<1x16xi32>
  %scs = "tt.splat"(%sc) : (i32) -> tensor<32x1xi32>
  %rows = arith.muli %row, %scs : tensor<32x1xi32>
  %rb = "tt.broadcast"(%rows) : (tensor<32x1xi32>) -> tensor<32x16xi32>
  %cb = "tt.broadcast"(%column) : (tensor<1x16xi32>) -> tensor<32x16xi32>
  %index = arith.addi %rb, %cb : tensor<32x16xi32>
  %cs = "tt.splat"(%c) : (!tt.ptr<f16>) -> tensor<32x16x!tt.ptr<f16>>
  %at = "tt.addptr"(%cs, %index) : (tensor<32x16x!tt.ptr<f16>>, tensor<32x16xi32>) -> tensor<32x16x!tt.ptr<f16>>
  %ms = "tt.splat"(%m) : (i32) -> tensor<32x1xi32>
  %ns = "tt.splat"(%n) : (i32) -> tensor<1x16xi32>
  %above = arith.cmpi slt, %row, %ms : tensor<32x1xi32>
  %left = arith.cmpi slt, %column, %ns : tensor<1x16xi32>
  %above2 = "tt.broadcast"(%above) : (tensor<32x1xi1>) -> tensor<32x16xi1>
  %left2 = "tt.broadcast"(%left) : (tensor<1x16xi1>) -> tensor<32x16xi1>
  %inside = arith.andi %above2, %left2 : tensor<32x16xi1>
  %true = arith.constant true
  %false = arith.constant false
  %t = "staged.alloc"() {buffers = 1 : i64} : () -> !staged.tile<l0c, 32x16xf32>
  "staged.mad"(%a, %b, %t, %m, %k, %n, %true) : (!staged.tile<l0a, 32x16xf16>, !staged.tile<l0b, 16x16xf16>, !staged.tile<l0c, 32x16xf32>, i32, i32, i32, i1) -> ()
  %sum = "staged.read_accumulator"(%t, %false) : (!staged.tile<l0c, 32x16xf32>, i1) -> tensor<32x16xf32>
  %bs = "tt.splat"(%bias) : (!tt.ptr<f16>) -> tensor<16x!tt.ptr<f16>>
  %bt = "tt.addptr"(%bs, %r16) : (tensor<16x!tt.ptr<f16>>, tensor<16xi32>) -> tensor<16x!tt.ptr<f16>>
  %bv = "tt.load"(%bt) {boundaryCheck = array<i32>, cache = 1 : i32, evict = 1 : i32, isVolatile = false, operandSegmentSizes = array<i32: 1, 0, 0>} : (tensor<16x!tt.ptr<f16>>) -> tensor<16xf16>
  %bf = arith.extf %bv : tensor<16xf16> to tensor<16xf32>
  %b1 = "tt.expand_dims"(%bf) {axis = 0 : i32} : (tensor<16xf32>) -> tensor<1x16xf32>
  %b2 = "tt.broadcast"(%b1) : (tensor<1x16xf32>) -> tensor<32x16xf32>
  %biased = arith.addf %sum, %b2 : tensor<32x16xf32>
  %zeros = arith.constant dense<0.0> : tensor<32x16xf32>
  %relu = arith.maxnumf %biased, %zeros : tensor<32x16xf32>
  %rounded = arith.truncf %relu : tensor<32x16xf32> to tensor<32x16xf16>
  "tt.store"(%at, %rounded, %inside) {boundaryCheck = array<i32>, cache = 1 : i32, evict = 1 : i32} : (tensor<32x16x!tt.ptr<f16>>, tensor<32x16xf16>, tensor<32x16xi1>) -> ()
  %ds = "tt.splat"(%d) : (!tt.ptr<f32>) -> tensor<32x16x!tt.ptr<f32>>
  %dt = "tt.addptr"(%ds, %index) : (tensor<32x16x!tt.ptr<f32>>, tensor<32x16xi32>) -> tensor<32x16x!tt.ptr<f32>>
  %old = "tt.atomic_rmw"(%dt, %biased) {atomic_rmw_op = 5 : i32, sem = 1 : i32, scope = 1 : i32} : (tensor<32x16x!tt.ptr<f32>>, tensor<32x16xf32>) -> tensor<32x16xf32>
  "tt.return"() : () -> ()
}) {sym_name = "epilogue", function_type = (!staged.tile<l0a, 32x16xf16>, !staged.tile<l0b, 16x16xf16>, !tt.ptr<f16>, !tt.ptr<f16>, i32, i32, i32, i32, !tt.ptr<f32>) -> ()} : () -> ()
