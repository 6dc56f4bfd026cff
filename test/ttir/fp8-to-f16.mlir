// RUN: flagc-opt %s --split-input-file --passes fp8-to-f16 | filecheck %s
// RUN: flagc-opt %s --split-input-file --verify-diagnostics --passes fp8-to-f16

// CHECK-LABEL: @product
// CHECK-SAME: %arg0: !tt.ptr<i8>
// CHECK: scf.for {{.*}} iter_args(%[[P:.*]] = %{{.*}}, %{{.*}} = %{{.*}}) -> (tensor<16x16x!tt.ptr<i8>>, tensor<16x16xf32>)
// CHECK: %[[CODES:.*]] = tt.load %[[P]], %arg1, %{{.*}} : tensor<16x16x!tt.ptr<i8>>
// CHECK: arith.extsi %[[CODES]] : tensor<16x16xi8> to tensor<16x16xi16>
// CHECK: arith.shli
// CHECK: tt.bitcast %{{.*}} : tensor<16x16xi16> -> tensor<16x16xf16>
// CHECK: arith.mulf
// CHECK: %[[N:.*]] = arith.select
// CHECK: %[[T:.*]] = tt.trans %[[N]] {order = array<i32: 1, 0>} : tensor<16x16xf16> -> tensor<16x16xf16>
// CHECK: tt.dot %[[N]], %[[T]], %{{.*}} : tensor<16x16xf16> * tensor<16x16xf16> -> tensor<16x16xf32>
tt.func public @product(%a: !tt.ptr<f8E4M3FN>, %mask: tensor<16x16xi1>, %out: tensor<16x16x!tt.ptr<f32>>, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %none = arith.constant dense<0.0> : tensor<16x16xf8E4M3FN>
  %zero = arith.constant dense<0.0> : tensor<16x16xf32>
  %step = arith.constant dense<16> : tensor<16x16xi32>
  %as = tt.splat %a : !tt.ptr<f8E4M3FN> -> tensor<16x16x!tt.ptr<f8E4M3FN>>
  %end:2 = scf.for %i = %c0 to %n step %c1 iter_args(%p = %as, %sum = %zero) -> (tensor<16x16x!tt.ptr<f8E4M3FN>>, tensor<16x16xf32>) : i32 {
    %v = tt.load %p, %mask, %none : tensor<16x16x!tt.ptr<f8E4M3FN>>
    %t = tt.trans %v {order = array<i32: 1, 0>} : tensor<16x16xf8E4M3FN> -> tensor<16x16xf8E4M3FN>
    %next = tt.dot %v, %t, %sum : tensor<16x16xf8E4M3FN> * tensor<16x16xf8E4M3FN> -> tensor<16x16xf32>
    %moved = tt.addptr %p, %step : tensor<16x16x!tt.ptr<f8E4M3FN>>, tensor<16x16xi32>
    scf.yield %moved, %next : tensor<16x16x!tt.ptr<f8E4M3FN>>, tensor<16x16xf32>
  }
  tt.store %out, %end#1 : tensor<16x16x!tt.ptr<f32>>
  tt.return
}

// -----

// Conversions become those of f16.
// CHECK-LABEL: @extended
// CHECK: %[[H:.*]] = tt.bitcast %{{.*}} : tensor<8xi16> -> tensor<8xf16>
// CHECK-NOT: tt.fp_to_fp
// CHECK-DAG: arith.extf %[[H]] : tensor<8xf16> to tensor<8xf32>
// CHECK-DAG: tt.store %arg1, %[[H]]
tt.func public @extended(%p: tensor<8x!tt.ptr<f8E5M2>>, %h: tensor<8x!tt.ptr<f16>>, %f: tensor<8x!tt.ptr<f32>>) {
  %v = tt.load %p : tensor<8x!tt.ptr<f8E5M2>>
  %half = tt.fp_to_fp %v : tensor<8xf8E5M2> -> tensor<8xf16>
  %single = tt.fp_to_fp %v : tensor<8xf8E5M2> -> tensor<8xf32>
  tt.store %h, %half : tensor<8x!tt.ptr<f16>>
  tt.store %f, %single : tensor<8x!tt.ptr<f32>>
  tt.return
}

// -----

// The 8-bit numbers are stored.
// CHECK-LABEL: @copied
// CHECK: tt.load %arg0 : tensor<8x!tt.ptr<f8E5M2>>
tt.func public @copied(%p: tensor<8x!tt.ptr<f8E5M2>>, %q: tensor<8x!tt.ptr<f8E5M2>>) {
  %v = tt.load %p : tensor<8x!tt.ptr<f8E5M2>>
  // expected-remark@+1 {{not applied: this op needs f8E5M2 itself, not what f8E5M2 stands for}}
  tt.store %q, %v : tensor<8x!tt.ptr<f8E5M2>>
  tt.return
}

// -----

// Their bits are looked at.
// CHECK-LABEL: @bits
// CHECK: tt.bitcast %{{.*}} : tensor<8xf8E4M3FN> -> tensor<8xi8>
tt.func public @bits(%p: tensor<8x!tt.ptr<f8E4M3FN>>, %q: tensor<8x!tt.ptr<i8>>) {
  %v = tt.load %p : tensor<8x!tt.ptr<f8E4M3FN>>
  // expected-remark@+1 {{not applied: this op needs f8E4M3FN itself}}
  %b = tt.bitcast %v : tensor<8xf8E4M3FN> -> tensor<8xi8>
  tt.store %q, %b : tensor<8x!tt.ptr<i8>>
  tt.return
}
