"""What a table costs: numbers, bytes, multiply-adds. Plain arithmetic on exact integers.

Two units are called "megabyte": 1 MB = 10^6 bytes (SI), 1 MiB = 2^20 bytes (IEC 80000-13). Here
`mb` and `mib` are two functions, and no other name is used for either.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

# Bits of one number, by the name of its type.
BITS = {
    "float64": 64, "float32": 32, "float16": 16, "bfloat16": 16, "float8": 8,
    "int64": 64, "int32": 32, "int16": 16, "int8": 8, "int4": 4,
}  # fmt: skip
SHORT = {
    "fp64": "float64",
    "fp32": "float32",
    "fp16": "float16",
    "bf16": "bfloat16",
    "fp8": "float8",
}


@dataclass(frozen=True)
class Model:
    """What a published model says about its input table. None: not applicable, or not published."""

    num_embeddings: int  # V, rows of the token table (for ViT: values in a patch)
    embedding_dim: int  # D
    max_len: int | None  # longest input, in tokens
    num_layers: int | None
    tied: bool | None  # is the output head the same array as the token table?
    positions: str | None  # "learned", "rotary", "relative bias"
    source: str

    @property
    def params(self) -> int:
        """V * D, the numbers in the token table."""
        return table_params(self.num_embeddings, self.embedding_dim)


MODELS = {
    "GPT-2 small": Model(
        50_257, 768, 1024, 12, True, "learned",
        "Radford et al. 2019; hparams.json and model.py of openai/gpt-2"),
    "GPT-3 175B": Model(
        50_257, 12_288, 2048, 96, True, "learned",
        "Brown et al. 2020, table 2.1; vocabulary and tying as in GPT-2, on which it builds"),
    "GPT-4 (estimate, D = 8192)": Model(
        100_000, 8192, None, None, None, None,
        "a guess: OpenAI never published the sizes. tiktoken shows 100,277 ids, nothing shows D"),
    "GPT-4 (estimate, D = 4096)": Model(
        100_000, 4096, None, None, None, None,
        "another guess, half as wide: OpenAI never published the sizes"),
    "BERT-base": Model(
        30_522, 768, 512, 12, True, "learned",
        "Devlin et al. 2019; bert_config.json and run_pretraining.py of google-research/bert"),
    "T5-base": Model(
        32_128, 768, 512, 12, True, "relative bias",
        "Raffel et al. 2020; config.json of google-t5/t5-base. 12 layers in each half; 512 is the "
        "length it was trained at, and relative positions set no limit"),
    "T5 v1.1 base": Model(
        32_128, 768, 512, 12, False, "relative bias",
        "model card of google/t5-v1_1-base: no sharing between embedding and classifier"),
    "Llama 2 7B": Model(
        32_000, 4096, 4096, 32, False, "rotary",
        "Touvron et al. 2023; config.json of meta-llama/Llama-2-7b-hf"),
    "Llama 2 70B": Model(
        32_000, 8192, 4096, 80, False, "rotary",
        "Touvron et al. 2023; config.json of meta-llama/Llama-2-70b-hf"),
    "Llama 3 8B": Model(
        128_256, 4096, 8192, 32, False, "rotary",
        "Llama Team 2024; config.json of meta-llama/Meta-Llama-3-8B"),
    "Llama 3.2 1B": Model(
        128_256, 2048, 131_072, 16, True, "rotary",
        "config.json of meta-llama/Llama-3.2-1B"),
    "Mistral 7B": Model(
        32_000, 4096, 32_768, 32, False, "rotary",
        "Jiang et al. 2023 (whose table 1 has a context of 8,192); config.json of "
        "mistralai/Mistral-7B-v0.1"),
    "Gemma 2B": Model(
        256_000, 2048, 8192, 18, True, "rotary",
        "Gemma Team 2024; config.json of google/gemma-2b (the report counts 256,128 rows)"),
    "Gemma 7B": Model(
        256_000, 3072, 8192, 28, True, "rotary",
        "Gemma Team 2024; config.json of google/gemma-7b (the report counts 256,128 rows)"),
    "ViT-B/16": Model(
        768, 768, 197, 12, None, "learned",
        "Dosovitskiy et al. 2021, table 1: 16 * 16 * 3 values a patch, 14 * 14 patches and CLS"),
    "ViT-L/16": Model(
        768, 1024, 197, 24, None, "learned",
        "Dosovitskiy et al. 2021, table 1: the same patches, D = 1024"),
}  # fmt: skip

# All numbers in the published weights, by their files. What the layers do not hold is in tables.
RELEASED = {
    "GPT-2 small": 124_439_808,
    "Llama 2 7B": 6_738_415_616,
    "Llama 2 70B": 68_976_648_192,
    "Llama 3 8B": 8_030_261_248,
    "Llama 3.2 1B": 1_235_814_400,
    "Mistral 7B": 7_241_732_096,
    "Gemma 2B": 2_506_172_416,
    "Gemma 7B": 8_537_680_896,
}


# -- numbers and bytes ---------------------------------------------------------------------------


def table_params(num_embeddings: int, embedding_dim: int) -> int:
    """V * D.        Llama 2 7B: 32,000 * 4,096 = 131,072,000"""
    return _size(num_embeddings, "num_embeddings") * _size(embedding_dim, "embedding_dim")


def table_bytes(num_embeddings: int, embedding_dim: int, dtype: str = "float16") -> int:
    """V * D * bytes of one number.        Llama 2 7B in float16: 131,072,000 * 2 = 262,144,000

    dtype is a key of `BITS`, a short form (fp16, bf16 ...) or anything whose str() is one, such as
    numpy.dtype("float32"). Half bytes (int4) are rounded up to a whole byte at the end.
    """
    return _to_bytes(table_params(num_embeddings, embedding_dim), dtype)


def activations(batch: int, length: int, embedding_dim: int) -> int:
    """B * T * D, the numbers that a lookup hands on.        32 * 1,024 * 768 = 25,165,824

    They grow with the batch. The table does not.
    """
    return _size(batch, "batch") * _size(length, "length") * _size(embedding_dim, "embedding_dim")


def activation_bytes(batch: int, length: int, embedding_dim: int, dtype: str = "float16") -> int:
    """B * T * D * bytes of one number.        32 * 1,024 * 768 * 2 = 50,331,648"""
    return _to_bytes(activations(batch, length, embedding_dim), dtype)


def layer_params(embedding_dim: int) -> int:
    """12 D^2 + 13 D, the numbers in one GPT-2 layer.        D = 768: 7,087,872

    attention 4 D^2 + 4 D (query, key, value, output, with biases), feed-forward of width 4 D
    8 D^2 + 5 D, two LayerNorms 4 D.
    """
    d = _size(embedding_dim, "embedding_dim")
    return 12 * d * d + 13 * d


def gpt2_params(
    num_embeddings: int = 50_257,
    embedding_dim: int = 768,
    max_len: int = 1024,
    num_layers: int = 12,
) -> int:
    """V D + max_len D + L (12 D^2 + 13 D) + 2 D, all numbers in a GPT-2. Its head is its table.

    GPT-2 small: 38,597,376 + 786,432 + 12 * 7,087,872 + 1,536 = 124,439,808.
    """
    d = _size(embedding_dim, "embedding_dim")
    tables = table_params(num_embeddings, d) + table_params(max_len, d)
    return tables + _size(num_layers, "num_layers") * layer_params(d) + 2 * d


def llama_params(
    num_embeddings: int = 32_000,
    embedding_dim: int = 4096,
    num_layers: int = 32,
    mlp_dim: int = 11_008,
    kv_dim: int | None = None,
    tied: bool = False,
) -> int:
    """All numbers in a Llama: L (2 D^2 + 2 D kv_dim + 3 D mlp_dim + 2 D) + D, and its tables.

    A layer has query and output (D^2 each), key and value (D kv_dim each), three matrices of the
    feed-forward and two RMSNorms. kv_dim is D unless key and value heads are shared among queries;
    the table is (V, D) either way, once when tied and else twice.

    Llama 2 7B: 2 * 131,072,000 + 32 * 202,383,360 + 4,096 = 6,738,415,616.
    """
    if not isinstance(tied, bool):
        raise TypeError(f"tied must be True or False, but it is {tied!r}.")
    d = _size(embedding_dim, "embedding_dim")
    kv_dim = d if kv_dim is None else _size(kv_dim, "kv_dim")
    layer = 2 * d * d + 2 * d * kv_dim + 3 * d * _size(mlp_dim, "mlp_dim") + 2 * d
    tables = table_params(num_embeddings, d) * (1 if tied else 2)
    return tables + _size(num_layers, "num_layers") * layer + d


# -- multiply-adds (one multiply-add is two floating-point operations) ----------------------------


def attention_scores(length: int) -> int:
    """n^2, the scores of one head in one layer.        n = 197: 38,809;  n = 785: 616,225"""
    return _size(length, "length") ** 2


def layer_macs(length: int, embedding_dim: int) -> int:
    """12 n D^2 + 2 n^2 D multiply-adds in one Transformer layer with a feed-forward of width 4 D.

    Four projections 4 n D^2, feed-forward 8 n D^2, scores n^2 D, weighted sum of values n^2 D.
    n = 197, D = 768: 1,394,343,936 + 59,610,624 = 1,453,954,560, so the n^2 part is 4.1 %.
    """
    n, d = _size(length, "length"), _size(embedding_dim, "embedding_dim")
    return 12 * n * d * d + 2 * n * n * d


def body_macs(length: int, embedding_dim: int, num_layers: int) -> int:
    """L times `layer_macs`.        ViT-B/16: 17,447,454,720; with patches of 8: 4.47 times"""
    return _size(num_layers, "num_layers") * layer_macs(length, embedding_dim)


def head_macs(num_embeddings: int, embedding_dim: int) -> int:
    """V * D multiply-adds for the logits of one position. A lookup of one position needs none."""
    return table_params(num_embeddings, embedding_dim)


def head_break_even(small_vocab: int, large_vocab: int, num_layers: int) -> Fraction:
    """How many tokens of context a larger vocabulary must save to pay for its head, per new token.

    The head grows by (V2 - V1) D. Each earlier token costs 2 D multiply-adds in each of L layers.
    So n = (V2 - V1) / (2 L).        32,000 -> 128,256 with 32 layers: 96,256 / 64 = 1,504 tokens
    """
    small, large = _size(small_vocab, "small_vocab"), _size(large_vocab, "large_vocab")
    return Fraction(large - small, 2 * _size(num_layers, "num_layers"))


# -- writing sizes down --------------------------------------------------------------------------


def mb(num_bytes: float) -> float:
    """bytes / 10^6, SI megabytes (MB).        262,144,000 bytes = 262.144 MB"""
    return num_bytes / 10**6


def mib(num_bytes: float) -> float:
    """bytes / 2^20, mebibytes (MiB).        262,144,000 bytes = 250 MiB"""
    return num_bytes / 2**20


def human(number: float, digits: int = 1) -> str:
    """A count with K, M, B or T (10^3, 10^6, 10^9, 10^12).        38,597,376 -> "38.6M"

    Numbers below a thousand keep their digits: 768 -> "768", 0.5 -> "0.5". A number that rounds
    up to the next unit takes it: 999,960 -> "1.0M", never "1000.0K".
    """
    scale, units = 1, ["", "K", "M", "B", "T"]
    while len(units) > 1 and round(abs(number) / scale, digits) >= 1000:
        scale *= 1000
        units.pop(0)
    return f"{number:g}" if scale == 1 else f"{number / scale:.{digits}f}{units[0]}"


def _to_bytes(numbers: int, dtype) -> int:
    name = SHORT.get(str(dtype).lower(), str(dtype).lower())
    if name not in BITS:
        raise ValueError(f"dtype is {dtype!r}; choose one of {', '.join([*BITS, *SHORT])}.")
    return -(-numbers * BITS[name] // 8)


def _size(number, name: str) -> int:
    """number as an int, if it is a whole number of at least 1."""
    if isinstance(number, bool) or not hasattr(number, "__index__"):
        raise TypeError(f"{name} must be a whole number, but it is {number!r}.")
    if number < 1:
        raise ValueError(f"{name} = {number} must be at least 1.")
    return int(number)
