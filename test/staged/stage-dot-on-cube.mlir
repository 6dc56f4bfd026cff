// RUN: flagc-opt %s --target ascend --passes stage-dot-on-cube | filecheck %s

// Half of L0B holds 128 of K for 128 columns. What reads the sum is no store, so that every row and
// column of it counts: tiles are filled, and all of them is multiplied. Without K the sum is zero.
// CHECK: %[[C:.*]] = "staged.alloc"() {{.*}} -> !staged.tile<l0c, 32x128xf32>
// CHECK: %[[FRESH:.*]] = scf.for {{.*}} iter_args(%[[F:.*]] = %true{{.*}}) -> (i1)
// CHECK: %[[REST:.*]] = arith.subi %arg4
// CHECK: %[[A:.*]] = "staged.alloc"() {{.*}} -> !staged.tile<l1, 32x512xf16>
// CHECK: "staged.fill"(%[[A]])
// CHECK: "staged.nd2nz"({{.*}}, %[[A]])
// CHECK: %[[B:.*]] = "staged.alloc"() {{.*}} -> !staged.tile<l1, 512x128xf16>
// CHECK: "staged.fill"(%[[B]])
// CHECK: "staged.nd2nz"({{.*}}, %[[B]])
// CHECK: scf.for %[[K:.*]] = %c0_i32{{.*}} to %c512_i32{{.*}} step %c128_i32{{.*}} iter_args(%[[G:.*]] = %[[F]]) -> (i1)
// CHECK: %[[PART:.*]] = arith.subi %[[REST]], %[[K]]
// CHECK: %[[L0A:.*]] = "staged.alloc"() {{.*}} -> !staged.tile<l0a, 32x128xf16>
// CHECK: %[[L0B:.*]] = "staged.alloc"() {{.*}} -> !staged.tile<l0b, 128x128xf16>
// CHECK: "staged.load_l0a"(%[[A]], %c0_i32{{.*}}, %[[K]], %c32_i32{{.*}}, %[[PART]], %[[L0A]])
// CHECK: "staged.load_l0b"(%[[B]], %[[K]], %c0_i32{{.*}}, %[[PART]], %c128_i32{{.*}}, %[[L0B]])
// CHECK: "staged.mad"(%[[L0A]], %[[L0B]], %[[C]], %c32_i32{{.*}}, %[[PART]], %c128_i32{{.*}}, %[[G]])
// CHECK: scf.yield %false
// CHECK: scf.if %[[FRESH]]
// CHECK: "staged.barrier"() {pipe = "ALL"}
// CHECK: "staged.fill"
// CHECK: "staged.mad"(%{{.*}}, %{{.*}}, %[[C]], %c32_i32{{.*}}, %c16_i32{{.*}}, %c128_i32{{.*}}, %true
// CHECK: "staged.barrier"() {pipe = "ALL"}
// CHECK: %[[SUM:.*]] = "staged.read_accumulator"(%[[C]], %false
// CHECK: "test.use"(%[[SUM]])
"tt.func"() ({
^bb0(%a: !tt.ptr<f16>, %b: !tt.ptr<f16>, %m: i32, %n: i32, %k: i32, %s: i64):
  %zero = arith.constant 0 : i32
  %block = arith.constant 512 : i32
  %o = arith.constant 0 : i64
  %zeros = arith.constant dense<0.0> : tensor<32x128xf32>
  %sum = scf.for %i = %zero to %k step %block iter_args(%acc = %zeros) -> (tensor<32x128xf32>) : i32 {
    %rest = arith.subi %k, %i : i32
    %ta = "staged.alloc"() {buffers = 1 : i64} : () -> !staged.tile<l1, 32x512xf16>
    "staged.nd2nz"(%a, %o, %s, %m, %rest, %ta) : (!tt.ptr<f16>, i64, i64, i32, i32, !staged.tile<l1, 32x512xf16>) -> ()
    %x = "staged.read_tile"(%ta) : (!staged.tile<l1, 32x512xf16>) -> tensor<32x512xf16>
    %tb = "staged.alloc"() {buffers = 1 : i64} : () -> !staged.tile<l1, 512x128xf16>
    "staged.nd2nz"(%b, %o, %s, %rest, %n, %tb) : (!tt.ptr<f16>, i64, i64, i32, i32, !staged.tile<l1, 512x128xf16>) -> ()
    %y = "staged.read_tile"(%tb) : (!staged.tile<l1, 512x128xf16>) -> tensor<512x128xf16>
    %next = "tt.dot"(%x, %y, %acc) {inputPrecision = 2 : i32, maxNumImpreciseAcc = 0 : i32} : (tensor<32x512xf16>, tensor<512x128xf16>, tensor<32x128xf32>) -> tensor<32x128xf32>
    scf.yield %next : tensor<32x128xf32>
  }
  "test.use"(%sum) : (tensor<32x128xf32>) -> ()
  "tt.return"() : () -> ()
}) {sym_name = "parts_of_k", function_type = (!tt.ptr<f16>, !tt.ptr<f16>, i32, i32, i32, i64) -> ()} : () -> ()
