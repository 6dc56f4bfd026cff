"""FlagGems operators that work element by element, and the ones that create tensors."""

# ruff: noqa: E731 - argument builders read best as one-line lambdas

from __future__ import annotations

import torch
from cases import Case, args, bf16, boolean, c64, cases, f16, f32, i32

SHAPE = (1024, 1024)

UNARY = """
abs abs_ absolute acos alias_copy arcsinh arcsinh_ arctanh_ asinh_ atan atan_ ceil ceil_ celu celu_
cos cos_ cosh cosh_ digamma_ elu elu_ erf erf_ exp exp_ exp2 exp2_ expm1 expm1_ floor_ gelu gelu_
hardsigmoid hardswish_ i0 i0_ isfinite isinf isnan isneginf lift_fresh_copy log log10 log10_ log1p_
log_sigmoid logical_not logit logit_ nan_to_num neg neg_ reciprocal reciprocal_ relu relu_ relu6
round round_ rsqrt rsqrt_ selu selu_ sgn_ sigmoid sigmoid_ signbit silu silu_ sin sin_ sinh_
softplus softshrink special_i0e special_i1 sqrt sqrt_ square square_ tan tan_ tanh tanh_ zero zero_
zeros_like ones_like rand_like randn_like angle conj_physical resolve_neg contiguous to_copy
_functional_sym_constrain_range_for_size
"""

EXPERIMENTAL_UNARY = """
abs abs_ absolute_ arccosh arctanh atanh_ celu celu_ cos_ cosh_ deg2rad deg2rad_ elu erf_ erfinv
erfinv_ exp2 exp2_ exp_ fft_ifftshift fix fix_ frac gelu_ glu hardshrink hardsigmoid_ hardswish
hardtanh hardtanh_ leaky_relu leaky_relu_ lift log10_ log2_ log_ neg_ negative negative_ rad2deg_
reciprocal reciprocal_ relu relu_ rsqrt_ sgn sigmoid sigmoid_ sign silu silu_ sin_ sinc sinc_
softplus trunc zeros_like trace triu amin diag
"""

BINARY = """
add add_ atan2 copysign div_mode eq equal floor_divide floor_divide_ fmin ge gt hypot isclose
allclose le logaddexp logical_and logical_and_ logical_or logical_or_ logical_xor lt maximum minimum
mul mul_ ne polar pow_tensor_tensor pow_tensor_tensor_ remainder remainder_ sub sub_ true_divide
true_divide_ trunc_divide trunc_divide_ mse_loss soft_margin_loss tanh_backward sigmoid_backward
silu_backward gelu_backward copy copy_
"""

BITWISE = """
bitwise_and_tensor bitwise_and_tensor_ bitwise_or_tensor bitwise_or_tensor_ bitwise_left_shift
bitwise_right_shift
"""

SCALAR = """
add sub mul true_divide floor_divide remainder eq_scalar ge_scalar gt_scalar le_scalar lt_scalar
ne_scalar pow_tensor_scalar pow_tensor_scalar_ clamp_min clamp_min_ fill_scalar fill_scalar_
div_mode trunc_divide
"""

IN_PLACE_CLAMP = "clamp clamp_ clip clip_"


def experimental(names: str) -> str:
    """Full names of experimental operators, each in a module of its own name."""
    return " ".join(f"experimental_ops.{name}.{name}" for name in names.split())


