// RUN: flagc-opt %s --target ascend --stage staged --passes 'insert-sync' | filecheck %s

// Buffers are free at first: one flag for each. A and B share flags, L0A and L0B as well; the
// accumulator is stored once, after the loop.
// CHECK: "staged.set_flag"() {event = 0 : i32, from = "M", to = "MTE1"}
// CHECK: "staged.alloc"() {{.*}}l0c
// CHECK: scf.for
// CHECK: %[[A:.*]] = "staged.alloc"()
// CHECK: "staged.wait_flag"(%[[A]]) {event = 0 : i32, from = "MTE1", to = "MTE2"}
// CHECK: "staged.nd2nz"
// CHECK: "staged.nd2nz"
// CHECK-NEXT: "staged.set_flag"(%[[A]]) {event = 0 : i32, from = "MTE2", to = "MTE1"}
// CHECK-DAG: "staged.wait_flag"(%[[A]]) {event = 0 : i32, from = "MTE2", to = "MTE1"}
// CHECK-DAG: "staged.wait_flag"() {event = 0 : i32, from = "M", to = "MTE1"}
// CHECK: "staged.load_l0a"
// CHECK-NEXT: "staged.load_l0b"
// CHECK-DAG: "staged.set_flag"(%[[A]]) {event = 0 : i32, from = "MTE1", to = "MTE2"}
// CHECK-DAG: "staged.set_flag"() {event = 0 : i32, from = "MTE1", to = "M"}
// CHECK: "staged.wait_flag"() {event = 0 : i32, from = "MTE1", to = "M"}
// CHECK-NEXT: "staged.mad"
// CHECK-NEXT: "staged.set_flag"() {event = 0 : i32, from = "M", to = "MTE1"}
// CHECK: "staged.set_flag"() {event = 0 : i32, from = "M", to = "FIX"}
// CHECK-NEXT: "staged.wait_flag"() {event = 0 : i32, from = "M", to = "FIX"}
// CHECK-NEXT: "staged.fixpipe"
// CHECK-DAG: "staged.wait_flag"() {event = 0 : i32, from = "M", to = "MTE1"}
// CHECK-DAG: "staged.wait_flag"() {event = 0 : i32, from = "MTE1", to = "MTE2"}
// CHECK-DAG: "staged.wait_flag"() {event = 1 : i32, from = "MTE1", to = "MTE2"}
// CHECK: tt.return
"tt.func"() ({
^bb0(%a: !tt.ptr<f16>, %b: !tt.ptr<f16>, %out: !tt.ptr<f16>, %n: i32, %k: i32, %stride: i64):
  %zero = arith.constant 0 : i32
  %sixteen = arith.constant 16 : i32
  %true = arith.constant true
  %x = "tt.get_program_id"() {axis = 0 : i32} : () -> i32
  %y = "tt.get_program_id"() {axis = 1 : i32} : () -> i32
  %row = arith.extsi %x : i32 to i64
  %column = arith.extsi %y : i32 to i64
  %c = "staged.alloc"() {addresses = array<i64: 0>, buffers = 1 : i32} : () -> !staged.tile<l0c, 16x16xf32>
  scf.for %i = %zero to %k step %sixteen : i32 {
    %left = arith.subi %k, %i : i32
    %wide = arith.extsi %i : i32 to i64
    %ao = arith.addi %row, %wide : i64
    %down = arith.muli %wide, %stride : i64
    %bo = arith.addi %column, %down : i64
    %ta = "staged.alloc"() {addresses = array<i64: 0, 512>, buffers = 2 : i32} : () -> !staged.tile<l1, 16x16xf16>
    "staged.nd2nz"(%a, %ao, %stride, %n, %left, %ta) : (!tt.ptr<f16>, i64, i64, i32, i32, !staged.tile<l1, 16x16xf16>) -> ()
    %tb = "staged.alloc"() {addresses = array<i64: 1024, 1536>, buffers = 2 : i32} : () -> !staged.tile<l1, 16x16xf16>
    "staged.nd2nz"(%b, %bo, %stride, %left, %n, %tb) : (!tt.ptr<f16>, i64, i64, i32, i32, !staged.tile<l1, 16x16xf16>) -> ()
    %la = "staged.alloc"() {addresses = array<i64: 0>, buffers = 1 : i32} : () -> !staged.tile<l0a, 16x16xf16>
    %lb = "staged.alloc"() {addresses = array<i64: 0>, buffers = 1 : i32} : () -> !staged.tile<l0b, 16x16xf16>
    "staged.load_l0a"(%ta, %zero, %zero, %n, %left, %la) : (!staged.tile<l1, 16x16xf16>, i32, i32, i32, i32, !staged.tile<l0a, 16x16xf16>) -> ()
    "staged.load_l0b"(%tb, %zero, %zero, %left, %n, %lb) : (!staged.tile<l1, 16x16xf16>, i32, i32, i32, i32, !staged.tile<l0b, 16x16xf16>) -> ()
    "staged.mad"(%la, %lb, %c, %n, %left, %n, %true) : (!staged.tile<l0a, 16x16xf16>, !staged.tile<l0b, 16x16xf16>, !staged.tile<l0c, 16x16xf32>, i32, i32, i32, i1) -> ()
  }
  "staged.fixpipe"(%c, %out, %row, %stride, %n, %n) : (!staged.tile<l0c, 16x16xf32>, !tt.ptr<f16>, i64, i64, i32, i32) -> ()
  "tt.return"() : () -> ()
}) {sym_name = "gemm", function_type = (!tt.ptr<f16>, !tt.ptr<f16>, !tt.ptr<f16>, i32, i32, i64) -> ()} : () -> ()
