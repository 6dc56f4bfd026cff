"""NVIDIA GPUs through Triton's own backend: TTIR, TTGIR, LLVM IR, PTX, cubin."""
