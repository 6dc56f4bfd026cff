"""FlagGems operators of language models: gated units, mixtures of experts, caches."""

# ruff: noqa: E731 - argument builders read best as one-line lambdas

from __future__ import annotations

from typing import Any

import torch
from cases import Arguments, Case, args, bf16, boolean, cases, f8, f16, f32, i8, i32, i64
from flaggems_attention import attention


def gated() -> list[Case]:
    """Gated linear units, losses, rotary embedding and fused norms."""
    wide = lambda: args(f16(1024, 2048))
    gradient = lambda: args(f16(1024, 1024), f16(1024, 2048))
    pair = lambda: args(f16(1024, 1024), f16(1024, 1024))
    row = lambda: (f16(1024, 768), f16(1024, 768), (768,), f16(768))
    return [
        *cases("geglu swiglu reglu", wide),
        *cases("dgeglu dswiglu dreglu", gradient),
        *cases("gelu_and_mul silu_and_mul", pair),
        *cases("gelu_and_mul", lambda: args(*pair()[0], "tanh")),
        *cases("silu_and_mul_out", lambda: args(*pair()[0], f16(1024, 1024))),
        *[Case("backward_of", differentiated(op, pair)) for op in ("gelu_and_mul", "silu_and_mul")],
        *cases("fused_add_rms_norm", lambda: args(*row())),
        *cases("skip_layer_norm", lambda: args(*row(), f16(768))),
        *cases(
            "apply_rotary_pos_emb",
            lambda: args(f16(2, 128, 8, 64), f16(2, 128, 8, 64), f16(512, 32), f16(512, 32)),
        ),
        *cases(
            "apply_rotary_pos_emb",
            lambda: args(
                f16(256, 8, 64),
                f16(256, 2, 64),
                f16(512, 32),
                f16(512, 32),
                i64(256, high=512),
                True,
            ),
        ),
        *cases(
            "apply_rotary_pos_emb",
            lambda: args(
                f16(256, 8, 64),
                f16(256, 2, 64),
                f16(512, 32),
                f16(512, 32),
                i64(256, high=512),
                True,
                True,
            ),
        ),
        *[case for options in cross_entropies() for case in options],
        *cases("instance_norm", lambda: args(f32(4, 16, 32, 32), f32(16), f32(16))),
        *cases("instance_norm", lambda: args(f32(2, 16, 256, 256), f32(16), f32(16))),
        *cases(
            "instance_norm",
            lambda: args(f32(4, 16, 32, 32), f32(16), f32(16), f32(16), f32(16), True),
        ),
        *cases(
            "instance_norm",
            lambda: args(f32(4, 16, 32, 32), f32(16), f32(16), f32(16), f32(16), False),
        ),
        *[
            Case("backward_of", differentiated("instance_norm", make))
            for make in (lambda: args(f32(4, 16, 32, 32), f32(16), f32(16)),)
        ],
        *[
            Case("backward_of", differentiated("weight_norm", make))
            for make in (lambda: args(f32(256, 128), f32(256, 1), 0),)
        ],
        *[
            Case("backward_of", differentiated("baddbmm", make))
            for make in (lambda: args(f32(4, 64, 64), f32(4, 64, 64), f32(4, 64, 64)),)
        ],
        *cases("weight_norm", lambda: args(f32(64, 32, 16), f32(1, 32, 1), 1)),
        *[
            Case("backward_of", differentiated("weight_norm", make))
            for make in (lambda: args(f32(64, 32, 16), f32(1, 32, 1), 1),)
        ],
    ]


def cross_entropies() -> list[list[Case]]:
    """Cross entropy with class indices, probabilities and smoothing, with gradients."""
    indices = lambda: args(f32(256, 1024), i64(256), None, "sum")
    smooth = lambda: args(f32(256, 1024), i64(256), None, "sum", -100, 0.1)
    weighted = lambda: args(f32(256, 1024), i64(256), f32(1024), "sum")
    probabilities = lambda: args(f32(256, 1024), f32(256, 1024))
    return [
        [
            Case("cross_entropy_loss", make),
            Case("backward_of", differentiated("cross_entropy_loss", make)),
        ]
        for make in (indices, smooth, weighted, probabilities)
    ]


def differentiated(op: str, make: Any) -> Any:
    """Arguments for `backward_of`: run `op` on inputs that need gradients, then go backward."""

    def wanted() -> Arguments:
        positional, named = make()
        return args(op, [needs_gradient(value) for value in positional], named)

    return wanted


