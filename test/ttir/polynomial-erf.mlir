// RUN: flagc-opt %s --split-input-file --verify-diagnostics --passes polynomial-erf
// RUN: flagc-opt %s --split-input-file --passes polynomial-erf | filecheck %s

// CHECK-LABEL: @scalar
// CHECK: arith.minimumf
// CHECK: arith.maximumf
// CHECK-COUNT-15: math.fma
// CHECK: arith.mulf
// CHECK-NOT: math.erf
tt.func public @scalar(%p: !tt.ptr<f32>, %x: f32) {
  %e = math.erf %x : f32
  tt.store %p, %e : !tt.ptr<f32>
  tt.return
}

// -----

// CHECK-LABEL: @double
// CHECK: math.erf
tt.func public @double(%p: !tt.ptr<f64>, %x: f64) {
  // expected-remark@+1 {{left as it is: f64 is not f32}}
  %e = math.erf %x : f64
  tt.store %p, %e : !tt.ptr<f64>
  tt.return
}
