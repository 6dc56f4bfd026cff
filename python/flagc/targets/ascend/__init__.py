"""Target Ascend: chip facts, the vendor toolchain, stages from TTIR to LLVM."""