def needs_gradient(value: Any) -> Any:
    """Mark a floating-point tensor as a leaf that collects a gradient."""
    if isinstance(value, torch.Tensor) and value.is_floating_point():
        return value.requires_grad_()
    return value


def serving() -> list[Case]:
    """Caches, sampling, mixtures of experts, recurrences, manifold-constrained connections."""
    cache = lambda: (f16(64, 16, 8, 64), f16(64, 16, 8, 64))
    scale = lambda: torch.ones(1)
    experts = lambda: (
        f16(64, 256),
        f16(8, 512, 256),
        f16(8, 256, 256),
        f32(64, 2),
        i64(64, 2, high=8),
    )
    return [
        *cases(
            "apply_repetition_penalties",
            lambda: args(f32(16, 32000), boolean(16, 32000), boolean(16, 32000), f32(16)),
        ),
        *cases(
            "reshape_and_cache_flash",
            lambda: args(
                f16(128, 8, 64), f16(128, 8, 64), *cache(), i64(128), "auto", scale(), scale()
            ),
        ),
        *cases(
            "reshape_and_cache",
            lambda: args(
                f16(128, 8, 64),
                f16(128, 8, 64),
                f16(64, 8, 8, 16, 8),
                f16(64, 8, 64, 16),
                i64(128),
                "auto",
                scale(),
                scale(),
            ),
        ),
        *cases(
            "concat_and_cache_mla",
            lambda: args(
                bf16(128, 512), bf16(128, 64), bf16(64, 16, 576), i64(128), "auto", scale()
            ),
        ),
        *cases("topk_softmax", lambda: args(f32(256, 2), i32(256, 2), i32(256, 2), f32(256, 64))),
        *cases("grouped_topk", lambda: args(f32(256, 256), 8, 4, 8, True, 2.5, f32(256))),
        *cases("grouped_topk", lambda: args(f32(256, 256), 8, 4, 8, True, 2.5, f32(256), 1)),
        *cases("moe_sum", lambda: args(f16(256, 4, 1024), f16(256, 1024))),
        *cases("moe_align_block_size", lambda: args(i32(256, 2, high=8), 64, 8)),
        *cases("moe_align_block_size", lambda: args(i32(4096, 8, high=64), 64, 64)),
        *cases("fused_experts_impl", lambda: args(*experts())),
        *cases(
            "fused_experts_impl",
            lambda: args(
                f16(64, 256),
                i8(8, 512, 256),
                i8(8, 256, 256),
                f32(64, 2),
                i64(64, 2, high=8),
                use_int8_w8a16=True,
                w1_scale=f32(8, 512),
                w2_scale=f32(8, 256),
            ),
        ),
        *cases(
            "fused_experts_impl",
            lambda: args(
                bf16(64, 256),
                f8(8, 512, 256),
                f8(8, 256, 256),
                f32(64, 2),
                i64(64, 2, high=8),
                use_fp8_w8a8=True,
                w1_scale=f32(8, 4, 2),
                w2_scale=f32(8, 2, 2),
                block_shape=[128, 128],
            ),
        ),
        *cases(
            "cutlass_scaled_mm",
            lambda: args(f16(256, 512), f8(256, 256), f8(512, 256).t(), f32(256, 1), f32(1, 512)),
        ),
        *cases(
            "cutlass_scaled_mm",
            lambda: args(f16(256, 512), i8(256, 256), i8(512, 256).t(), f32(256, 1), f32(1, 512)),
        ),
        *cases(
            "cutlass_scaled_mm",
            lambda: args(f16(256, 512), f8(256, 256), f8(512, 256).t(), f32(256, 2), f32(2, 4)),
        ),
        *cases(
            "rwkv_ka_fusion",
            lambda: args(f16(64, 1024), f16(1024), f16(64, 1024), f16(1024), 16, 64),
        ),
        *cases("rwkv_mm_sparsity", lambda: args(f16(4096), f16(4096, 1024))),
        *cases(
            "fused.mhc.hc_split_sinkhorn.hc_split_sinkhorn",
            lambda: args(f32(256, 24), f32(3), f32(24)),
        ),
        *cases("fused.mhc.mhc_bwd.mhc_bwd", lambda: args(f32(256, 4, 4), f32(256, 4, 4))),
        *[case for n in (4, 2) for case in hyper_connections(n)],
        *recurrences(),
    ]


