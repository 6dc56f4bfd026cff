// RUN: flagc-opt %s --split-input-file --target cuda:sm90 --passes require-mma{version=2} | filecheck %s
// RUN: not flagc-opt %s --split-input-file --target cuda:sm90 --passes require-mma 2>&1 | filecheck %s --check-prefix BEST
// RUN: not flagc-opt %s --split-input-file --target cuda:sm90 --passes require-mma{version=5} 2>&1 | filecheck %s --check-prefix CHIP
// RUN: not flagc-opt %s --split-input-file --target cuda:sm80 --passes require-mma{version=4} 2>&1 | filecheck %s --check-prefix NUMBER

// mma.sync counts from version 2 on; on sm90 the best is wgmma.
// CHECK: @on_mma_sync
// BEST: gemm.py:44:35: error: 'tt.dot': the dot 64x16xf16 * 16x64xf16 reached mma.sync, not version 3: wgmma needs 64 rows or more
// CHIP: version=5 is illegal: this chip's matrix instruction is wgmma; legal here: 2, 3, or 0 for the best
// NUMBER: version=4 is illegal: this chip's matrix instruction is mma.sync; legal here: 2, or 0
#mma = #ttg.nvidia_mma<{versionMajor = 2, versionMinor = 0, warpsPerCTA = [2, 2], instrShape = [16, 8]}>
#a = #ttg.dot_op<{opIdx = 0, parent = #mma, kWidth = 2}>
#b = #ttg.dot_op<{opIdx = 1, parent = #mma, kWidth = 2}>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
  tt.func public @on_mma_sync(%x: tensor<64x16xf16, #a>, %y: tensor<16x64xf16, #b>) {
    %zero = arith.constant dense<0.0> : tensor<64x64xf32, #mma>
    %dot = tt.dot %x, %y, %zero, inputPrecision = tf32 : tensor<64x16xf16, #a> * tensor<16x64xf16, #b> -> tensor<64x64xf32, #mma> loc("gemm.py":44:35)
    tt.return
  }
}

// -----

// CHECK: @on_wgmma
#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 64, 16]}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#smem = #ttg.shared_memory
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
  tt.func public @on_wgmma(%a: !ttg.memdesc<64x64xf16, #shared, #smem>, %b: !ttg.memdesc<64x64xf16, #shared, #smem>) {
    %zero = arith.constant dense<0.0> : tensor<64x64xf32, #mma>
    %dot = ttng.warp_group_dot %a, %b, %zero : !ttg.memdesc<64x64xf16, #shared, #smem> * !ttg.memdesc<64x64xf16, #shared, #smem> -> tensor<64x64xf32, #mma>
    tt.return
  }
}
