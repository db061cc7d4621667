"""Layers: parameters together with the operation that uses them."""

from scratch_embed.layers.attention import SelfAttention, TransformerBlock
from scratch_embed.layers.bag import EmbeddingBag
from scratch_embed.layers.dropout import Dropout
from scratch_embed.layers.embedding import Embedding
from scratch_embed.layers.hashed import HashEmbedding
from scratch_embed.layers.head import TiedHead
from scratch_embed.layers.linear import Linear
from scratch_embed.layers.norm import LayerNorm, RMSNorm
from scratch_embed.layers.patches import PatchEmbed
from scratch_embed.layers.positions import PositionEmbedding, ScaledEmbedding
from scratch_embed.layers.recipes import BERTInput, GPTInput, ViTInput

__all__ = [
    "Embedding", "EmbeddingBag", "HashEmbedding", "PositionEmbedding", "ScaledEmbedding",
    "PatchEmbed", "BERTInput", "GPTInput", "ViTInput", "TiedHead", "Linear", "LayerNorm",
    "RMSNorm", "Dropout", "SelfAttention", "TransformerBlock",
]  # fmt: skip
