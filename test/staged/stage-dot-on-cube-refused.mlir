// RUN: flagc-opt %s --target ascend --passes stage-dot-on-cube --split-input-file --verify-diagnostics

"tt.func"() ({
^bb0(%m: i32, %go: i1, %p: !tt.ptr<f16>, %s: i64):
  %o = arith.constant 0 : i64
  %c16 = arith.constant 16 : i32
  %c8 = arith.constant 8 : i32
  %zeros = arith.constant dense<0.0> : tensor<16x16xf32>
  %ta = "staged.alloc"() {buffers = 1 : i64} : () -> !staged.tile<l1, 16x16xf16>
  "staged.nd2nz"(%p, %o, %s, %c16, %m, %ta) : (!tt.ptr<f16>, i64, i64, i32, i32, !staged.tile<l1, 16x16xf16>) -> ()
  %x = "staged.read_tile"(%ta) : (!staged.tile<l1, 16x16xf16>) -> tensor<16x16xf16>
  %tb = "staged.alloc"() {buffers = 1 : i64} : () -> !staged.tile<l1, 16x16xf16>
  "staged.nd2nz"(%p, %o, %s, %c8, %c16, %tb) : (!tt.ptr<f16>, i64, i64, i32, i32, !staged.tile<l1, 16x16xf16>) -> ()
  %y = "staged.read_tile"(%tb) : (!staged.tile<l1, 16x16xf16>) -> tensor<16x16xf16>
  // expected-error@+1 {{the operands end at different places along K: the left one at arg0, the right one at 8}}
  %sum = "tt.dot"(%x, %y, %zeros) {inputPrecision = 2 : i32, maxNumImpreciseAcc = 0 : i32} : (tensor<16x16xf16>, tensor<16x16xf16>, tensor<16x16xf32>) -> tensor<16x16xf32>
  "tt.return"() : () -> ()
}) {sym_name = "different_depths", function_type = (i32, i1, !tt.ptr<f16>, i64) -> ()} : () -> ()

// -----

"tt.func"() ({
^bb0(%m: i32, %go: i1, %p: !tt.ptr<f16>, %s: i64):
  %o = arith.constant 0 : i64
  %c16 = arith.constant 16 : i32
  %c8 = arith.constant 8 : i32
  %zeros = arith.constant dense<0.0> : tensor<16x16xf32>
  %ta = "staged.alloc"() {buffers = 1 : i64} : () -> !staged.tile<l1, 16x16xf16>
  "staged.nd2nz"(%p, %o, %s, %c16, %m, %ta) : (!tt.ptr<f16>, i64, i64, i32, i32, !staged.tile<l1, 16x16xf16>) -> ()
  %x = "staged.read_tile"(%ta) : (!staged.tile<l1, 16x16xf16>) -> tensor<16x16xf16>
  // expected-error@+1 {{the right operand comes from 'test.matrix', not from memory (tl.load)}}
  %y = "test.matrix"() : () -> tensor<16x16xf16>
  %sum = "tt.dot"(%x, %y, %zeros) {inputPrecision = 2 : i32, maxNumImpreciseAcc = 0 : i32} : (tensor<16x16xf16>, tensor<16x16xf16>, tensor<16x16xf32>) -> tensor<16x16xf32>
  "tt.return"() : () -> ()
}) {sym_name = "not_loaded", function_type = (i32, i1, !tt.ptr<f16>, i64) -> ()} : () -> ()

// -----

