"""The calls that make the corpus: FlagGems' wrappers by operator family, with realistic shapes.

Names are looked up in `flag_gems.ops`, `flag_gems.fused` and then from `flag_gems` down by dots.
Reductions, normalisations, sorting and matrix products are here; `CASES` joins all families.
"""

# ruff: noqa: E731 - argument builders read best as one-line lambdas

from __future__ import annotations

import torch
from cases import Case, args, bf16, boolean, c64, cases, f8, f16, f32, i8, i32, i64
from flaggems_fused import FUSED
from flaggems_pointwise import POINTWISE, experimental
from flaggems_shape import SHAPED

SHAPE = (1024, 1024)


def reductions() -> list[Case]:
    """Whole-tensor, inner-axis and outer-axis reductions, and scans."""
    return [
        *cases(
            "sum mean max min prod amax argmax argmin all any aminmax count_nonzero var var_mean"
            " std vector_norm",
            lambda: args(f32(*SHAPE)),
        ),
        *cases(
            "max_dim min_dim prod_dim argmax argmin all_dim any_dim count_nonzero softmax"
            " log_softmax cumsum cummax cummin",
            lambda: args(f32(*SHAPE), 1),
        ),
        *cases(
            "max_dim min_dim prod_dim argmax argmin all_dim any_dim softmax log_softmax cumsum"
            " cummax cummin",
            lambda: args(f32(512, 256, 32), 1),
        ),
        *cases("normed_cumsum", lambda: args(f16(*SHAPE), 1)),
        *cases("sum_dim mean_dim amax var var_mean var_dim std", lambda: args(f32(*SHAPE), [1])),
        *cases("sum_dim mean_dim amax var var_mean", lambda: args(f32(512, 256, 32), [1])),
        *cases(
            "sum_dim mean_dim amax all_dims any_dims var var_mean var_dim std vector_norm",
            lambda: args(f32(64, 256, 128), dim=[0, 1]),
        ),
        *cases("aminmax", lambda: args(f32(*SHAPE), dim=1)),
        *cases("var_correction", lambda: args(f32(*SHAPE), [1], correction=1)),
        *cases("softmax", lambda: args(f16(128, 16384), 1)),
        *cases("softmax", lambda: args(f16(256, 1000), 0)),
        *cases("cumsum", lambda: args(f32(1 << 20), 0)),
        *cases("cumsum cummax cummin", lambda: args(f32(8, 65536), 1)),
        *cases("cumsum normed_cumsum", lambda: args(f16(64, 65536), 1)),
        *cases("cumsum", lambda: args(i64(64, 4096), 1)),
        *cases("cummax cummin", lambda: args(f32(1 << 17), 0)),
        *cases("sum mean", lambda: args(f16(1 << 20))),
        *cases("sum", lambda: args(boolean(*SHAPE))),
        *[
            case
            for order in (1, 0, 3.5, float("inf"), float("-inf"))
            for case in norms_of_order(order)
        ],
        *cases(
            "softmax_backward log_softmax_backward",
            lambda: args(f32(*SHAPE), f32(*SHAPE), 1, torch.float32),
        ),
        *cases(
            "softmax_backward log_softmax_backward",
            lambda: args(f32(256, 128, 64), f32(256, 128, 64), 1, torch.float32),
        ),
        *cases("_safe_softmax", lambda: args(f32(*SHAPE), -1)),
        *cases("scaled_softmax_forward", lambda: args(f16(2, 4, 128, 256), 0.5)),
        *cases(
            "scaled_softmax_backward", lambda: args(f16(2, 4, 128, 256), f16(2, 4, 128, 256), 0.5)
        ),
        *cases("quantile", lambda: args(f32(64, 1024), torch.tensor([0.25, 0.5]), 1)),
        *cases("quantile", lambda: args(f32(64, 1024), 0.3, 1, interpolation="nearest")),
        *cases("sort", lambda: args(f32(64, 1024))),
        *cases("sort_stable", lambda: args(i32(64, 4096), stable=True)),
        *cases("topk", lambda: args(f32(64, 1024), 16)),
        *cases("topk", lambda: args(f32(64, 65536), 64)),
        *cases("dot vdot", lambda: args(f32(4096), f32(4096))),
        *cases("dot vdot", lambda: args(f16(1 << 18), f16(1 << 18))),
        *cases("dot", lambda: args(f32(1 << 18), f32(1 << 18))),
        *cases("vdot", lambda: args(c64(4096), c64(4096))),
        *cases(
            "nll_loss_forward nll_loss_nd_forward", lambda: args(f32(1024, 128), i64(1024), None, 1)
        ),
        *cases(
            "nll_loss_backward",
            lambda: args(f32(1024), f32(1024, 128), i64(1024), None, 0, -100, torch.tensor(1024.0)),
        ),
        *cases(
            "nll_loss_nd_backward",
            lambda: args(
                torch.tensor(1.0), f32(1024, 128), i64(1024), None, 1, -100, torch.tensor(1024.0)
            ),
        ),
        *cases(
            "nll_loss2d_forward nll_loss_nd_forward",
            lambda: args(f32(4, 128, 32, 32), i64(4, 32, 32), f32(128), 1),
        ),
        *cases(
            "nll_loss2d_backward",
            lambda: args(
                f32(4, 32, 32),
                f32(4, 128, 32, 32),
                i64(4, 32, 32),
                None,
                0,
                -100,
                torch.tensor(4096.0),
            ),
        ),
        *cases("mse_loss", lambda: args(f32(*SHAPE), f32(*SHAPE), 0)),
        *cases("soft_margin_loss", lambda: args(f32(*SHAPE), f32(*SHAPE), 0)),
        *cases(experimental("amin"), lambda: args(f32(*SHAPE), 1)),
        *cases("hadamard_transform", lambda: args(f32(64, 1024))),
    ]


