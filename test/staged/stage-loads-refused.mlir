// RUN: flagc-opt %s --target ascend --passes stage-loads --split-input-file --verify-diagnostics

"tt.func"() ({
^bb0(%a: !tt.ptr<f16>):
  %r32 = "tt.make_range"() {start = 0 : i32, end = 32 : i32} : () -> tensor<32xi32>
  %r16 = "tt.make_range"() {start = 0 : i32, end = 16 : i32} : () -> tensor<16xi32>
  %zeros = arith.constant dense<0.0> : tensor<32x16xf32>
  %row32 = "tt.expand_dims"(%r32) {axis = 1 : i32} : (tensor<32xi32>) -> tensor<32x1xi32>
  %column32 = "tt.expand_dims"(%r32) {axis = 0 : i32} : (tensor<32xi32>) -> tensor<1x32xi32>
  %column16 = "tt.expand_dims"(%r16) {axis = 0 : i32} : (tensor<16xi32>) -> tensor<1x16xi32>
  %as = "tt.splat"(%a) : (!tt.ptr<f16>) -> tensor<32x32x!tt.ptr<f16>>
  %rb = "tt.broadcast"(%row32) : (tensor<32x1xi32>) -> tensor<32x32xi32>
  %cb = "tt.broadcast"(%column32) : (tensor<1x32xi32>) -> tensor<32x32xi32>
  %two = arith.constant dense<2> : tensor<32x32xi32>
  %r = arith.muli %rb, %two : tensor<32x32xi32>
  %c = arith.muli %cb, %two : tensor<32x32xi32>
  %index = arith.addi %r, %c : tensor<32x32xi32>
  %at = "tt.addptr"(%as, %index) : (tensor<32x32x!tt.ptr<f16>>, tensor<32x32xi32>) -> tensor<32x32x!tt.ptr<f16>>
  // expected-error@+1 {{neither along its rows nor along its columns are elements neighbours in memory}}
  %x = "tt.load"(%at) {boundaryCheck = array<i32>, cache = 1 : i32, evict = 1 : i32, isVolatile = false, operandSegmentSizes = array<i32: 1, 0, 0>} : (tensor<32x32x!tt.ptr<f16>>) -> tensor<32x32xf16>
  %y = "test.matrix"() : () -> tensor<32x16xf16>
  %sum = "tt.dot"(%x, %y, %zeros) {inputPrecision = 2 : i32, maxNumImpreciseAcc = 0 : i32} : (tensor<32x32xf16>, tensor<32x16xf16>, tensor<32x16xf32>) -> tensor<32x16xf32>
  "tt.return"() : () -> ()
}) {sym_name = "no_neighbours", function_type = (!tt.ptr<f16>) -> ()} : () -> ()

// -----