def unary() -> list[Case]:
    """One input, fp32 and, for a few, fp16 and bf16."""
    return [
        *cases(UNARY, lambda: args(f32(*SHAPE))),
        *cases(experimental(EXPERIMENTAL_UNARY), lambda: args(f32(*SHAPE))),
        *cases("abs exp gelu silu tanh rsqrt", lambda: args(f16(*SHAPE))),
        *cases("relu sigmoid", lambda: args(bf16(*SHAPE))),
        *cases("bitwise_not bitwise_not_", lambda: args(i32(*SHAPE))),
        *cases("gelu gelu_", lambda: args(f32(*SHAPE), approximate="tanh")),
        *cases("round round_", lambda: args(f32(*SHAPE), decimals=2)),
        *cases("angle resolve_conj conj_physical absolute", lambda: args(c64(512, 512))),
        *cases("angle", lambda: args(i32(*SHAPE))),
        *cases("resolve_conj", lambda: args(c64(512, 512).conj())),
        *cases("to_copy", lambda: args(f32(*SHAPE), dtype=torch.float16)),
        *cases("contiguous", lambda: args(f32(*SHAPE).t())),
        *cases("threshold", lambda: args(f32(*SHAPE), 0.5, 0.0)),
        *cases(experimental("threshold threshold_"), lambda: args(f32(*SHAPE), 0.5, 0.0)),
        *cases("logit logit_", lambda: args(f32(*SHAPE), 1e-6)),
        *cases("_assert_async", lambda: args(torch.ones(1, dtype=torch.int32))),
        *cases("_is_all_true", lambda: args(boolean(*SHAPE))),
        *cases(experimental("heaviside heaviside_ hypot_ logaddexp2 maximum"), two_f32),
        *cases(experimental("logical_xor_"), lambda: args(boolean(*SHAPE), boolean(*SHAPE))),
        *cases("experimental_ops.multiply.multiply_Tensor", two_f32),
        *cases("experimental_ops.multiply.multiply_Scalar", lambda: args(f32(*SHAPE), 2.0)),
        *cases("experimental_ops.special_xlog1py.special_xlog1py", two_f32),
        *cases(
            "experimental_ops.xlogy.xlogy_Tensor experimental_ops.xlogy_.xlogy__Tensor", two_f32
        ),
        *cases("experimental_ops.xlogy_.xlogy__Scalar_Other", lambda: args(f32(*SHAPE), 2.0)),
        *cases("experimental_ops.copy_.copy__Tensor", lambda: args(f32(*SHAPE), f16(*SHAPE))),
        *cases("experimental_ops.copy_.copy__float", lambda: args(f32(*SHAPE), 2.0)),
        *cases(experimental("huber_loss mse_loss"), two_f32),
        *cases(experimental("smooth_l1_loss"), lambda: args(f32(*SHAPE), f32(*SHAPE), reduction=1)),
        *cases(experimental("addcdiv addcmul_"), lambda: args(*(f32(*SHAPE) for _ in range(3)))),
        *cases(
            experimental("native_dropout_backward"),
            lambda: args(f32(*SHAPE), boolean(*SHAPE), 2.0),
        ),
        *cases(
            "experimental_ops._log_softmax_backward_data._log_softmax_backward_data",
            lambda: args(f32(*SHAPE), f32(*SHAPE), -1, torch.float32),
        ),
    ]


def two_f32() -> tuple:  # type: ignore[type-arg]
    """Two fp32 matrices."""
    return args(f32(*SHAPE), f32(*SHAPE))