def norms_of_order(order: float) -> list[Case]:
    """Vector norms of one order, over everything and over an axis."""
    return [
        *cases("vector_norm", lambda: args(f32(*SHAPE), order)),
        *cases("vector_norm", lambda: args(f32(*SHAPE), order, [1])),
    ]


def norms() -> list[Case]:
    """Normalisation layers and their gradients."""
    rows = lambda: f32(1024, 768)
    image = lambda: f32(8, 32, 32, 32)
    return [
        *cases("layer_norm", lambda: args(f16(1024, 768), (768,), f16(768), f16(768))),
        *cases("layer_norm", lambda: args(f32(64, 16384), (16384,), f32(16384), f32(16384))),
        *cases("layer_norm", lambda: args(f32(4096, 32), (32,), f32(32), f32(32))),
        *cases(
            "layer_norm_backward",
            lambda: args(
                rows(), rows(), (768,), f32(1024), f32(1024), f32(768), f32(768), [True, True, True]
            ),
        ),
        *cases("rms_norm rms_norm_forward", lambda: args(f16(1024, 768), (768,), f16(768))),
        *cases("rms_norm", lambda: args(f16(64, 16384), (16384,), f16(16384))),
        *cases("rms_norm_backward", lambda: args(rows(), rows(), f32(1024), (768,), f32(768))),
        *cases(experimental("rmsnorm"), lambda: args(f16(1024, 768), f16(768))),
        *cases("group_norm", lambda: args(image(), f32(32), f32(32), 8, 32, 1024, 4)),
        *cases(
            "group_norm_backward",
            lambda: args(
                image(), image(), f32(8, 4), f32(8, 4), f32(32), 8, 32, 1024, 4, [True, True, True]
            ),
        ),
        *cases(
            "batch_norm", lambda: args(image(), f32(32), f32(32), f32(32), f32(32), training=True)
        ),
        *cases(
            "batch_norm_backward",
            lambda: args(
                image(),
                image(),
                f32(32),
                f32(32),
                f32(32),
                f32(32),
                f32(32),
                True,
                output_mask=[True, True, True],
            ),
        ),
        *cases("weight_norm_interface", lambda: args(f32(512, 256), f32(512, 1), 0)),
        *cases("weight_norm_interface", lambda: args(f32(512, 256), f32(1, 256), 1)),
        *cases(
            "weight_norm_interface_backward",
            lambda: args(f32(512, 256), f32(512, 256), f32(512, 1), f32(512, 1), 0),
        ),
        *cases(
            "weight_norm_interface_backward",
            lambda: args(f32(512, 256), f32(512, 256), f32(1, 256), f32(1, 256), 1),
        ),
    ]


