"""How large the tables are, and which models tie them: chapters 1 and 4, and the other pages."""

import numpy as np

from scratch_embed.lesson.claims import corrected, given, reproduced, undecided
from scratch_embed.models import NextToken
from scratch_embed.sizes import (
    MODELS,
    RELEASED,
    gpt2_params,
    llama_params,
    table_bytes,
    table_params,
)

gpt2, bert = MODELS["GPT-2 small"], MODELS["BERT-base"]
llama2, llama3 = MODELS["Llama 2 7B"], MODELS["Llama 3 8B"]

# ---- one table (the page's MB and GB are units of 2^20 and 2^30 bytes) ---------------------------

given("000-ch1-formula-params", "a definition: V rows of D numbers, each of so many bytes")
reproduced(
    "000-ch1-bytes-per-vector",
    lambda dtype: np.zeros((1, 768), dtype).nbytes == 2 * 768,
    np.float16,
    counter=np.float32,
)
reproduced("000-ch1-llama2-131m", table_params, 32_000, 4096, counter=(32_000, 5120))
reproduced("000-ch1-gpt2-124m", gpt2_params, 50_257, counter=32_000)
reproduced(
    "000-ch1-table-bigger-than-gpt2",
    lambda model: model.params > gpt2_params(),
    llama2,
    counter=bert,
)
for name, V, D in (
    ("gpt2", 50_257, 768),
    ("bert", 30_522, 768),
    ("llama2", 32_000, 4096),
    ("gpt4", 100_000, 8192),
):
    reproduced(f"000-ch1-table-{name}-params", table_params, V, D, counter=(V, D // 2))
    if name != "gpt2":
        reproduced(f"000-ch1-table-{name}-fp16", table_bytes, V, D, counter=(V, D, "float32"))
corrected(
    "000-ch1-table-gpt2-fp16",
    table_bytes,
    50_257,
    768,
    counter=(50_000, 768),
    because="73.6 rounds to 74; the page rounds BERT's 44.7 up and cuts this one off",
)
corrected(
    "000-ch1-table-llama3-params",
    table_params,
    128_256,
    4096,
    counter=(128_270, 4096),
    because="128,256 * 4,096 = 525,336,576",
)
corrected(
    "000-ch1-table-llama3-fp16",
    table_bytes,
    128_256,
    4096,
    counter=(128_128, 4096),
    because="128,256 * 4,096 * 2 bytes are exactly 1,002 * 2^20",
)
reproduced(
    "000-ch1-llama3-quadruple-vocab",
    lambda old, new: new / old,
    32_000,
    128_256,
    counter=(32_000, 50_257),
)
reproduced(  # in millions of bytes it is 262 to 1,051
    "000-ch1-llama3-250mb-to-1gb",
    lambda *rows: [table_bytes(V, 4096) for V in rows],
    32_000,
    128_256,
    counter=(50_257, 128_256),
)
corrected(
    "000-ch1-vocab-dominant-driver",
    lambda more_V, more_D: (
        table_params(32_000 * more_V, 4096) > table_params(32_000, 4096 * more_D)
    ),
    2,
    2,
    counter=(4, 1),  # what changed from Llama 2 to Llama 3
    because="V and D weigh the same in V D; the vocabulary decides only while D stays as it is",
)
given(
    "000-ch1-explorer-defaults",
    "a setting of the page's explorer, the table of Llama 2 7B; ours opens with the same",
)
undecided(
    "000-ch1-quiz-memory",
    "the page's choices are lost, and it names no unit: "
    f"{table_bytes(50_000, 2_048):,} bytes are 204.8 MB or 195.3 MiB",
)


def numbers(tied):
    return sum(p.size for p in NextToken(400, 16, tied=tied).parameters())


reproduced(
    "000-ch1-tying-halves", lambda tied: 2 * numbers(tied) == numbers(False), True, counter=False
)

# ---- what is saved -------------------------------------------------------------------------------

LAYERS = {  # all numbers but those of the vocabulary
    "Llama 2 7B": llama_params() - 2 * llama2.params,
    "Llama 3 8B": llama_params(1, 4096, 32, 14_336, kv_dim=1024) - 2 * 4096,
    "Llama 3.2 1B": llama_params(1, 2048, 16, 8192, kv_dim=512) - 2 * 2048,
    "Mistral 7B": llama_params(1, 4096, 32, 14_336, kv_dim=1024) - 2 * 4096,
    "GPT-2 small": gpt2_params() - gpt2.params,
}


def in_vocabulary(name, released):
    return released - LAYERS[name]


reproduced("000-ch4-savings-one", table_params, 32_000, 4096, counter=(32_000, 5120))
reproduced(
    "000-ch4-savings-untied-total",
    in_vocabulary,
    "Llama 2 7B",
    RELEASED["Llama 2 7B"],
    counter=("Llama 2 7B", RELEASED["Llama 2 7B"] - llama2.params),
)
reproduced(
    "000-ch4-savings-131m",
    lambda V: llama_params(V) - llama_params(V, tied=True),
    32_000,
    counter=64_000,
)
reproduced(
    "000-ch4-savings-fp16",
    lambda dtype: [n * table_bytes(32_000, 4096, dtype) for n in (2, 1)],
    "float16",
    counter="float32",
)
reproduced("000-ch4-llama3-savings", table_params, 128_000, 4096, counter=(128_256, 4096))
corrected(
    "000-ch4-llama3-vocab-consistency",
    lambda released: in_vocabulary("Llama 3 8B", released) / (2 * 4096),
    RELEASED["Llama 3 8B"],
    counter=LAYERS["Llama 3 8B"] + 2 * 128_000 * 4096,
    because="the published weights leave room for 128,256 rows in each of two tables, a figure "
    "that the text itself has in chapters 1 and 9",
)
reproduced("004-gpt2-38m", lambda m: m.params, gpt2, counter=MODELS["BERT-base"])
reproduced("004-gpt2-exact", table_params, 50_257, 768, counter=(50_257, 1024))
reproduced("003-tie-51m", table_params, 50_000, 1024, counter=(50_000, 512))
reproduced(
    "004-recap-untie",
    lambda model: model.params == RELEASED["GPT-2 small"] - LAYERS["GPT-2 small"],
    gpt2,
    counter=MODELS["BERT-base"],
)


def one_table_weighs_more(small, large):
    share = [MODELS[name].params / RELEASED[name] for name in (small, large)]
    return share[0] > share[1]


reproduced(
    "000-ch4-small-benefit-more",
    one_table_weighs_more,
    "GPT-2 small",
    "Llama 2 70B",
    counter=("Mistral 7B", "Llama 3 8B"),
)

# ---- who ties ------------------------------------------------------------------------------------


def ties(name, released):
    """Whether the published weights have room for one table, or for two."""
    return {1: "Yes", 2: "No"}.get(in_vocabulary(name, released) / MODELS[name].params)


for row, name in (
    ("gpt-2", "GPT-2 small"),
    ("llama2-7b", "Llama 2 7B"),
    ("llama3-8b", "Llama 3 8B"),
    ("mistral", "Mistral 7B"),
):
    total = RELEASED[name]
    swapped = total + MODELS[name].params * (1 if MODELS[name].tied else -1)
    reproduced(f"000-ch4-ties-{row}", ties, name, total, counter=(name, swapped))
corrected(
    "000-ch1-tying-llama",
    lambda names: all(ties(name, RELEASED[name]) == "Yes" for name in names),
    ["GPT-2 small", "Llama 2 7B", "Llama 3 8B"],
    counter=["GPT-2 small", "Llama 3.2 1B"],
    because="the released weights of Llama 2 7B and Llama 3 8B are larger than with one table by "
    "exactly one table; only the small Llama 3.2 models share. T5 shares up to version 1.0",
)
given("000-ch4-ties-bert", MODELS["BERT-base"].source)
given("000-ch4-ties-gemma", MODELS["Gemma 7B"].source)
given(
    "000-ch4-ties-t5",
    "Raffel et al. 2020; tie_word_embeddings in config.json of google-t5/t5-base. From version 1.1 "
    "on T5 does not tie",
)


def grouped_and_tied(names):
    """Is there a model with Llama 3's vocabulary, grouped queries, and one table?"""
    return [n for n in names if in_vocabulary(n, RELEASED[n]) == 128_256 * MODELS[n].embedding_dim]


corrected(
    "000-ch4-llama3-reason",
    lambda names: not grouped_and_tied(names),
    ["Llama 3 8B", "Llama 3.2 1B"],
    counter=["Llama 3 8B"],
    because="Llama 3.2 1B has the same vocabulary, groups its queries, and ties: grouping narrows "
    "keys and values inside a layer, which the head never sees",
)
undecided(
    "000-ch4-gpt2-earliest",
    "how popular a model was cannot be computed; the Transformer (2017), AWD-LSTM (2017) and GPT "
    "(2018) tied before GPT-2 (2019) did",
)


def tables_in_transformer(*totals):
    """Six layers in each half, of 12 and of 16 D^2 numbers; some 37,000 tokens."""
    tables = [(n - 6 * 28 * d * d) / (37_000 * d) for n, d in zip(totals, (512, 1024))]
    return "shares" if [round(n) for n in tables] == [1, 1] else "separate"


reproduced(  # 65 and 213 million numbers: Vaswani et al. 2017, table 3
    "003-tie-original", tables_in_transformer, 65e6, 213e6, counter=(103e6, 289e6)
)
given(
    "000-ch4-larger-untied-better",
    "Chung, Fevry, Tsai, Johnson & Ruder, Rethinking Embedding Coupling in Pre-trained Language "
    "Models, ICLR 2021, who report gains from untying",
)
