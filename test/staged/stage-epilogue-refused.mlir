// RUN: flagc-opt %s --target ascend --split-input-file --passes stage-epilogue --verify-diagnostics

// Functions that vector cores have no instruction for.
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
  // expected-error @+1 {{vector cores do not compute 'math.sin' in an epilogue}}
  %y = math.sin %sum : tensor<32x16xf32>
  %rounded = arith.truncf %y : tensor<32x16xf32> to tensor<32x16xf16>
  "tt.store"(%at, %rounded, %inside) {boundaryCheck = array<i32>, cache = 1 : i32, evict = 1 : i32} : (tensor<32x16x!tt.ptr<f16>>, tensor<32x16xf16>, tensor<32x16xi1>) -> ()
  "tt.return"() : () -> ()
}) {sym_name = "epilogue", function_type = (!staged.tile<l0a, 32x16xf16>, !staged.tile<l0b, 16x16xf16>, !tt.ptr<f16>, !tt.ptr<bf16>, i32, i32, i32, i32, !tt.ptr<f32>, f32) -> ()} : () -> ()

// -----

// Lanes of the epilogue's own load are masked off, and stored.
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
  %few = "tt.splat"(%k) : (i32) -> tensor<32x1xi32>
  %less = arith.cmpi slt, %row, %few : tensor<32x1xi32>
  %less2 = "tt.broadcast"(%less) : (tensor<32x1xi1>) -> tensor<32x16xi1>
  // expected-error @+1 {{elements are masked off that the epilogue needs}}
  %morev = "tt.load"(%moret, %less2) {boundaryCheck = array<i32>, cache = 1 : i32, evict = 1 : i32, isVolatile = false, operandSegmentSizes = array<i32: 1, 1, 0>} : (tensor<32x16x!tt.ptr<bf16>>, tensor<32x16xi1>) -> tensor<32x16xbf16>
  %morex = arith.extf %morev : tensor<32x16xbf16> to tensor<32x16xf32>
  %scales = "tt.splat"(%scale) : (f32) -> tensor<32x16xf32>
  %scaled = arith.mulf %sum, %scales : tensor<32x16xf32>
  %y = arith.addf %scaled, %morex : tensor<32x16xf32>
  %rounded = arith.truncf %y : tensor<32x16xf32> to tensor<32x16xf16>
  "tt.store"(%at, %rounded, %inside) {boundaryCheck = array<i32>, cache = 1 : i32, evict = 1 : i32} : (tensor<32x16x!tt.ptr<f16>>, tensor<32x16xf16>, tensor<32x16xi1>) -> ()
  "tt.return"() : () -> ()
}) {sym_name = "epilogue", function_type = (!staged.tile<l0a, 32x16xf16>, !staged.tile<l0b, 16x16xf16>, !tt.ptr<f16>, !tt.ptr<bf16>, i32, i32, i32, i32, !tt.ptr<f32>, f32) -> ()} : () -> ()

// -----

// The kernel writes to what the epilogue loads.
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
  %zero = arith.constant 0.0 : bf16
  // expected-error @+1 {{memory that the epilogue stores or loads is accessed here as well}}
  "tt.store"(%more, %zero) {boundaryCheck = array<i32>, cache = 1 : i32, evict = 1 : i32} : (!tt.ptr<bf16>, bf16) -> ()
  %rounded = arith.truncf %y : tensor<32x16xf32> to tensor<32x16xf16>
  "tt.store"(%at, %rounded, %inside) {boundaryCheck = array<i32>, cache = 1 : i32, evict = 1 : i32} : (tensor<32x16x!tt.ptr<f16>>, tensor<32x16xf16>, tensor<32x16xi1>) -> ()
  "tt.return"() : () -> ()
}) {sym_name = "epilogue", function_type = (!staged.tile<l0a, 32x16xf16>, !staged.tile<l0b, 16x16xf16>, !tt.ptr<f16>, !tt.ptr<bf16>, i32, i32, i32, i32, !tt.ptr<f32>, f32) -> ()} : () -> ()

// -----

// A choice by a position.
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
  // expected-error @+1 {{the choice depends on no comparison of floats}}
  %above3 = arith.cmpi slt, %rb, %cb : tensor<32x16xi32>
  %y = arith.select %above3, %sum, %zeros : tensor<32x16xi1>, tensor<32x16xf32>
  %rounded = arith.truncf %y : tensor<32x16xf32> to tensor<32x16xf16>
  "tt.store"(%at, %rounded, %inside) {boundaryCheck = array<i32>, cache = 1 : i32, evict = 1 : i32} : (tensor<32x16x!tt.ptr<f16>>, tensor<32x16xf16>, tensor<32x16xi1>) -> ()
  "tt.return"() : () -> ()
}) {sym_name = "epilogue", function_type = (!staged.tile<l0a, 32x16xf16>, !staged.tile<l0b, 16x16xf16>, !tt.ptr<f16>, !tt.ptr<bf16>, i32, i32, i32, i32, !tt.ptr<f32>, f32) -> ()} : () -> ()