"tt.func"() ({
^bb0(%a: !tt.ptr<f16>):
  %r32 = "tt.make_range"() {start = 0 : i32, end = 32 : i32} : () -> tensor<32xi32>
  %r16 = "tt.make_range"() {start = 0 : i32, end = 16 : i32} : () -> tensor<16xi32>
  %zeros = arith.constant dense<0.0> : tensor<32x16xf32>
  %row32 = "tt.expand_dims"(%r32) {axis = 1 : i32} : (tensor<32xi32>) -> tensor<32x1xi32>
  %column32 = "tt.expand_dims"(%r32) {axis = 0 : i32} : (tensor<32xi32>) -> tensor<1x32xi32>
  %column16 = "tt.expand_dims"(%r16) {axis = 0 : i32} : (tensor<16xi32>) -> tensor<1x16xi32>
  %as = "tt.splat"(%a) : (!tt.ptr<f16>) -> tensor<32x32x!tt.ptr<f16>>
  %rb = "tt.broadcast"(%row32) : (tensor<32x1xi32>) -> tensor<32x32xi32>
  %cb = "tt.broadcast"(%column32) : (tensor<1x32xi32>) -> tensor<32x32xi32>
  %two = arith.constant dense<32> : tensor<32x32xi32>
  %r = arith.muli %rb, %two : tensor<32x32xi32>
  %index = arith.addi %r, %cb : tensor<32x32xi32>
  %at = "tt.addptr"(%as, %index) : (tensor<32x32x!tt.ptr<f16>>, tensor<32x32xi32>) -> tensor<32x32x!tt.ptr<f16>>
  // expected-error@+1 {{what is loaded is used by 'arith.addf' too, not by matrix products alone}}
  %x = "tt.load"(%at) {boundaryCheck = array<i32>, cache = 1 : i32, evict = 1 : i32, isVolatile = false, operandSegmentSizes = array<i32: 1, 0, 0>} : (tensor<32x32x!tt.ptr<f16>>) -> tensor<32x32xf16>
  %y = "test.matrix"() : () -> tensor<32x16xf16>
  %sum = "tt.dot"(%x, %y, %zeros) {inputPrecision = 2 : i32, maxNumImpreciseAcc = 0 : i32} : (tensor<32x32xf16>, tensor<32x16xf16>, tensor<32x16xf32>) -> tensor<32x16xf32>
  %more = arith.addf %x, %x : tensor<32x32xf16>
  "tt.return"() : () -> ()
}) {sym_name = "used_elsewhere", function_type = (!tt.ptr<f16>) -> ()} : () -> ()

// -----

"tt.func"() ({
^bb0(%a: !tt.ptr<f16>):
  %r32 = "tt.make_range"() {start = 0 : i32, end = 32 : i32} : () -> tensor<32xi32>
  %r16 = "tt.make_range"() {start = 0 : i32, end = 16 : i32} : () -> tensor<16xi32>
  %zeros = arith.constant dense<0.0> : tensor<32x16xf32>
  %row32 = "tt.expand_dims"(%r32) {axis = 1 : i32} : (tensor<32xi32>) -> tensor<32x1xi32>
  %column32 = "tt.expand_dims"(%r32) {axis = 0 : i32} : (tensor<32xi32>) -> tensor<1x32xi32>
  %column16 = "tt.expand_dims"(%r16) {axis = 0 : i32} : (tensor<16xi32>) -> tensor<1x16xi32>
  %as = "tt.splat"(%a) : (!tt.ptr<f16>) -> tensor<32x32x!tt.ptr<f16>>
  %rb = "tt.broadcast"(%row32) : (tensor<32x1xi32>) -> tensor<32x32xi32>
  %cb = "tt.broadcast"(%column32) : (tensor<1x32xi32>) -> tensor<32x32xi32>
  %two = arith.constant dense<32> : tensor<32x32xi32>
  %r = arith.muli %rb, %two : tensor<32x32xi32>
  %index = arith.addi %r, %cb : tensor<32x32xi32>
  %at = "tt.addptr"(%as, %index) : (tensor<32x32x!tt.ptr<f16>>, tensor<32x32xi32>) -> tensor<32x32x!tt.ptr<f16>>
  // expected-error@+1 {{what is loaded is used by 'tt.store' too}}
  %x = "tt.load"(%at) {boundaryCheck = array<i32>, cache = 1 : i32, evict = 1 : i32, isVolatile = false, operandSegmentSizes = array<i32: 1, 0, 0>} : (tensor<32x32x!tt.ptr<f16>>) -> tensor<32x32xf16>
  %y = "test.matrix"() : () -> tensor<32x16xf16>
  %sum = "tt.dot"(%x, %y, %zeros) {inputPrecision = 2 : i32, maxNumImpreciseAcc = 0 : i32} : (tensor<32x32xf16>, tensor<32x16xf16>, tensor<32x16xf32>) -> tensor<32x16xf32>
  "tt.store"(%at, %x) {boundaryCheck = array<i32>, cache = 1 : i32, evict = 1 : i32} : (tensor<32x32x!tt.ptr<f16>>, tensor<32x32xf16>) -> ()
  "tt.return"() : () -> ()
}) {sym_name = "written", function_type = (!tt.ptr<f16>) -> ()} : () -> ()