"tt.func"() ({
^bb0(%m: i32, %go: i1, %p: !tt.ptr<f16>, %s: i64):
  %o = arith.constant 0 : i64
  %c16 = arith.constant 16 : i32
  %c8 = arith.constant 8 : i32
  %zeros = arith.constant dense<0.0> : tensor<16x16xf32>
  %ta = "staged.alloc"() {buffers = 1 : i64} : () -> !staged.tile<l1, 16x16xf16>
  "staged.nd2nz"(%p, %o, %s, %c16, %m, %ta) : (!tt.ptr<f16>, i64, i64, i32, i32, !staged.tile<l1, 16x16xf16>) -> ()
  %x = "staged.read_tile"(%ta) : (!staged.tile<l1, 16x16xf16>) -> tensor<16x16xf16>
  scf.if %go {
    // expected-error@+1 {{the product is in an 'scf.if'}}
    %sum = "tt.dot"(%x, %x, %zeros) {inputPrecision = 2 : i32, maxNumImpreciseAcc = 0 : i32} : (tensor<16x16xf16>, tensor<16x16xf16>, tensor<16x16xf32>) -> tensor<16x16xf32>
  }
  "tt.return"() : () -> ()
}) {sym_name = "in_a_branch", function_type = (i32, i1, !tt.ptr<f16>, i64) -> ()} : () -> ()

// -----

"tt.func"() ({
^bb0(%m: i32, %go: i1, %p: !tt.ptr<f16>, %s: i64):
  %o = arith.constant 0 : i64
  %c16 = arith.constant 16 : i32
  %c8 = arith.constant 8 : i32
  %zeros = arith.constant dense<0.0> : tensor<16x16xf32>
  %ta = "staged.alloc"() {buffers = 1 : i64} : () -> !staged.tile<l1, 16x16xf16>
  "staged.nd2nz"(%p, %o, %s, %c16, %m, %ta) : (!tt.ptr<f16>, i64, i64, i32, i32, !staged.tile<l1, 16x16xf16>) -> ()
  %x = "staged.read_tile"(%ta) : (!staged.tile<l1, 16x16xf16>) -> tensor<16x16xf16>
  %zero = arith.constant 0 : i32
  %all = scf.for %i = %zero to %m step %c8 iter_args(%acc = %zeros) -> (tensor<16x16xf32>) : i32 {
    %sum = "tt.dot"(%x, %x, %acc) {inputPrecision = 2 : i32, maxNumImpreciseAcc = 0 : i32} : (tensor<16x16xf16>, tensor<16x16xf16>, tensor<16x16xf32>) -> tensor<16x16xf32>
    // expected-error@+1 {{the sum is read here before it is complete}}
    "test.use"(%sum) : (tensor<16x16xf32>) -> ()
    scf.yield %sum : tensor<16x16xf32>
  }
  "tt.return"() : () -> ()
}) {sym_name = "read_early", function_type = (i32, i1, !tt.ptr<f16>, i64) -> ()} : () -> ()

// -----

"tt.func"() ({
^bb0(%m: i32, %go: i1, %p: !tt.ptr<f16>, %s: i64):
  %o = arith.constant 0 : i64
  %c16 = arith.constant 16 : i32
  %zeros = arith.constant dense<0.0> : tensor<256x256xf32>
  %ta = "staged.alloc"() {buffers = 1 : i64} : () -> !staged.tile<l1, 256x16xf16>
  "staged.nd2nz"(%p, %o, %s, %m, %c16, %ta) : (!tt.ptr<f16>, i64, i64, i32, i32, !staged.tile<l1, 256x16xf16>) -> ()
  %x = "staged.read_tile"(%ta) : (!staged.tile<l1, 256x16xf16>) -> tensor<256x16xf16>
  %y = "staged.read_tile"(%ta) {transpose = true} : (!staged.tile<l1, 256x16xf16>) -> tensor<16x256xf16>
  // expected-error@+1 {{L0C overflow: an accumulator of 256x256 needs 262144 bytes, 910B3 has 131072; make the tiles smaller (resize-tiles)}}
  %sum = "tt.dot"(%x, %y, %zeros) {inputPrecision = 2 : i32, maxNumImpreciseAcc = 0 : i32} : (tensor<256x16xf16>, tensor<16x256xf16>, tensor<256x256xf32>) -> tensor<256x256xf32>
  "tt.return"() : () -> ()
}) {sym_name = "too_large", function_type = (i32, i1, !tt.ptr<f16>, i64) -> ()} : () -> ()
