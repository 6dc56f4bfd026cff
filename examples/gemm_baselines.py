"""gemm.py with what `--bench` and `--check` ask for: cuBLAS, a float64 reference, the work.

Arguments: M N K (default: 4096 4096 4096).
"""

import sys

import torch
import triton
from gemm import gemm, gemm_kernel

import flagc


@flagc.reference(gemm_kernel)
def in_float64(a_ptr, b_ptr, **rest):
    return {"c_ptr": a_ptr.double() @ b_ptr.double()}


@flagc.baseline(gemm_kernel, name="cuBLAS")
def torch_matmul(a_ptr, b_ptr, c_ptr, **rest):
    torch.matmul(a_ptr, b_ptr, out=c_ptr)


@flagc.work(gemm_kernel)
def work(M, N, K, **rest):
    return {"flops": 2 * M * N * K, "bytes": 2 * (M * K + K * N + M * N)}


if __name__ == "__main__":
    M, N, K = map(int, sys.argv[1:4]) if len(sys.argv) > 1 else (4096, 4096, 4096)
    device = triton.runtime.driver.active.get_active_torch_device()
    a = torch.randn((M, K), dtype=torch.float16, device=device)
    b = torch.randn((K, N), dtype=torch.float16, device=device)
    gemm(a, b)
