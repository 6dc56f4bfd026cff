// RUN: flagc-opt %s --split-input-file --passes set-mma-shape{n=32} 2>/dev/null | filecheck %s
// RUN: flagc-opt %s --split-input-file --verify-diagnostics --passes set-mma-shape{n=32}
// RUN: not flagc-opt %s --split-input-file --passes set-mma-shape{n=24} 2>&1 | filecheck %s --check-prefix ILLEGAL
// RUN: not flagc-opt %s --split-input-file --passes set-mma-shape{n=128} 2>&1 | filecheck %s --check-prefix TOO-WIDE
// RUN: not flagc-opt %s --split-input-file --passes set-mma-shape{n=17} 2>&1 | filecheck %s --check-prefix ODD

// Two warp groups side by side: each has 64 of the 128 columns.
// CHECK: instrShape = [16, 32, 16]
// CHECK-NOT: instrShape = [16, 64, 16]
// CHECK: @two_columns_of_warps
// ILLEGAL: set-mma-shape.mlir:{{.*}}n=24 is illegal: the dot's N per column of warps is 64
// ILLEGAL: legal here: 8, 16, 32, 64
// TOO-WIDE: n=128 is illegal: the dot's N per column of warps is 64
// ODD: n=17 is illegal: wgmma's N must be a multiple of 8 from 8 to 256
#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 2], instrShape = [16, 64, 16]}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#smem = #ttg.shared_memory
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 8 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
  tt.func public @two_columns_of_warps(%a: !ttg.memdesc<64x64xf16, #shared, #smem>, %b: !ttg.memdesc<64x128xf16, #shared, #smem>) {
    %zero = arith.constant dense<0.0> : tensor<64x128xf32, #mma>
    %dot = ttng.warp_group_dot %a, %b, %zero : !ttg.memdesc<64x64xf16, #shared, #smem> * !ttg.memdesc<64x128xf16, #shared, #smem> -> tensor<64x128xf32, #mma>
    tt.return
  }
}

// -----

// CHECK: @no_dot
// expected-remark@unknown {{not applied: no dot has an #ttg.nvidia_mma result here}}
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 8 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
  tt.func public @no_dot() {
    tt.return
  }
}
