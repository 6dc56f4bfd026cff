// RUN: flagc-opt %s --target ascend --split-input-file --passes 'stage-epilogue' | filecheck %s

// A sum is scaled by an argument and added to another matrix.
// CHECK-LABEL: "tt.func"
// CHECK: %[[S:.*]] = arith.extsi %arg7 : i32 to i64
// CHECK: %[[GM:.*]] = "staged.alloc"() {{.*}} -> !staged.tile<gm, 32x16xf32>
// CHECK: "staged.spill"(%{{.*}}, %[[GM]], %[[M:.*]], %[[N:.*]]) :
// CHECK: "staged.sub_block"
// CHECK: %[[SCALE:.*]] = "staged.alloc"() {{.*}} -> !staged.tile<ub, 1x8xf32>
// CHECK: "staged.vector_fill"(%arg9, %[[SCALE]])
// CHECK: scf.for
// CHECK: "staged.fetch"(%[[GM]], %[[ROW:.*]], %[[ROWS:.*]], %[[N]], %[[X:.*]]) :
// CHECK: "staged.load_ub"(%arg3, %{{.*}}, %[[S]], %[[ROWS]], %[[N]], %[[R:.*]]) :
// CHECK: "staged.vector_binary"(%[[X]], %[[SCALE]], %[[ROWS]], %[[N]], %[[Y:.*]]) {kind = "mul"}
// CHECK: "staged.vector_cast"(%[[R]], %[[ROWS]], %[[N]], %[[RX:.*]]) :
// CHECK: "staged.vector_binary"(%[[Y]], %[[RX]], %[[ROWS]], %[[N]], %[[Y]]) {kind = "add"}
// CHECK: "staged.vector_cast"(%[[Y]], %[[ROWS]], %[[N]], %[[OUT:.*]]) {rounding = "rint"}
// CHECK: "staged.store_ub"(%[[OUT]], %arg2, %{{.*}}, %[[S]], %[[ROWS]], %[[N]])
// CHECK-NOT: "tt.store"
"tt.func"() ({
^bb0(%a: !staged.tile<l0a, 32x16xf16>, %b: !staged.tile<l0b, 16x16xf16>, %c: !tt.ptr<f16>, %more: !tt.ptr<bf16>, %m: i32, %n: i32, %k: i32, %sc: i32, %d: !tt.ptr<f32>, %scale: f32):
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
  %mores = "tt.splat"(%more) : (!tt.ptr<bf16>) -> tensor<32x16x!tt.ptr<bf16>>
  %moret = "tt.addptr"(%mores, %index) : (tensor<32x16x!tt.ptr<bf16>>, tensor<32x16xi32>) -> tensor<32x16x!tt.ptr<bf16>>
  %morev = "tt.load"(%moret, %inside) {boundaryCheck = array<i32>, cache = 1 : i32, evict = 1 : i32, isVolatile = false, operandSegmentSizes = array<i32: 1, 1, 0>} : (tensor<32x16x!tt.ptr<bf16>>, tensor<32x16xi1>) -> tensor<32x16xbf16>
  %morex = arith.extf %morev : tensor<32x16xbf16> to tensor<32x16xf32>
  %scales = "tt.splat"(%scale) : (f32) -> tensor<32x16xf32>
  %scaled = arith.mulf %sum, %scales : tensor<32x16xf32>
  %y = arith.addf %scaled, %morex : tensor<32x16xf32>
  %rounded = arith.truncf %y : tensor<32x16xf32> to tensor<32x16xf16>
  "tt.store"(%at, %rounded, %inside) {boundaryCheck = array<i32>, cache = 1 : i32, evict = 1 : i32} : (tensor<32x16x!tt.ptr<f16>>, tensor<32x16xf16>, tensor<32x16xi1>) -> ()
  "tt.return"() : () -> ()
}) {sym_name = "epilogue", function_type = (!staged.tile<l0a, 32x16xf16>, !staged.tile<l0b, 16x16xf16>, !tt.ptr<f16>, !tt.ptr<bf16>, i32, i32, i32, i32, !tt.ptr<f32>, f32) -> ()} : () -> ()

// -----

