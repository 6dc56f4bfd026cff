// RUN: flagc-opt %s --target ascend --passes stage-loads | filecheck %s

// A lies by rows, `sa` apart, and has m rows and k columns. B lies by columns: the tile's rows are
// B's columns.
// CHECK: %[[SA:.*]] = arith.extsi %arg5 : i32 to i64
// CHECK: %[[A:.*]] = "staged.alloc"() {buffers = 1 : i64} : () -> !staged.tile<l1, 32x32xf16>
// CHECK: "staged.nd2nz"(%arg0, %{{.*}}, %[[SA]], %arg3, %arg4, %[[A]])
// CHECK: %[[X:.*]] = "staged.read_tile"(%[[A]]) : (!staged.tile<l1, 32x32xf16>) -> tensor<32x32xf16>
// CHECK: %[[SB:.*]] = arith.extsi %arg6 : i32 to i64
// CHECK: %[[B:.*]] = "staged.alloc"() {buffers = 1 : i64} : () -> !staged.tile<l1, 16x32xf16>
// CHECK: "staged.nd2nz"(%arg1, %{{.*}}, %[[SB]], %c16_i32, %c32_i32, %[[B]])
// CHECK: %[[Y:.*]] = "staged.read_tile"(%[[B]]) {transpose = true} : (!staged.tile<l1, 16x32xf16>) -> tensor<32x16xf16>
// CHECK-NOT: tt.addptr
// CHECK: "tt.dot"(%[[X]], %[[Y]]
"tt.func"() ({
^bb0(%a: !tt.ptr<f16>, %b: !tt.ptr<f16>, %c: !tt.ptr<f32>, %m: i32, %k: i32, %sa: i32, %sb: i32):
  %r32 = "tt.make_range"() {start = 0 : i32, end = 32 : i32} : () -> tensor<32xi32>
  %r16 = "tt.make_range"() {start = 0 : i32, end = 16 : i32} : () -> tensor<16xi32>
  %zeros = arith.constant dense<0.0> : tensor<32x16xf32>
  %row32 = "tt.expand_dims"(%r32) {axis = 1 : i32} : (tensor<32xi32>) -> tensor<32x1xi32>
  %column32 = "tt.expand_dims"(%r32) {axis = 0 : i32} : (tensor<32xi32>) -> tensor<1x32xi32>
  %column16 = "tt.expand_dims"(%r16) {axis = 0 : i32} : (tensor<16xi32>) -> tensor<1x16xi32>
  %other = arith.constant dense<0.0> : tensor<32x32xf16>
  %ms = "tt.splat"(%m) : (i32) -> tensor<32x1xi32>
  %ks = "tt.splat"(%k) : (i32) -> tensor<1x32xi32>
  %above = arith.cmpi slt, %row32, %ms : tensor<32x1xi32>
  %left = arith.cmpi slt, %column32, %ks : tensor<1x32xi32>
  %above2 = "tt.broadcast"(%above) : (tensor<32x1xi1>) -> tensor<32x32xi1>
  %left2 = "tt.broadcast"(%left) : (tensor<1x32xi1>) -> tensor<32x32xi1>
  %inside = arith.andi %above2, %left2 : tensor<32x32xi1>
  %sas = "tt.splat"(%sa) : (i32) -> tensor<32x1xi32>
  %rows = arith.muli %row32, %sas : tensor<32x1xi32>
  %as = "tt.splat"(%a) : (!tt.ptr<f16>) -> tensor<32x1x!tt.ptr<f16>>
  %ar = "tt.addptr"(%as, %rows) : (tensor<32x1x!tt.ptr<f16>>, tensor<32x1xi32>) -> tensor<32x1x!tt.ptr<f16>>
  %ab = "tt.broadcast"(%ar) : (tensor<32x1x!tt.ptr<f16>>) -> tensor<32x32x!tt.ptr<f16>>
  %cb = "tt.broadcast"(%column32) : (tensor<1x32xi32>) -> tensor<32x32xi32>
  %at = "tt.addptr"(%ab, %cb) : (tensor<32x32x!tt.ptr<f16>>, tensor<32x32xi32>) -> tensor<32x32x!tt.ptr<f16>>
  %x = "tt.load"(%at, %inside, %other) {boundaryCheck = array<i32>, cache = 1 : i32, evict = 1 : i32, isVolatile = false, operandSegmentSizes = array<i32: 1, 1, 1>} : (tensor<32x32x!tt.ptr<f16>>, tensor<32x32xi1>, tensor<32x32xf16>) -> tensor<32x32xf16>
  %sbs = "tt.splat"(%sb) : (i32) -> tensor<1x16xi32>
  %columns = arith.muli %column16, %sbs : tensor<1x16xi32>
  %bs = "tt.splat"(%b) : (!tt.ptr<f16>) -> tensor<1x16x!tt.ptr<f16>>
  %bc = "tt.addptr"(%bs, %columns) : (tensor<1x16x!tt.ptr<f16>>, tensor<1x16xi32>) -> tensor<1x16x!tt.ptr<f16>>
  %bb = "tt.broadcast"(%bc) : (tensor<1x16x!tt.ptr<f16>>) -> tensor<32x16x!tt.ptr<f16>>
  %rb = "tt.broadcast"(%row32) : (tensor<32x1xi32>) -> tensor<32x16xi32>
  %bt = "tt.addptr"(%bb, %rb) : (tensor<32x16x!tt.ptr<f16>>, tensor<32x16xi32>) -> tensor<32x16x!tt.ptr<f16>>
  %y = "tt.load"(%bt) {boundaryCheck = array<i32>, cache = 1 : i32, evict = 1 : i32, isVolatile = false, operandSegmentSizes = array<i32: 1, 0, 0>} : (tensor<32x16x!tt.ptr<f16>>) -> tensor<32x16xf16>
  %sum = "tt.dot"(%x, %y, %zeros) {inputPrecision = 2 : i32, maxNumImpreciseAcc = 0 : i32} : (tensor<32x32xf16>, tensor<32x16xf16>, tensor<32x16xf32>) -> tensor<32x16xf32>
  "test.use"(%sum) : (tensor<32x16xf32>) -> ()
  "tt.return"() : () -> ()
}) {sym_name = "two_orders", function_type = (!tt.ptr<f16>, !tt.ptr<f16>, !tt.ptr<f32>, i32, i32, i32, i32) -> ()} : () -> ()
