// RUN: flagc-opt %s --target ascend --stage staged --passes 'split-k-on-cores{ways=3 cores=4 slots=5}' | filecheck %s

// Between two barriers there is room for 4 * 5 parts, those of 6 tiles.
// CHECK: %[[SHARED:.*]] = "staged.alloc"() {{.*}}shared = true} {{.*}}tile<gm, 80x16xf32>
// CHECK: scf.for %[[FIRST:.*]] = %c0_i32{{.*}} to %[[TILES:.*]] step %c6_i32
// CHECK: %[[NEXT:.*]] = arith.addi %[[FIRST]], %c6_i32
// CHECK: %[[END:.*]] = arith.minsi %[[NEXT]], %[[TILES]]

// The cube cores' parts: number / 3 is the tile, number % 3 the part.
// CHECK: scf.for %[[NUMBER:.*]] = %{{.*}} to %{{.*}} step %c4_i32
// CHECK: arith.divsi %[[NUMBER]], %c3_i32
// CHECK: %[[WAY:.*]] = arith.remsi %[[NUMBER]], %c3_i32
// CHECK: %[[THERE:.*]] = arith.cmpi slt, %[[WAY]], %{{.*}}
// CHECK: %[[SKIPPED:.*]] = arith.muli %[[WAY]], %[[LENGTH:.*]]
// CHECK: %[[BEGIN:.*]] = arith.addi %{{.*}}, %[[SKIPPED]]
// CHECK: %[[STOP:.*]] = arith.addi %[[BEGIN]], %[[LENGTH]]
// CHECK: %[[LAST:.*]] = arith.minsi %arg4, %[[STOP]]
// CHECK: %[[FRESH:.*]] = scf.for %{{.*}} = %[[BEGIN]] to %[[LAST]]
// CHECK: "staged.mad"
// CHECK: arith.andi %[[FRESH]], %[[THERE]]
// CHECK: scf.if
// CHECK: %[[ROW:.*]] = arith.muli %{{.*}}, %c16_i32
// CHECK: %[[M:.*]] = arith.select %[[THERE]], %arg3, %c0_i32
// CHECK: "staged.spill"(%{{.*}}, %[[SHARED]], %[[M]], %arg3, %[[ROW]])

// The vector cores' tiles.
// CHECK: "staged.grid_barrier"() {flag = 7 : i32, from = "FIX", to = "AIV.MTE2"}
// CHECK: scf.for %{{.*}} = %{{.*}} to %[[END]] step %c4_i32
// CHECK: "staged.fetch"(%[[SHARED]], %[[PLACE:.*]], %arg3, %arg3, %[[SUM:[0-9]+]])
// CHECK: scf.for %[[OTHER:.*]] = %c1_i32{{.*}} to %[[COUNT:.*]] step %c1_i32
// CHECK: %[[ROWS:.*]] = arith.muli %[[OTHER]], %c16_i32
// CHECK: %[[AT:.*]] = arith.addi %[[PLACE]], %[[ROWS]]
// CHECK: "staged.fetch"(%[[SHARED]], %[[AT]], %arg3, %arg3, %[[PART:[0-9]+]])
// CHECK: "staged.vector_binary"(%[[SUM]], %[[PART]], %arg3, %arg3, %[[SUM]]) {kind = "add"}
// CHECK: "staged.store_ub"(%[[SUM]]
// CHECK: arith.cmpi slt, %[[END]], %[[TILES]]
// CHECK: scf.if
// CHECK-NEXT: "staged.grid_barrier"() {flag = 6 : i32, from = "AIV.MTE2", to = "FIX"}
// CHECK: flagc.blocks_per_program = 3 : i32, flagc.max_blocks = 4 : i32
"tt.func"() ({
^bb0(%a: !tt.ptr<f16>, %b: !tt.ptr<f16>, %out: !tt.ptr<f32>, %n: i32, %k: i32, %stride: i64):
  %zero = arith.constant 0 : i32
  %sixteen = arith.constant 16 : i32
  %true = arith.constant true
  %x = "tt.get_program_id"() {axis = 0 : i32} : () -> i32
  %row = arith.extsi %x : i32 to i64
  %c = "staged.alloc"() {buffers = 1 : i64} : () -> !staged.tile<l0c, 16x16xf32>
  %fresh = scf.for %i = %zero to %k step %sixteen iter_args(%first = %true) -> (i1) : i32 {
    %left = arith.subi %k, %i : i32
    %wide = arith.extsi %i : i32 to i64
    %ao = arith.addi %row, %wide : i64
    %ta = "staged.alloc"() {buffers = 1 : i64} : () -> !staged.tile<l1, 16x16xf16>
    "staged.nd2nz"(%a, %ao, %stride, %n, %left, %ta) : (!tt.ptr<f16>, i64, i64, i32, i32, !staged.tile<l1, 16x16xf16>) -> ()
    %la = "staged.alloc"() {buffers = 1 : i64} : () -> !staged.tile<l0a, 16x16xf16>
    %lb = "staged.alloc"() {buffers = 1 : i64} : () -> !staged.tile<l0b, 16x16xf16>
    "staged.load_l0a"(%ta, %zero, %zero, %n, %left, %la) : (!staged.tile<l1, 16x16xf16>, i32, i32, i32, i32, !staged.tile<l0a, 16x16xf16>) -> ()
    "staged.load_l0b"(%ta, %zero, %zero, %left, %n, %lb) : (!staged.tile<l1, 16x16xf16>, i32, i32, i32, i32, !staged.tile<l0b, 16x16xf16>) -> ()
    "staged.mad"(%la, %lb, %c, %n, %left, %n, %first) : (!staged.tile<l0a, 16x16xf16>, !staged.tile<l0b, 16x16xf16>, !staged.tile<l0c, 16x16xf32>, i32, i32, i32, i1) -> ()
    %false = arith.constant false
    scf.yield %false : i1
  }
  scf.if %fresh {
    "staged.barrier"() {pipe = "ALL"} : () -> ()
  }
  %gm = "staged.alloc"() {buffers = 1 : i64} : () -> !staged.tile<gm, 16x16xf32>
  "staged.spill"(%c, %gm, %n, %n) : (!staged.tile<l0c, 16x16xf32>, !staged.tile<gm, 16x16xf32>, i32, i32) -> ()
  %sum = "staged.alloc"() {buffers = 1 : i64} : () -> !staged.tile<ub, 16x16xf32>
  "staged.fetch"(%gm, %zero, %n, %n, %sum) : (!staged.tile<gm, 16x16xf32>, i32, i32, i32, !staged.tile<ub, 16x16xf32>) -> ()
  "staged.store_ub"(%sum, %out, %row, %stride, %n, %n) : (!staged.tile<ub, 16x16xf32>, !tt.ptr<f32>, i64, i64, i32, i32) -> ()
  "tt.return"() : () -> ()
}) {sym_name = "gemm", function_type = (!tt.ptr<f16>, !tt.ptr<f16>, !tt.ptr<f32>, i32, i32, i64) -> ()} : () -> ()