// A row is loaded and converted once, before the loop; a column comes in parts, and is repeated.
// CHECK-LABEL: "tt.func"
// CHECK: "staged.load_ub"(%arg3, %{{.*}}, %{{.*}}, %c1_i32{{.*}}, %[[ROW:.*]]) {{.*}}tile<ub, 1x32xbf16>
// CHECK: "staged.vector_cast"(%[[ROW]], {{.*}}tile<ub, 1x32xf32>
// CHECK: scf.for
// CHECK: "staged.load_ub"(%arg8, {{.*}}, %[[C:.*]]) {{.*}}tile<ub, 1x16xf32>
// CHECK: "staged.vector_column"(%[[C]], %[[C8:.*]]) {{.*}}tile<ub, 16x8xf32>
// CHECK: "staged.vector_binary"(%{{.*}}, %[[C8]], {{.*}} {kind = "mul"}
// CHECK: "staged.vector_select"{{.*}} {kind = "eq"}
// CHECK: "staged.vector_binary"{{.*}} {kind = "max"}
"tt.func"() ({
^bb0(%a: !staged.tile<l0a, 32x16xf16>, %b: !staged.tile<l0b, 16x16xf16>, %c: !tt.ptr<f16>, %more: !tt.ptr<bf16>, %m: i32, %n: i32, %k: i32, %sc: i32, %d: !tt.ptr<f32>, %scale: f32):
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
  %rowp = "tt.splat"(%more) : (!tt.ptr<bf16>) -> tensor<16x!tt.ptr<bf16>>
  %rowt = "tt.addptr"(%rowp, %r16) : (tensor<16x!tt.ptr<bf16>>, tensor<16xi32>) -> tensor<16x!tt.ptr<bf16>>
  %rowv = "tt.load"(%rowt) {boundaryCheck = array<i32>, cache = 1 : i32, evict = 1 : i32, isVolatile = false, operandSegmentSizes = array<i32: 1, 0, 0>} : (tensor<16x!tt.ptr<bf16>>) -> tensor<16xbf16>
  %rowx = arith.extf %rowv : tensor<16xbf16> to tensor<16xf32>
  %row1 = "tt.expand_dims"(%rowx) {axis = 0 : i32} : (tensor<16xf32>) -> tensor<1x16xf32>
  %row2 = "tt.broadcast"(%row1) : (tensor<1x16xf32>) -> tensor<32x16xf32>
  %colp = "tt.splat"(%d) : (!tt.ptr<f32>) -> tensor<32x!tt.ptr<f32>>
  %colt = "tt.addptr"(%colp, %r32) : (tensor<32x!tt.ptr<f32>>, tensor<32xi32>) -> tensor<32x!tt.ptr<f32>>
  %colv = "tt.load"(%colt) {boundaryCheck = array<i32>, cache = 1 : i32, evict = 1 : i32, isVolatile = false, operandSegmentSizes = array<i32: 1, 0, 0>} : (tensor<32x!tt.ptr<f32>>) -> tensor<32xf32>
  %col1 = "tt.expand_dims"(%colv) {axis = 1 : i32} : (tensor<32xf32>) -> tensor<32x1xf32>
  %col2 = "tt.broadcast"(%col1) : (tensor<32x1xf32>) -> tensor<32x16xf32>
  %scaled = arith.mulf %sum, %col2 : tensor<32x16xf32>
  %y = arith.maxnumf %scaled, %row2 : tensor<32x16xf32>
  %rounded = arith.truncf %y : tensor<32x16xf32> to tensor<32x16xf16>
  "tt.store"(%at, %rounded, %inside) {boundaryCheck = array<i32>, cache = 1 : i32, evict = 1 : i32} : (tensor<32x16x!tt.ptr<f16>>, tensor<32x16xf16>, tensor<32x16xi1>) -> ()
  "tt.return"() : () -> ()
}) {sym_name = "epilogue", function_type = (!staged.tile<l0a, 32x16xf16>, !staged.tile<l0b, 16x16xf16>, !tt.ptr<f16>, !tt.ptr<bf16>, i32, i32, i32, i32, !tt.ptr<f32>, f32) -> ()} : () -> ()

// -----

// What the way from L0C does is left to stage-store.
// CHECK-LABEL: "tt.func"
// CHECK-NOT: staged.spill
// CHECK: "tt.store"
"tt.func"() ({
^bb0(%a: !staged.tile<l0a, 32x16xf16>, %b: !staged.tile<l0b, 16x16xf16>, %c: !tt.ptr<f16>, %more: !tt.ptr<bf16>, %m: i32, %n: i32, %k: i32, %sc: i32, %d: !tt.ptr<f32>, %scale: f32):
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
  %zeros = arith.constant dense<0.0> : tensor<32x16xf32>
  %y = arith.maxnumf %sum, %zeros : tensor<32x16xf32>
  %rounded = arith.truncf %y : tensor<32x16xf32> to tensor<32x16xf16>
  "tt.store"(%at, %rounded, %inside) {boundaryCheck = array<i32>, cache = 1 : i32, evict = 1 : i32} : (tensor<32x16x!tt.ptr<f16>>, tensor<32x16xf16>, tensor<32x16xi1>) -> ()
  "tt.return"() : () -> ()
}) {sym_name = "epilogue", function_type = (!staged.tile<l0a, 32x16xf16>, !staged.tile<l0b, 16x16xf16>, !tt.ptr<f16>, !tt.ptr<bf16>, i32, i32, i32, i32, !tt.ptr<f32>, f32) -> ()} : () -> ()
