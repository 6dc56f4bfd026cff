"""What cuda_gemm.py times: kernels of examples/, arguments, baselines, float64 references."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import torch
import triton
import triton.language as tl

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "examples"))
from attention import attention_kernel
from gemm import gemm_kernel
from gemm_then_gelu import bias_gelu_kernel
from layernorm import layernorm_kernel

from flagc.pipeline.target import PairFunction

Values = dict[str, Any]
Tile = tuple[int, int, int]

DTYPES = {
    "fp16": torch.float16,
    "bf16": torch.bfloat16,
    "fp8": torch.float8_e4m3fn,
}


@triton.jit
def gemm_bias_gelu_kernel(
    a_ptr,
    b_ptr,
    bias_ptr,
    c_ptr,
    M,
    N,
    K,
    stride_am,
    stride_bk,
    stride_cm,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
):
    """examples/gemm_bias_act.py with the GELU of erf in place of the ReLU."""
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    columns = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    depth = tl.arange(0, BLOCK_K)
    accumulator = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for start in range(0, K, BLOCK_K):
        inner = start + depth
        a_mask = (rows[:, None] < M) & (inner[None, :] < K)
        b_mask = (inner[:, None] < K) & (columns[None, :] < N)
        a = tl.load(a_ptr + rows[:, None] * stride_am + inner[None, :], mask=a_mask, other=0.0)
        b = tl.load(b_ptr + inner[:, None] * stride_bk + columns[None, :], mask=b_mask, other=0.0)
        accumulator = tl.dot(a, b, accumulator)
    bias = tl.load(bias_ptr + columns, mask=columns < N, other=0.0).to(tl.float32)
    sums = accumulator + bias[None, :]
    activated = 0.5 * sums * (1.0 + tl.erf(sums * 0.7071067811865476))
    c_mask = (rows[:, None] < M) & (columns[None, :] < N)
    tl.store(
        c_ptr + rows[:, None] * stride_cm + columns[None, :], activated.to(tl.float16), mask=c_mask
    )


@dataclass(frozen=True)
class Problem:
    """One row of the benchmark: `family` says which kernel, `sizes` M, N, K or what it takes."""

    family: str
    sizes: tuple[int, ...]
    dtype: str

    @property
    def name(self) -> str:
        """`gemm 1000x999x1001 fp16`."""
        return f"{self.family} {'x'.join(map(str, self.sizes))} {self.dtype}"

    @property
    def kernel(self) -> Any:
        """The JIT function, or a `PairFunction` of two that are launched one after the other."""
        return _FAMILIES[self.family].kernel

    def launch(
        self, grid: tuple[int, ...], values: Mapping[str, Any], constants: Mapping[str, int]
    ) -> None:
        """Launch as a script does."""
        everything = {**values, **constants}
        if not isinstance(self.kernel, PairFunction):
            self.kernel[grid](**everything)
            return
        first, second = self.kernel.parts
        first[grid](*(everything[name] for name in first.arg_names))
        rest = [everything[name] for name in self.kernel.arg_names[len(first.arg_names) :]]
        second[(triton.cdiv(values["numel"], constants["BLOCK"]),)](*rest)

    @property
    def baseline_name(self) -> str:
        """What the kernel is compared with."""
        return _FAMILIES[self.family].baseline_name

    @property
    def flops(self) -> float:
        """Floating-point operations, those of the matrix products; 0 where there are none."""
        return _FAMILIES[self.family].flops(self)

    @property
    def bytes(self) -> float:
        """The fewest bytes to and from memory: every tensor once, but for those in between."""
        between = ("c_ptr", "x_ptr") if isinstance(self.kernel, PairFunction) else ()
        values = self.values("meta").items()
        tensors = [v for n, v in values if isinstance(v, torch.Tensor) and n not in between]
        return float(sum(t.numel() * t.itemsize for t in tensors))

    def values(self, device: str) -> Values:
        """Return the arguments, without constexprs, by name: random inputs, NaN in the output.

        On the devices `cpu` and `meta` tensors have no defined contents; they are there to be
        compiled for.
        """
        return _FAMILIES[self.family].values(self, device)

    def grid_and_constants(self, tile: Tile | None) -> tuple[tuple[int, ...], dict[str, int]]:
        """Return grid and constexprs; `tile` replaces the example's own."""
        return _FAMILIES[self.family].shape(self, tile)

    def baseline(self, values: Mapping[str, Any]) -> dict[str, Any] | None:
        """Do the same with PyTorch's libraries; outputs that are new tensors are returned."""
        return _FAMILIES[self.family].baseline(values)

    @property
    def tolerance(self) -> float | None:
        """Relative tolerance of results; None is flagc's own for the output's type.

        Hopper's tensor cores add products of 8-bit floats with about 14 bits, in Triton's kernel
        and in `_scaled_mm` with use_fast_accum alike; DeepSeek-V3's report (arXiv 2412.19437,
        section 3.3.2) has errors of nearly 2 % for K = 4096. Attention rounds its weights to fp16
        before the second product and its result once: 2^-11 each, doubled. A GEMM, GELU and
        residual by themselves round three times: 2^-11 of what is added to the residual each (times
        1.13, GELU's largest slope, for the first), which is at most 2.4 times the larger of the
        result and its root mean square, as residuals are below 1.4 times that.
        """
        if self.family == "gemm-then-gelu":
            return 8 * 2.0**-11
        if self.family == "attention":
            return 4 * 2.0**-11
        return 0.03 if self.dtype == "fp8" else None

    def expected(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Return the outputs in float64, by name."""
        return _FAMILIES[self.family].expected(values)


@dataclass(frozen=True)
class _Family:
    kernel: Any
    baseline_name: str
    values: Callable[[Problem, str], Values]
    shape: Callable[[Problem, Tile | None], tuple[tuple[int, ...], dict[str, int]]]
    baseline: Callable[[Mapping[str, Any]], dict[str, Any] | None]
    expected: Callable[[Mapping[str, Any]], dict[str, Any]]
    flops: Callable[[Problem], float]


def _random(device: str, dtype: torch.dtype, *shape: int) -> torch.Tensor:
    if device != "cuda":
        return torch.empty(shape, dtype=dtype, device=device)
    return torch.randn(shape, device=device).to(dtype)


def _poisoned(device: str, dtype: torch.dtype, *shape: int) -> torch.Tensor:
    if device != "cuda":
        return torch.empty(shape, dtype=dtype, device=device)
    return torch.full(shape, float("nan"), dtype=dtype, device=device)


def _product_flops(problem: Problem) -> float:
    M, N, K = problem.sizes
    return 2.0 * M * N * K


def _gemm_values(problem: Problem, device: str) -> Values:
    M, N, K = problem.sizes
    dtype = DTYPES[problem.dtype]
    a = _random(device, dtype, M, K)
    if problem.dtype == "fp8":
        # Both wgmma and torch._scaled_mm take 8-bit operands with K contiguous only.
        b = _random(device, dtype, N, K).t()
        c = _poisoned(device, torch.bfloat16, M, N)
    else:
        b, c = _random(device, dtype, K, N), _poisoned(device, dtype, M, N)
    names = ("stride_am", "stride_ak", "stride_bk", "stride_bn", "stride_cm", "stride_cn")
    strides = dict(zip(names, (*a.stride(), *b.stride(), *c.stride()), strict=True))
    return {"a_ptr": a, "b_ptr": b, "c_ptr": c, "M": M, "N": N, "K": K, **strides}


def _gemm_shape(problem: Problem, tile: Tile | None) -> tuple[tuple[int, ...], dict[str, int]]:
    M, N, _ = problem.sizes
    own = (64, 64, 64) if problem.family == "gelu" else (128, 128, 64)  # as in examples/
    block_m, block_n, block_k = tile or own
    grid = (triton.cdiv(M, block_m), triton.cdiv(N, block_n))
    return grid, {"BLOCK_M": block_m, "BLOCK_N": block_n, "BLOCK_K": block_k}


def _matmul(values: Mapping[str, Any]) -> None:
    torch.matmul(values["a_ptr"], values["b_ptr"], out=values["c_ptr"])


@cache
def _one(device: torch.device) -> torch.Tensor:
    return torch.ones((), device=device)


def _scaled_mm(values: Mapping[str, Any]) -> None:
    torch._scaled_mm(
        values["a_ptr"],
        values["b_ptr"],
        scale_a=_one(values["a_ptr"].device),
        scale_b=_one(values["a_ptr"].device),
        out_dtype=torch.bfloat16,
        use_fast_accum=True,
        out=values["c_ptr"],
    )


def _product(values: Mapping[str, Any]) -> dict[str, Any]:
    # From 8-bit floats by way of float32, which torch converts to on every device.
    a, b = (values[name].float().double() for name in ("a_ptr", "b_ptr"))
    return {"c_ptr": a @ b}


def _gelu_values(problem: Problem, device: str) -> Values:
    M, N, K = problem.sizes
    dtype = DTYPES[problem.dtype]
    a, b = _random(device, dtype, M, K), _random(device, dtype, K, N)
    bias, c = _random(device, dtype, N), _poisoned(device, dtype, M, N)
    tensors = {"a_ptr": a, "b_ptr": b, "bias_ptr": bias, "c_ptr": c}
    return {**tensors, "M": M, "N": N, "K": K, "stride_am": K, "stride_bk": N, "stride_cm": N}


def _addmm_gelu(values: Mapping[str, Any]) -> dict[str, Any]:
    sums = torch.addmm(values["bias_ptr"], values["a_ptr"], values["b_ptr"])
    return {"c_ptr": torch.nn.functional.gelu(sums)}


def _gelu_expected(values: Mapping[str, Any]) -> dict[str, Any]:
    sums = values["a_ptr"].double() @ values["b_ptr"].double() + values["bias_ptr"].double()
    return {"c_ptr": torch.nn.functional.gelu(sums)}


def _then_gelu_values(problem: Problem, device: str) -> Values:
    M, N, _ = problem.sizes
    dtype = DTYPES[problem.dtype]
    values = _gemm_values(problem, device)
    more = {
        "x_ptr": values["c_ptr"],
        "bias_ptr": _random(device, dtype, N),
        "residual_ptr": _random(device, dtype, M, N),
        "out_ptr": _poisoned(device, dtype, M, N),
    }
    return {**values, **more, "numel": M * N, "columns": N}


def _then_gelu_shape(problem: Problem, tile: Tile | None) -> tuple[tuple[int, ...], dict[str, int]]:
    grid, constants = _gemm_shape(problem, tile)
    return grid, {**constants, "BLOCK": 1024}


def _addmm_gelu_add(values: Mapping[str, Any]) -> dict[str, Any]:
    return {"out_ptr": _addmm_gelu(values)["c_ptr"].add_(values["residual_ptr"])}


def _then_gelu_expected(values: Mapping[str, Any]) -> dict[str, Any]:
    return {"out_ptr": _gelu_expected(values)["c_ptr"] + values["residual_ptr"].double()}


def _attention_values(problem: Problem, device: str) -> Values:
    heads, length, head = problem.sizes
    dtype = DTYPES[problem.dtype]
    q, k, v = (_random(device, dtype, heads, length, head) for _ in range(3))
    out = _poisoned(device, dtype, heads, length, head)
    tensors = {"q_ptr": q, "k_ptr": k, "v_ptr": v, "out_ptr": out}
    return {**tensors, "scale": head**-0.5, "length": length}


def _attention_shape(problem: Problem, tile: Tile | None) -> tuple[tuple[int, ...], dict[str, int]]:
    heads, length, head = problem.sizes
    block_m, block_n, _ = tile or (64, 64, 0)
    grid = (triton.cdiv(length, block_m), heads)
    return grid, {"BLOCK_M": block_m, "BLOCK_N": block_n, "HEAD": head}


def _sdpa(values: Mapping[str, Any]) -> dict[str, Any]:
    q, k, v = (values[name].unsqueeze(0) for name in ("q_ptr", "k_ptr", "v_ptr"))
    return {"out_ptr": torch.nn.functional.scaled_dot_product_attention(q, k, v)[0]}


def _attention_expected(values: Mapping[str, Any]) -> dict[str, Any]:
    q, k, v = (values[name].double() for name in ("q_ptr", "k_ptr", "v_ptr"))
    weights = torch.softmax(q @ k.transpose(1, 2) * values["scale"], dim=-1)
    return {"out_ptr": weights @ v}


def _layernorm_values(problem: Problem, device: str) -> Values:
    rows, columns = problem.sizes
    dtype = DTYPES[problem.dtype]
    x, out = _random(device, dtype, rows, columns), _poisoned(device, dtype, rows, columns)
    weight, bias = _random(device, dtype, columns), _random(device, dtype, columns)
    tensors = {"x_ptr": x, "weight_ptr": weight, "bias_ptr": bias, "out_ptr": out}
    return {**tensors, "row_stride": columns, "columns": columns, "eps": 1e-5}


def _layernorm_shape(problem: Problem, tile: Tile | None) -> tuple[tuple[int, ...], dict[str, int]]:
    rows, columns = problem.sizes
    return (rows,), {"BLOCK": triton.next_power_of_2(columns)}


def _layer_norm(values: Mapping[str, Any]) -> dict[str, Any]:
    x, weight, bias = values["x_ptr"], values["weight_ptr"], values["bias_ptr"]
    normal = torch.nn.functional.layer_norm(x, x.shape[-1:], weight, bias, values["eps"])
    return {"out_ptr": normal}


def _layernorm_expected(values: Mapping[str, Any]) -> dict[str, Any]:
    x, weight, bias = (values[name].double() for name in ("x_ptr", "weight_ptr", "bias_ptr"))
    normal = torch.nn.functional.layer_norm(x, x.shape[-1:], weight, bias, values["eps"])
    return {"out_ptr": normal}


def _attention_flops(problem: Problem) -> float:
    heads, length, head = problem.sizes
    return 4.0 * heads * length * length * head


_FAMILIES = {
    "gemm": _Family(
        gemm_kernel, "cuBLAS", _gemm_values, _gemm_shape, _matmul, _product, _product_flops
    ),
    "fp8": _Family(
        gemm_kernel,
        "torch._scaled_mm",
        _gemm_values,
        _gemm_shape,
        _scaled_mm,
        _product,
        _product_flops,
    ),
    "gelu": _Family(
        gemm_bias_gelu_kernel,
        "addmm + gelu",
        _gelu_values,
        _gemm_shape,
        _addmm_gelu,
        _gelu_expected,
        _product_flops,
    ),
    "gemm-then-gelu": _Family(
        PairFunction(gemm_kernel, bias_gelu_kernel),
        "addmm, gelu, add",
        _then_gelu_values,
        _then_gelu_shape,
        _addmm_gelu_add,
        _then_gelu_expected,
        _product_flops,
    ),
    "attention": _Family(
        attention_kernel,
        "torch sdpa",
        _attention_values,
        _attention_shape,
        _sdpa,
        _attention_expected,
        _attention_flops,
    ),
    "layernorm": _Family(
        layernorm_kernel,
        "torch layer_norm",
        _layernorm_values,
        _layernorm_shape,
        _layer_norm,
        _layernorm_expected,
        lambda problem: 0.0,
    ),
}