def hyper_connections(n: int) -> list[Case]:
    """Hyper-connections with `n` residual streams: specialised for four, general otherwise."""
    return [
        *cases(
            "fused.mhc.hc_split_sinkhorn.hc_split_sinkhorn",
            lambda: args(f32(256, (2 + n) * n), f32(3), f32((2 + n) * n), n),
        ),
        *cases(
            "fused.mhc.mhc_post.mhc_post",
            lambda: args(bf16(256, 1024), bf16(256, n, 1024), f32(256, n, 1), f32(256, n, n)),
        ),
        *cases(
            "fused.mhc.mhc_pre.mhc_pre",
            lambda: args(
                bf16(256, n, 1024),
                f32(n * 2 + n * n, n * 1024),
                f32(3),
                f32(n * 2 + n * n),
                1e-6,
                1e-6,
                1e-6,
                2.0,
                20,
            ),
        ),
    ]


def recurrences() -> list[Case]:
    """Gated delta rule: chunked, recurrent, and the pieces that only Ascend's variant has."""
    step = lambda: (f16(1, 64, 4, 128), f16(1, 64, 4, 128), f16(1, 64, 8, 128))
    gates = lambda: (torch.rand(1, 64, 8), torch.rand(1, 64, 8))
    chunk = lambda: (f16(1, 256, 4, 128), f16(1, 256, 8, 128))
    wide = lambda: (f32(1, 256, 8), f32(1, 256, 8))
    fla = "fused.FLA"
    return [
        *cases(
            "chunk_gated_delta_rule_fwd",
            lambda: args(f16(1, 256, 4, 128), *chunk(), *wide(), 0.1, f32(1, 8, 128, 128), True),
        ),
        *cases(
            "chunk_gated_delta_rule_fwd",
            lambda: args(
                f16(1, 256, 4, 128),
                *chunk(),
                *wide(),
                0.1,
                f32(2, 8, 128, 128),
                True,
                torch.tensor([0, 128, 256]),
            ),
        ),
        *cases(
            "fused_recurrent_gated_delta_rule_fwd",
            lambda: args(*step(), *gates(), 0.1, f32(1, 8, 128, 128), False),
        ),
        *cases(
            "fused_recurrent_gated_delta_rule_fwd",
            lambda: args(
                *step(),
                *gates(),
                0.1,
                f32(64, 8, 128, 128),
                True,
                torch.arange(0, 65),
                i64(64, high=64),
            ),
        ),
        *cases(f"{fla}.cumsum.chunk_local_cumsum", lambda: args(f32(1, 256, 8), 64)),
        *cases(f"{fla}.cumsum.chunk_local_cumsum", lambda: args(f32(1, 256, 8, 64), 64)),
        *cases(
            f"{fla}.chunk_scaled_dot_kkt.chunk_scaled_dot_kkt_fwd",
            lambda: args(chunk()[0], beta=f32(1, 256, 8)),
        ),
        *[
            case
            for size in (16, 32, 64)
            for case in cases(
                f"{fla}.solve_tril.solve_tril", lambda size=size: args(f32(1, 256, 8, size))
            )
        ],
        *cases(
            f"{fla}.wy_fast.recompute_w_u_fwd",
            lambda: args(*chunk(), f32(1, 256, 8), f32(1, 256, 8), f16(1, 256, 8, 64), None),
        ),
        *cases(
            f"{fla}.fused_qkvzba_split_reshape.fused_qkvzba_split_reshape_cat",
            lambda: args(f16(64, 4 * 768), f16(64, 4 * 4), 4, 8, 128, 128),
        ),
        *cases(
            f"{fla}.layernorm_guard._layer_norm_fwd",
            lambda: args(f16(256, 1024), f16(1024), f16(1024), 1e-5),
        ),
        *cases(
            f"{fla}.sigmoid_gating.fused_sigmoid_gating_delta_rule_update",
            lambda: args(
                f32(8),
                f16(64, 8),
                f32(8),
                1.0,
                20.0,
                *step(),
                f16(64, 8),
                f32(64, 8, 128, 128),
                i32(64, high=64),
                0.1,
                True,
                torch.arange(0, 65),
            ),
        ),
    ]


FUSED: list[Case] = [*attention(), *gated(), *serving()]
