// RUN: flagc-opt %s --passes libdevice-to-math 2>/dev/null | filecheck %s
// RUN: flagc-opt %s --verify-diagnostics --passes libdevice-to-math

// CHECK-LABEL: @one_op
// CHECK: math.tanh %arg0 : tensor<8xf32>
// CHECK-NEXT: math.powf %{{.*}}, %arg0 : tensor<8xf32>
// CHECK-NEXT: math.exp %arg1 : f64
tt.func public @one_op(%x: tensor<8xf32>, %s: f64) -> (tensor<8xf32>, f64) {
  %0 = tt.extern_elementwise %x {libname = "", libpath = "", pure = true, symbol = "__nv_tanhf"} : (tensor<8xf32>) -> tensor<8xf32>
  %1 = tt.extern_elementwise %0, %x {libname = "", libpath = "", pure = true, symbol = "__nv_powf"} : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %2 = tt.extern_elementwise %s {libname = "", libpath = "", pure = true, symbol = "__nv_exp"} : (f64) -> f64
  tt.return %1, %2 : tensor<8xf32>, f64
}

// The exponent is converted before it is spread.
// CHECK-LABEL: @power_of_integer
// CHECK: %[[N:.*]] = arith.sitofp %arg1 : i32 to f32
// CHECK: %[[SPREAD:.*]] = tt.splat %[[N]] : f32 -> tensor<8xf32>
// CHECK: math.powf %arg0, %[[SPREAD]]
tt.func public @power_of_integer(%x: tensor<8xf32>, %n: i32) -> tensor<8xf32> {
  %spread = tt.splat %n : i32 -> tensor<8xi32>
  %0 = tt.extern_elementwise %x, %spread {libname = "", libpath = "", pure = true, symbol = "__nv_powif"} : (tensor<8xf32>, tensor<8xi32>) -> tensor<8xf32>
  tt.return %0 : tensor<8xf32>
}

// CHECK-LABEL: @composed
// CHECK: %[[NAN:.*]] = arith.cmpf une, %arg0, %arg0 : tensor<8xf32>
// CHECK: arith.extui %[[NAN]] : tensor<8xi1> to tensor<8xi32>
// CHECK: math.floor
// CHECK-NOT: tt.extern_elementwise
tt.func public @composed(%x: tensor<8xf32>) -> (tensor<8xi32>, tensor<8xf32>) {
  %0 = tt.extern_elementwise %x {libname = "", libpath = "", pure = true, symbol = "__nv_isnanf"} : (tensor<8xf32>) -> tensor<8xi32>
  %1 = tt.extern_elementwise %x {libname = "", libpath = "", pure = true, symbol = "__nv_truncf"} : (tensor<8xf32>) -> tensor<8xf32>
  tt.return %0, %1 : tensor<8xi32>, tensor<8xf32>
}

// Another library's function is not this pass's business; an unknown one of libdevice's is said.
// CHECK-LABEL: @left_alone
// CHECK: symbol = "__hmf_tanf"
// CHECK: symbol = "__nv_lgammaf"
tt.func public @left_alone(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = tt.extern_elementwise %x {libname = "", libpath = "", pure = true, symbol = "__hmf_tanf"} : (tensor<8xf32>) -> tensor<8xf32>
  // expected-remark@+1 {{left alone: there is no equivalent of libdevice's '__nv_lgammaf' here}}
  %1 = tt.extern_elementwise %0 {libname = "", libpath = "", pure = true, symbol = "__nv_lgammaf"} : (tensor<8xf32>) -> tensor<8xf32>
  tt.return %1 : tensor<8xf32>
}
