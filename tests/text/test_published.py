"""Facts about published tokenizers agree with each other and with the table of models."""

from __future__ import annotations

import pytest

from scratch_embed.sizes import MODELS
from scratch_embed.text.published import IDS, PIECES, TOKENIZERS


@pytest.mark.parametrize("encoding", PIECES)
def test_pieces_spell_their_text_and_ids_match_in_number(encoding):
    for text, pieces in PIECES[encoding].items():
        assert "".join(pieces) == text
        assert len(IDS[encoding].get(text, pieces)) == len(pieces)


@pytest.mark.parametrize("encoding, name", [("cl100k_base", "GPT-4"), ("r50k_base", "GPT-2")])
def test_ids_are_rows_and_different_texts_have_different_ones(encoding, name):
    rows = list(IDS[encoding].values())
    assert len(set(rows)) == len(rows)
    assert all(0 <= i < TOKENIZERS[name].num_embeddings for ids in rows for i in ids)


@pytest.mark.parametrize(
    "tokenizer, model",
    [("BERT", "BERT-base"), ("GPT-2", "GPT-2 small"), ("T5", "T5-base"), ("Llama 2", "Llama 2 7B"),
     ("Mistral 7B", "Mistral 7B"), ("Llama 3", "Llama 3 8B"), ("Gemma", "Gemma 7B")],
)  # fmt: skip
def test_sizes_are_those_of_the_models(tokenizer, model):
    assert TOKENIZERS[tokenizer].num_embeddings == MODELS[model].num_embeddings
