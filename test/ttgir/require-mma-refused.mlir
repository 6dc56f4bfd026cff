// RUN: flagc-opt %s --split-input-file --verify-diagnostics --passes require-mma{version=2}

// A dot that Triton left to fused multiply-adds; its result is in no matrix layout.
#blocked = #ttg.blocked<{sizePerThread = [4, 4], threadsPerWarp = [8, 4], warpsPerCTA = [2, 2], order = [1, 0]}>
#a = #ttg.dot_op<{opIdx = 0, parent = #blocked}>
#b = #ttg.dot_op<{opIdx = 1, parent = #blocked}>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
  tt.func public @on_fma(%x: tensor<64x16xf32, #a>, %y: tensor<16x64xf32, #b>) {
    %zero = arith.constant dense<0.0> : tensor<64x64xf32, #blocked>
    // expected-error@+1 {{the dot 64x16xf32 * 16x64xf32 reached no matrix instruction, not version 2: mma.sync needs}}
    %dot = tt.dot %x, %y, %zero : tensor<64x16xf32, #a> * tensor<16x64xf32, #b> -> tensor<64x64xf32, #blocked>
    tt.return
  }
}

// -----

// expected-remark@unknown {{the kernel has no dot}}
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
  tt.func public @no_dot() {
    tt.return
  }
}
