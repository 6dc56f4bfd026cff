// RUN: flagc-opt %s --target ascend --passes stage-store --split-input-file --verify-diagnostics

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
  %true = arith.constant true
  %false = arith.constant false
  %t = "staged.alloc"() {buffers = 1 : i64} : () -> !staged.tile<l0c, 32x16xf32>
  "staged.mad"(%a, %b, %t, %m, %k, %n, %true) : (!staged.tile<l0a, 32x16xf16>, !staged.tile<l0b, 16x16xf16>, !staged.tile<l0c, 32x16xf32>, i32, i32, i32, i1) -> ()
  %sum = "staged.read_accumulator"(%t, %false) : (!staged.tile<l0c, 32x16xf32>, i1) -> tensor<32x16xf32>
  %half = arith.constant dense<0.5> : tensor<32x16xf32>
  // expected-error@+1 {{between the Cube and the store there is a bias, ReLU and a rounding in this order at most; 'arith.mulf' is no part of that}}
  %scaled = arith.mulf %sum, %half : tensor<32x16xf32>
  %rounded = arith.truncf %scaled : tensor<32x16xf32> to tensor<32x16xf16>
  "tt.store"(%at, %rounded) {boundaryCheck = array<i32>, cache = 1 : i32, evict = 1 : i32} : (tensor<32x16x!tt.ptr<f16>>, tensor<32x16xf16>) -> ()
  "tt.return"() : () -> ()
}) {sym_name = "scaled", function_type = (!staged.tile<l0a, 32x16xf16>, !staged.tile<l0b, 16x16xf16>, !tt.ptr<f16>, !tt.ptr<f16>, i32, i32, i32, i32, !tt.ptr<f32>) -> ()} : () -> ()

// -----

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
  %true = arith.constant true
  %false = arith.constant false
  %t = "staged.alloc"() {buffers = 1 : i64} : () -> !staged.tile<l0c, 32x16xf32>
  "staged.mad"(%a, %b, %t, %m, %k, %n, %true) : (!staged.tile<l0a, 32x16xf16>, !staged.tile<l0b, 16x16xf16>, !staged.tile<l0c, 32x16xf32>, i32, i32, i32, i1) -> ()
  %sum = "staged.read_accumulator"(%t, %false) : (!staged.tile<l0c, 32x16xf32>, i1) -> tensor<32x16xf32>
  %s1 = "tt.splat"(%sc) : (i32) -> tensor<1x16xi32>
  %columns = arith.muli %column, %s1 : tensor<1x16xi32>
  %cw = "tt.broadcast"(%columns) : (tensor<1x16xi32>) -> tensor<32x16xi32>
  %rw = "tt.broadcast"(%row) : (tensor<32x1xi32>) -> tensor<32x16xi32>
  %turned = arith.addi %rw, %cw : tensor<32x16xi32>
  %ct = "tt.addptr"(%cs, %turned) : (tensor<32x16x!tt.ptr<f16>>, tensor<32x16xi32>) -> tensor<32x16x!tt.ptr<f16>>
  %rounded = arith.truncf %sum : tensor<32x16xf32> to tensor<32x16xf16>
  // expected-error@+1 {{along its rows, elements are no neighbours in memory}}
  "tt.store"(%ct, %rounded) {boundaryCheck = array<i32>, cache = 1 : i32, evict = 1 : i32} : (tensor<32x16x!tt.ptr<f16>>, tensor<32x16xf16>) -> ()
  "tt.return"() : () -> ()
}) {sym_name = "by_columns", function_type = (!staged.tile<l0a, 32x16xf16>, !staged.tile<l0b, 16x16xf16>, !tt.ptr<f16>, !tt.ptr<f16>, i32, i32, i32, i32, !tt.ptr<f32>) -> ()} : () -> ()

// -----

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
  %true = arith.constant true
  %false = arith.constant false
  %t = "staged.alloc"() {buffers = 1 : i64} : () -> !staged.tile<l0c, 32x16xf32>
  "staged.mad"(%a, %b, %t, %m, %k, %n, %true) : (!staged.tile<l0a, 32x16xf16>, !staged.tile<l0b, 16x16xf16>, !staged.tile<l0c, 32x16xf32>, i32, i32, i32, i1) -> ()
  %sum = "staged.read_accumulator"(%t, %false) : (!staged.tile<l0c, 32x16xf32>, i1) -> tensor<32x16xf32>
  %ds = "tt.splat"(%d) : (!tt.ptr<f32>) -> tensor<32x16x!tt.ptr<f32>>
  %dt = "tt.addptr"(%ds, %index) : (tensor<32x16x!tt.ptr<f32>>, tensor<32x16xi32>) -> tensor<32x16x!tt.ptr<f32>>
  // expected-error@+1 {{only additions are atomic on the way from L0C}}
  %old = "tt.atomic_rmw"(%dt, %sum) {atomic_rmw_op = 6 : i32, sem = 1 : i32, scope = 1 : i32} : (tensor<32x16x!tt.ptr<f32>>, tensor<32x16xf32>) -> tensor<32x16xf32>
  "tt.return"() : () -> ()
}) {sym_name = "maximum", function_type = (!staged.tile<l0a, 32x16xf16>, !staged.tile<l0b, 16x16xf16>, !tt.ptr<f16>, !tt.ptr<f16>, i32, i32, i32, i32, !tt.ptr<f32>) -> ()} : () -> ()

// -----

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
  %true = arith.constant true
  %false = arith.constant false
  %t = "staged.alloc"() {buffers = 1 : i64} : () -> !staged.tile<l0c, 32x16xf32>
  "staged.mad"(%a, %b, %t, %m, %k, %n, %true) : (!staged.tile<l0a, 32x16xf16>, !staged.tile<l0b, 16x16xf16>, !staged.tile<l0c, 32x16xf32>, i32, i32, i32, i1) -> ()
  %sum = "staged.read_accumulator"(%t, %false) : (!staged.tile<l0c, 32x16xf32>, i1) -> tensor<32x16xf32>
  %rounded = arith.truncf %sum : tensor<32x16xf32> to tensor<32x16xf16>
  "tt.store"(%at, %rounded) {boundaryCheck = array<i32>, cache = 1 : i32, evict = 1 : i32} : (tensor<32x16x!tt.ptr<f16>>, tensor<32x16xf16>) -> ()
  // expected-error@+1 {{no part of a matrix product, so the Cube does not do it}}
  "tt.print"() {prefix = "done"} : () -> ()
  "tt.return"() : () -> ()
}) {sym_name = "left_over", function_type = (!staged.tile<l0a, 32x16xf16>, !staged.tile<l0b, 16x16xf16>, !tt.ptr<f16>, !tt.ptr<f16>, i32, i32, i32, i32, !tt.ptr<f32>) -> ()} : () -> ()