def binary() -> list[Case]:
    """Two and three inputs, equal shapes, broadcasts, and a tensor with a scalar."""
    row = lambda: args(f32(*SHAPE), f32(1024))
    return [
        *cases(BINARY, two_f32),
        *cases("add mul sub maximum", row),
        *cases("add mul sub true_divide", lambda: args(f16(64, 128, 256), f16(64, 128, 1))),
        *cases("add mul eq", lambda: args(i32(*SHAPE), i32(*SHAPE))),
        *cases("floor_divide remainder", lambda: args(i32(*SHAPE) + 1, i32(*SHAPE) + 1)),
        *cases("add mul", lambda: args(c64(512, 512), c64(512, 512))),
        *cases(BITWISE, lambda: args(i32(*SHAPE), i32(*SHAPE, high=8))),
        *cases(SCALAR, lambda: args(f32(*SHAPE), 2.0)),
        *cases("pow_scalar bitwise_or_scalar_tensor", lambda: args(2, i32(*SHAPE))),
        *cases("pow_scalar", lambda: args(2.0, f32(*SHAPE))),
        *cases(
            "bitwise_and_scalar bitwise_or_scalar_ bitwise_or_scalar", lambda: args(i32(*SHAPE), 3)
        ),
        *cases("div_mode div_mode_", lambda: args(f32(*SHAPE), f32(*SHAPE), rounding_mode="floor")),
        *cases("div_mode", lambda: args(f32(*SHAPE), f32(*SHAPE), rounding_mode="trunc")),
        *cases(IN_PLACE_CLAMP, lambda: args(f32(*SHAPE), 0.1, 0.9)),
        *cases(IN_PLACE_CLAMP, lambda: args(f32(*SHAPE), 0.1)),
        *cases(IN_PLACE_CLAMP, lambda: args(f32(*SHAPE), None, 0.9)),
        *cases("clamp_tensor clamp_tensor_", lambda: args(*(f32(*SHAPE) for _ in range(3)))),
        *cases("clamp_tensor", lambda: args(f32(*SHAPE), f32(*SHAPE))),
        *cases("clamp_tensor", lambda: args(f32(*SHAPE), None, f32(*SHAPE))),
        *cases("addcdiv addcmul", lambda: args(*(f32(*SHAPE) for _ in range(3)))),
        *cases("lerp_tensor lerp_tensor_", lambda: args(*(f32(*SHAPE) for _ in range(3)))),
        *cases("lerp_scalar lerp_scalar_", lambda: args(f32(*SHAPE), f32(*SHAPE), 0.3)),
        *cases("lerp_scalar", lambda: args(f32(*SHAPE), f32(*SHAPE), 0.7)),
        *cases("where_self", lambda: args(boolean(*SHAPE), f32(*SHAPE), f32(*SHAPE))),
        *cases("where_scalar_self", lambda: args(boolean(*SHAPE), 1.0, f32(*SHAPE))),
        *cases("where_scalar_other", lambda: args(boolean(*SHAPE), f32(*SHAPE), 1.0)),
        *cases("masked_fill masked_fill_", lambda: args(f32(*SHAPE), boolean(*SHAPE), 1.0)),
        *cases("fill_tensor fill_tensor_", lambda: args(f32(*SHAPE), torch.tensor(2.0))),
        *cases("prelu", lambda: args(f32(16, 64, 128), f32(64))),
        *cases("threshold_backward", lambda: args(f32(*SHAPE), f32(*SHAPE), 0.5)),
        *cases("elu_backward", lambda: args(f32(*SHAPE), 1.0, 1.0, 1.0, False, f32(*SHAPE))),
        *cases("elu_backward", lambda: args(f32(*SHAPE), 1.0, 1.0, 1.0, True, f32(*SHAPE))),
        *cases("gelu_backward", lambda: args(f32(*SHAPE), f32(*SHAPE), approximate="tanh")),
        *cases(
            "rrelu_with_noise_backward",
            lambda: args(*(f32(*SHAPE) for _ in range(3)), 0.1, 0.3, True),
        ),
        *cases("margin_ranking_loss", lambda: args(f32(4096), f32(4096), f32(4096))),
        *cases("dropout", lambda: args(f32(*SHAPE), 0.5)),
        *cases("dropout_backward", lambda: args(f32(*SHAPE), boolean(*SHAPE), 2.0)),
        *cases("glu", lambda: args(f32(*SHAPE))),
        *cases("glu_backward", lambda: args(f32(1024, 512), f32(*SHAPE))),
    ]


def creation() -> list[Case]:
    """Tensors from nothing: constants, ranges, random numbers."""
    return [
        *cases("zeros ones rand randn", lambda: args(SHAPE, device="cuda")),
        *cases("full", lambda: args(SHAPE, 2.5, device="cuda")),
        *cases("full", lambda: args(SHAPE, torch.tensor(2.5), device="cuda")),
        *cases("full_like", lambda: args(f32(*SHAPE), 2.5)),
        *cases("new_full", lambda: args(f32(*SHAPE), SHAPE, 2.5)),
        *cases("arange", lambda: args(65536, device="cuda")),
        *cases("arange_start", lambda: args(3, 65536, 2, device="cuda")),
        *cases("linspace logspace", lambda: args(0.0, 8.0, 65536, device="cuda")),
        *cases("eye", lambda: args(1024, device="cuda")),
        *cases("eye_m", lambda: args(1024, 512, device="cuda")),
        *cases(
            "experimental_ops.eye.eye experimental_ops.eye.eye_m",
            lambda: args(1024, 512, device="cuda"),
        ),
        *cases("bernoulli_ uniform_ normal_ exponential_", lambda: args(f32(*SHAPE))),
        *cases("exponential_", lambda: args(torch.rand(512, 512, dtype=torch.float64))),
        *cases("normal_tensor_tensor", two_f32),
        *cases("normal_tensor_float", lambda: args(f32(*SHAPE), 1.0)),
        *cases("normal_float_tensor", lambda: args(1.0, f32(*SHAPE))),
        *cases("randperm", lambda: args(1000, device="cuda")),
        *cases("randperm", lambda: args(100000, device="cuda")),
        *cases("multinomial", lambda: args(f32(16, 1024), 8, True)),
        *cases("multinomial", lambda: args(f32(16, 1024), 8, False)),
    ]


POINTWISE: list[Case] = [*unary(), *binary(), *creation()]
