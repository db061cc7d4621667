"""Facts about published tokenizers, with their sources. Nothing is downloaded.

    TOKENIZERS["BERT"].method                              # "WordPiece"
    PIECES["cl100k_base"]["unhappiness"]                   # ("un", "h", "appiness")
    IDS["cl100k_base"]["the"]                              # (1820,)

The ids and pieces of "r50k_base" (GPT-2, GPT-3) and "cl100k_base" (GPT-4) are those that OpenAI's
tiktoken gives for the quoted text; `tiktoken.get_encoding(name).encode(text)` shows them.
"""

from __future__ import annotations

from typing import NamedTuple


class Tokenizer(NamedTuple):
    """How a model cuts text, and how many rows its table has for the pieces."""

    method: str
    num_embeddings: int  # V
    source: str


TOKENIZERS = {
    "BERT": Tokenizer(
        "WordPiece", 30_522, "Devlin et al. 2019, section 3; vocab.txt of bert-base-uncased"),
    "GPT-2": Tokenizer(
        "byte-level BPE", 50_257, "Radford et al. 2019, section 2.2; tiktoken's r50k_base"),
    "T5": Tokenizer(
        "SentencePiece unigram", 32_128, "Raffel et al. 2020; config.json of google-t5/t5-base"),
    "Llama 2": Tokenizer(
        "SentencePiece BPE", 32_000, "Touvron et al. 2023, section 2.2"),
    "Mistral 7B": Tokenizer(
        "SentencePiece BPE", 32_000, "Jiang et al. 2023; config.json of mistralai/Mistral-7B-v0.1"),
    "GPT-4": Tokenizer(
        "byte-level BPE", 100_277,
        "tiktoken's cl100k_base: 100,256 pieces, special tokens up to 100,276"),
    "Llama 3": Tokenizer(
        "byte-level BPE", 128_256, "Llama Team 2024, section 3.2; config.json of Meta-Llama-3-8B"),
    "GPT-4o": Tokenizer(
        "byte-level BPE", 200_019, "tiktoken's o200k_base: special tokens up to 200,018"),
    "Gemma": Tokenizer(
        "SentencePiece BPE", 256_000,
        "Gemma Team 2024: a subset of the tokenizer of Gemini; config.json of google/gemma-2b (its "
        "tokenizer files say BPE, the report does not)"),
}  # fmt: skip

# Text -> its pieces. A space in front belongs to the word: it makes another token.
PIECES = {
    "cl100k_base": {
        "transformerization": ("transform", "er", "ization"),
        " transformerization": (" transformer", "ization"),
        "unhappiness": ("un", "h", "appiness"),
        "unhelpfulness": ("un", "help", "fulness"),
        "happiness": ("h", "appiness"),
        "sadness": ("sad", "ness"),
        "the": ("the",),
        "is": ("is",),
        "and": ("and",),
        "ing": ("ing",),
        "tion": ("tion",),
        "pre": ("pre",),
        "transformer": ("transform", "er"),
        " transformer": (" transformer",),
        "zyg": ("zy", "g"),
        "qph": ("q", "ph"),
    },
    "r50k_base": {
        "transformerization": ("trans", "former", "ization"),
        "unhappiness": ("un", "h", "appiness"),
    },
}

# Text -> its ids.
IDS = {
    "cl100k_base": {
        "the": (1820,),
        " the": (279,),
        "hello": (15339,),
        "is": (285,),
        "and": (438,),
        "ing": (287,),
        "tion": (28491,),
        "pre": (1762,),
        "transformerization": (4806, 261, 2065),
    },
    "r50k_base": {
        "The": (464,),
        " cat": (3797,),
        "cat": (9246,),
        " dog": (3290,),
        " sat": (3332,),
        " on": (319,),
        " the": (262,),
        " mat": (2603,),
    },
}

# Characters of English text for one token (Llama Team 2024, "The Llama 3 Herd of Models", 3.2).
CHARACTERS_PER_TOKEN = {"Llama 2": 3.17, "Llama 3": 3.94}
