// RUN: flagc-opt %s --split-input-file --verify-diagnostics --passes specialise-arguments
// RUN: flagc-opt %s --split-input-file --passes specialise-arguments | filecheck %s
// RUN: flagc-opt %s --split-input-file --passes specialise-arguments,drop-proven-masks | filecheck %s --check-prefix MASK
// RUN: not flagc-opt %s --split-input-file --passes specialise-arguments{largest=12} 2>&1 | filecheck %s --check-prefix LARGEST

// LARGEST: largest is 12; it must be a power of two

// A size becomes a number, and a mask that it was needed for goes away.
// CHECK-LABEL: @store
// CHECK-SAME: (%{{.*}}: !tt.ptr<i32> {tt.divisibility = 16 : i32}, %{{.*}}: i32, %[[STRIDE:.*]]: i64 {tt.divisibility = 16 : i32}
// CHECK: %[[N:.*]] = arith.constant 40 : i32
// CHECK: tt.splat %[[N]] : i32
// CHECK: arith.trunci %[[STRIDE]]
// MASK-LABEL: @store
// MASK: tt.store %{{[^,]*}}, %{{[^,]*}} : tensor<16x!tt.ptr<i32>>
tt.func public @store(%p: !tt.ptr<i32> {tt.divisibility = 16 : i32}, %n: i32 {flagc.value = 40 : i32}, %stride: i64 {tt.divisibility = 16 : i32}) {
  %lane = tt.make_range {end = 16 : i32, start = 0 : i32} : tensor<16xi32>
  %ns = tt.splat %n : i32 -> tensor<16xi32>
  %in = arith.cmpi slt, %lane, %ns : tensor<16xi32>
  %ps = tt.splat %p : !tt.ptr<i32> -> tensor<16x!tt.ptr<i32>>
  %q = tt.addptr %ps, %lane : tensor<16x!tt.ptr<i32>>, tensor<16xi32>
  %s = arith.trunci %stride : i64 to i32
  %v = tt.splat %s : i32 -> tensor<16xi32>
  tt.store %q, %v, %in : tensor<16x!tt.ptr<i32>>
  tt.return
}

// -----

// CHECK-LABEL: @unknown
// CHECK-SAME: %{{.*}}: i32 {tt.divisibility = 8 : i32}
// expected-remark@+1 {{not applied: no launch says what the kernel's arguments are}}
tt.func public @unknown(%p: !tt.ptr<i32>, %n: i32 {tt.divisibility = 8 : i32}) {
  tt.store %p, %n : !tt.ptr<i32>
  tt.return
}
