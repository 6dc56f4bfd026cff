// RUN: flagc-opt %s --target ascend --stage staged --passes 'multi-buffer' | filecheck %s
// RUN: flagc-opt %s --target ascend --stage staged --passes 'multi-buffer{l1=4 l0=1}' | filecheck %s --check-prefix FOUR

// What a loop fills rotates, num_stages (3) deep in L1; the accumulator outside of it does not.
// CHECK: "staged.alloc"() {buffers = 1 : i32} {{.*}}l0c
// CHECK: "staged.alloc"() {buffers = 3 : i32} {{.*}}l1
// CHECK: "staged.alloc"() {buffers = 3 : i32} {{.*}}l1
// CHECK: "staged.alloc"() {buffers = 2 : i32} {{.*}}l0a
// CHECK: "staged.alloc"() {buffers = 2 : i32} {{.*}}l0b
// FOUR: "staged.alloc"() {buffers = 4 : i32} {{.*}}l1
// FOUR: "staged.alloc"() {buffers = 1 : i32} {{.*}}l0a
"tt.func"() ({
^bb0(%a: !tt.ptr<f16>, %b: !tt.ptr<f16>, %out: !tt.ptr<f16>, %n: i32, %k: i32, %stride: i64):
  %zero = arith.constant 0 : i32
  %sixteen = arith.constant 16 : i32
  %true = arith.constant true
  %x = "tt.get_program_id"() {axis = 0 : i32} : () -> i32
  %y = "tt.get_program_id"() {axis = 1 : i32} : () -> i32
  %row = arith.extsi %x : i32 to i64
  %column = arith.extsi %y : i32 to i64
  %c = "staged.alloc"() {buffers = 1 : i32} : () -> !staged.tile<l0c, 16x16xf32>
  scf.for %i = %zero to %k step %sixteen : i32 {
    %left = arith.subi %k, %i : i32
    %wide = arith.extsi %i : i32 to i64
    %ao = arith.addi %row, %wide : i64
    %down = arith.muli %wide, %stride : i64
    %bo = arith.addi %column, %down : i64
    %ta = "staged.alloc"() {buffers = 1 : i32} : () -> !staged.tile<l1, 16x16xf16>
    "staged.nd2nz"(%a, %ao, %stride, %n, %left, %ta) : (!tt.ptr<f16>, i64, i64, i32, i32, !staged.tile<l1, 16x16xf16>) -> ()
    %tb = "staged.alloc"() {buffers = 1 : i32} : () -> !staged.tile<l1, 16x16xf16>
    "staged.nd2nz"(%b, %bo, %stride, %left, %n, %tb) : (!tt.ptr<f16>, i64, i64, i32, i32, !staged.tile<l1, 16x16xf16>) -> ()
    %la = "staged.alloc"() {buffers = 1 : i32} : () -> !staged.tile<l0a, 16x16xf16>
    %lb = "staged.alloc"() {buffers = 1 : i32} : () -> !staged.tile<l0b, 16x16xf16>
    "staged.load_l0a"(%ta, %zero, %zero, %n, %left, %la) : (!staged.tile<l1, 16x16xf16>, i32, i32, i32, i32, !staged.tile<l0a, 16x16xf16>) -> ()
    "staged.load_l0b"(%tb, %zero, %zero, %left, %n, %lb) : (!staged.tile<l1, 16x16xf16>, i32, i32, i32, i32, !staged.tile<l0b, 16x16xf16>) -> ()
    "staged.mad"(%la, %lb, %c, %n, %left, %n, %true) : (!staged.tile<l0a, 16x16xf16>, !staged.tile<l0b, 16x16xf16>, !staged.tile<l0c, 16x16xf32>, i32, i32, i32, i1) -> ()
  }
  "staged.fixpipe"(%c, %out, %row, %stride, %n, %n) : (!staged.tile<l0c, 16x16xf32>, !tt.ptr<f16>, i64, i64, i32, i32) -> ()
  "tt.return"() : () -> ()
}) {sym_name = "gemm", function_type = (!tt.ptr<f16>, !tt.ptr<f16>, !tt.ptr<f16>, i32, i32, i64) -> ()} : () -> ()