def with_transpose(matrix: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """A matrix and its own transpose, whose product is symmetric."""
    return matrix, matrix.t()


def matmuls() -> list[Case]:
    """Matrix and matrix-vector products, convolution, pooling, quantisation."""
    image = lambda: f16(4, 32, 56, 56)
    square = lambda: args(f16(1024, 1024), f16(1024, 1024))
    return [
        *cases("mm matmul_bf16", square),
        *cases("mm", lambda: args(f32(512, 256), f32(256, 512))),
        *cases("mm", lambda: args(bf16(4096, 4096), bf16(4096, 4096))),
        *cases("mm", lambda: args(f16(1024, 512), f16(1, 512).t())),
        *cases("mm", lambda: args(*with_transpose(f16(1024, 512)))),
        *cases("mm", lambda: args(bf16(2048, 12288), bf16(12288, 1024))),
        *cases("matmul_int8", lambda: args(i8(512, 512), i8(512, 512))),
        *cases(
            "mm_streamk.streamk_mm",
            lambda: args(f16(1024, 1024), f16(1024, 1024), f16(1024, 1024), 1024, 1024, 1024),
        ),
        *cases("addmm", lambda: args(f16(1024), *square()[0])),
        *cases("bmm", lambda: args(f16(8, 256, 128), f16(8, 128, 256))),
        *cases("baddbmm", lambda: args(f16(8, 256, 256), f16(8, 256, 128), f16(8, 128, 256))),
        *cases("mv", lambda: args(f16(1024, 512), f16(512))),
        *cases(experimental("mv"), lambda: args(f32(1024, 512), f32(512))),
        *cases("addmv", lambda: args(f32(1024), f32(1024, 512), f32(512))),
        *cases("addr", lambda: args(f32(512, 256), f32(512), f32(256))),
        *cases("outer", lambda: args(f32(512), f32(256))),
        *cases(
            "group_mm",
            lambda: args(
                f16(1024, 256),
                f16(4, 256, 512),
                torch.tensor([256, 512, 768, 1024], dtype=torch.int32),
            ),
        ),
        *cases("fp8_matmul", lambda: args(f8(256, 512), f32(256, 4), f8(256, 512), f32(2, 4))),
        *cases(
            "w8a8_block_fp8_matmul",
            lambda: args(f8(256, 512), f8(512, 512), f32(256, 4), f32(4, 4), [128, 128]),
        ),
        *cases("act_quant_triton", lambda: args(bf16(256, 1024))),
        *cases("act_quant_triton", lambda: args(bf16(256, 1024), 128, "ue8m0")),
        *cases("per_token_group_quant_fp8", lambda: args(bf16(256, 1024), 128)),
        *cases(
            "per_token_group_quant_fp8",
            lambda: args(bf16(256, 1024), 128, column_major_scales=True),
        ),
        *cases("conv1d", lambda: args(f16(4, 32, 256), f16(64, 32, 3))),
        *cases("conv2d", lambda: args(image(), f16(64, 32, 3, 3), None, 1, 1)),
        *cases("conv3d", lambda: args(f16(2, 16, 8, 28, 28), f16(32, 16, 3, 3, 3), None, 1, 1)),
        *cases(
            "_conv_depthwise2d",
            lambda: args(image(), f16(32, 1, 3, 3), (3, 3), None, (1, 1), (1, 1), (1, 1)),
        ),
        *cases("avg_pool2d", lambda: args(image(), 3, 2, 1)),
        *cases(
            "avg_pool2d_backward",
            lambda: args(f32(4, 32, 28, 28), f32(4, 32, 56, 56), 3, 2, 1, False, True, None),
        ),
        *cases("max_pool2d_with_indices", lambda: args(image(), 3, 2, 1)),
        *cases(
            "max_pool2d_backward",
            lambda: args(
                f32(4, 32, 28, 28), f32(4, 32, 56, 56), i64(4, 32, 28, 28), 3, 2, 1, 1, False
            ),
        ),
    ]


CASES: list[Case] = [*POINTWISE, *SHAPED, *reductions(), *norms(), *matmuls(), *FUSED]
