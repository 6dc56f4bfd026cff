// RUN: flagc-opt %s --split-input-file --verify-diagnostics --target cuda:sm90 --passes loads-to-descriptors

tt.func public @wrapped(%p: !tt.ptr<f32> {tt.divisibility = 16 : i32}, %m: i32) {
  %lane = tt.make_range {end = 16 : i32, start = 0 : i32} : tensor<16xi32>
  %ms = tt.splat %m : i32 -> tensor<16xi32>
  %rows = arith.remsi %lane, %ms : tensor<16xi32>
  %sixteens = arith.constant dense<16> : tensor<16x1xi32>
  %r = tt.expand_dims %rows {axis = 1 : i32} : tensor<16xi32> -> tensor<16x1xi32>
  %c = tt.expand_dims %lane {axis = 0 : i32} : tensor<16xi32> -> tensor<1x16xi32>
  %rs = arith.muli %r, %sixteens : tensor<16x1xi32>
  %rb = tt.broadcast %rs : tensor<16x1xi32> -> tensor<16x16xi32>
  %cb = tt.broadcast %c : tensor<1x16xi32> -> tensor<16x16xi32>
  %at = arith.addi %rb, %cb : tensor<16x16xi32>
  %ps = tt.splat %p : !tt.ptr<f32> -> tensor<16x16x!tt.ptr<f32>>
  %q = tt.addptr %ps, %at : tensor<16x16x!tt.ptr<f32>>, tensor<16x16xi32>
  // expected-remark@+1 {{left as it is: its offsets wrap around; unwrap-modulo-offsets makes them plain}}
  %v = tt.load %q : tensor<16x16x!tt.ptr<f32>>
  tt.return
}

// -----

tt.func public @every_second(%p: !tt.ptr<f32> {tt.divisibility = 16 : i32}) {
  %lane = tt.make_range {end = 16 : i32, start = 0 : i32} : tensor<16xi32>
  %sixteens = arith.constant dense<16> : tensor<16x1xi32>
  %twos = arith.constant dense<2> : tensor<1x16xi32>
  %r = tt.expand_dims %lane {axis = 1 : i32} : tensor<16xi32> -> tensor<16x1xi32>
  %c = tt.expand_dims %lane {axis = 0 : i32} : tensor<16xi32> -> tensor<1x16xi32>
  %rs = arith.muli %r, %sixteens : tensor<16x1xi32>
  %cs = arith.muli %c, %twos : tensor<1x16xi32>
  %rb = tt.broadcast %rs : tensor<16x1xi32> -> tensor<16x16xi32>
  %cb = tt.broadcast %cs : tensor<1x16xi32> -> tensor<16x16xi32>
  %at = arith.addi %rb, %cb : tensor<16x16xi32>
  %ps = tt.splat %p : !tt.ptr<f32> -> tensor<16x16x!tt.ptr<f32>>
  %q = tt.addptr %ps, %at : tensor<16x16x!tt.ptr<f32>>, tensor<16x16xi32>
  // expected-remark@+1 {{left as it is: no dimension is known to have stride 1}}
  %v = tt.load %q : tensor<16x16x!tt.ptr<f32>>
  tt.return
}

// -----

// Vectors are passed over in silence.
tt.func public @vector(%p: !tt.ptr<f32> {tt.divisibility = 16 : i32}) {
  %lane = tt.make_range {end = 16 : i32, start = 0 : i32} : tensor<16xi32>
  %ps = tt.splat %p : !tt.ptr<f32> -> tensor<16x!tt.ptr<f32>>
  %q = tt.addptr %ps, %lane : tensor<16x!tt.ptr<f32>>, tensor<16xi32>
  %v = tt.load %q : tensor<16x!tt.ptr<f32>>
  tt.return
}

// -----

// A block may start at any multiple of 8 bytes, whatever the arguments are.
tt.func public @offset_by_program(%p: !tt.ptr<f16> {tt.divisibility = 16 : i32}) {
  %c4 = arith.constant 4 : i32
  %pid = tt.get_program_id x : i32
  %first = arith.muli %pid, %c4 : i32
  %lane = tt.make_range {end = 16 : i32, start = 0 : i32} : tensor<16xi32>
  %sixteens = arith.constant dense<16> : tensor<16x1xi32>
  %r = tt.expand_dims %lane {axis = 1 : i32} : tensor<16xi32> -> tensor<16x1xi32>
  %c = tt.expand_dims %lane {axis = 0 : i32} : tensor<16xi32> -> tensor<1x16xi32>
  %rs = arith.muli %r, %sixteens : tensor<16x1xi32>
  %rb = tt.broadcast %rs : tensor<16x1xi32> -> tensor<16x16xi32>
  %cb = tt.broadcast %c : tensor<1x16xi32> -> tensor<16x16xi32>
  %at = arith.addi %rb, %cb : tensor<16x16xi32>
  %from = tt.addptr %p, %first : !tt.ptr<f16>, i32
  %ps = tt.splat %from : !tt.ptr<f16> -> tensor<16x16x!tt.ptr<f16>>
  %q = tt.addptr %ps, %at : tensor<16x16x!tt.ptr<f16>>, tensor<16x16xi32>
  // expected-remark@+1 {{left as it is: its strides or offsets are not known to be 16-byte aligned}}
  %v = tt.load %q : tensor<16x16x!tt.ptr<f16>>
  tt.return
}
