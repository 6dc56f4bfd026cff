"""FlagGems' attention operators: dense, variable-length, paged, latent and sparse."""

# ruff: noqa: E731 - argument builders read best as one-line lambdas

from __future__ import annotations

import torch
from cases import Case, args, bf16, cases, f16, f32, i32

HEADS = (1, 8, 1024, 64)


def query_key_value(shape: tuple[int, ...] = HEADS) -> tuple[torch.Tensor, ...]:
    """Three fp16 tensors of one shape."""
    return tuple(f16(*shape) for _ in range(3))


def offsets(*values: int) -> torch.Tensor:
    """Cumulative sequence lengths."""
    return torch.tensor(values, dtype=torch.int32)


def attention() -> list[Case]:
    """Dense, variable-length, paged, latent and sparse attention."""
    packed = lambda: tuple(f16(512, 8, 64) for _ in range(3))
    return [
        *cases("scaled_dot_product_attention_forward", lambda: args(*query_key_value())),
        *cases(
            "scaled_dot_product_attention_forward",
            lambda: args(*query_key_value((1, 8, 1024, 128)), is_causal=True),
        ),
        *cases(
            "scaled_dot_product_attention_backward",
            lambda: args(f16(*HEADS), *query_key_value(), f16(*HEADS), f32(1, 8, 1024)),
        ),
        *cases(
            "flash_attention_forward",
            lambda: args(*query_key_value((2, 512, 8, 64)), None, None, 512, 512, 0.0, True, False),
        ),
        *cases(
            "flash_attention_forward",
            lambda: args(
                f16(1, 1, 8, 128),
                f16(1, 4096, 8, 128),
                f16(1, 4096, 8, 128),
                None,
                None,
                1,
                4096,
                0.0,
                False,
                False,
            ),
        ),
        *cases(
            "flash_attention_forward",
            lambda: args(
                *query_key_value((2, 512, 8, 64)),
                None,
                None,
                512,
                512,
                0.0,
                False,
                False,
                window_size_left=128,
                window_size_right=0,
            ),
        ),
        *cases(
            "flash_attn_varlen_func",
            lambda: args(
                *packed(), 256, offsets(0, 256, 512), 256, offsets(0, 256, 512), causal=True
            ),
        ),
        *cases(
            "flash_attn_varlen_func flash_attn_varlen_opt_func",
            lambda: args(
                f16(512, 8, 64),
                f16(64, 16, 8, 64),
                f16(64, 16, 8, 64),
                256,
                offsets(0, 256, 512),
                256,
                seqused_k=i32(2) + 1,
                block_table=i32(2, 16, high=64),
                causal=True,
            ),
        ),
        *cases(
            "fused.flash_mla.flash_mla",
            lambda: args(
                bf16(4, 1, 16, 576),
                i32(4, 16),
                bf16(64, 64, 1, 576),
                1024,
                64,
                4,
                1,
                i32(4),
                16,
                1,
                576,
                512,
                True,
            ),
        ),
        *cases(
            "flash_mla_sparse_fwd",
            lambda: args(bf16(64, 64, 576), bf16(1024, 1, 576), i32(64, 1, 128), 0.05),
        ),
        *cases(
            "fused.DSA.sparse_mla.triton_sparse_mla_fwd_interface",
            lambda: args(bf16(1, 64, 64, 576), bf16(1, 1024, 1, 576), i32(1, 64, 1, 128)),
        ),
        *cases(
            "fused.DSA.indexer_k_tiled.triton_lighting_indexer_k_tiled_interface",
            lambda: args(bf16(64, 32, 64), bf16(2048, 64), f32(64, 32), i32(64), i32(64)),
        ),
        *cases(
            "fused.DSA.bin_topk.bucket_sort_topk_triton fused.DSA.bin_topk.bucket_sort_topk",
            lambda: args(
                f32(8, 8192),
                torch.zeros(8, dtype=torch.int32),
                torch.full((8,), 8192, dtype=torch.int32),
                512,
            ),
        ),
        *cases(
            "sparse_attn_triton",
            lambda: args(bf16(1, 64, 16, 128), bf16(1, 1024, 128), f32(16), i32(1, 64, 128), 0.08),
        ),
        *cases("get_paged_mqa_logits_metadata", lambda: args(i32(32) + 1, 64, 132)),
        *cases(
            "get_scheduler_metadata",
            lambda: args(
                4,
                64,
                1024,
                8,
                8,
                128,
                128,
                torch.float16,
                i32(4, high=1024),
                cu_seqlens_q=offsets(0, 64, 128, 192, 256),
            ),
        ),
        *cases(
            "get_scheduler_metadata",
            lambda: args(4, 1, 1024, 8, 2, 128, 128, torch.float16, i32(4, high=1024)),
        ),
    ]
