"""The cheat sheet: chapter 9 of the ten-chapter text, and the tables of sizes and dates."""

from math import sqrt

import numpy as np

from scratch_embed import SGD, Embedding, geometry, sizes
from scratch_embed.functional import cross_entropy
from scratch_embed.layers import Linear, PatchEmbed, TiedHead
from scratch_embed.lesson.claims import corrected, given, reproduced, undecided, values_of
from scratch_embed.lesson.claims.snippets import undefined_names
from scratch_embed.positions import sinusoidal
from scratch_embed.text.published import IDS, PIECES

lesson = values_of("ch09_cheat_sheet")
MODELS = sizes.MODELS
gpt2, gpt3, bert = MODELS["GPT-2 small"], MODELS["GPT-3 175B"], MODELS["BERT-base"]
llama2, llama3, vit = MODELS["Llama 2 7B"], MODELS["Llama 3 8B"], MODELS["ViT-B/16"]
llama70 = MODELS["Llama 2 70B"]

# ---- what to choose ------------------------------------------------------------------------------

given(
    "000-ch9-flow-vocab",
    "advice; Llama 2 has 32,000 rows, Llama 3 has 128,256, and its report gives 28,000 of them to "
    "languages other than English",
)
given(
    "000-ch9-flow-tie",
    "advice. Between 1 and 7 billion it says nothing, and above it Gemma 7B, with "
    f"{sizes.human(sizes.RELEASED['Gemma 7B'])} numbers, ties all the same",
)


def patches(sides):
    return [PatchEmbed(224, P, embedding_dim=1, rng=0).num_patches for P in sides]


reproduced("000-ch9-flow-patches", patches, [16, 32, 8], counter=[14, 28, 7])

# ---- what there is -------------------------------------------------------------------------------

given(
    "000-ch9-catalog-shapes",
    "definitions, as mathematics writes them (x W). In memory a projection lies as (d, patch_dim), "
    "a convolution's kernel as (d, 3, P, P), and published ViT code keeps CLS as (1, 1, d)",
)
layer, pooler = sizes.layer_params(768), 768 * 769  # a layer is the same in BERT and ALBERT


def rows_left(numbers, undoubted, width):
    """How many rows a released model holds beside the parts that nobody doubts."""
    return (numbers - undoubted) / width


bert_left = rows_left(109_482_240, (30_522 + 512 + 2) * 768 + 12 * layer + pooler, 768)
albert = (11_683_584, (30_000 + 512 + 2) * 128 + 129 * 768 + layer + pooler, 128)
corrected(
    "000-ch9-catalog-segment",
    lambda numbers, sure, width: (
        "others too" if rows_left(numbers, sure, width) >= 2 else "BERT-specific"
    ),
    *albert,
    counter=(albert[0] - 2 * 128, *albert[1:]),  # ALBERT without them
    because=f"counting the numbers in the published weights, {bert_left:g} rows are left for "
    f"segments in BERT-base and {rows_left(*albert):g} in ALBERT-base",
)
given(
    "000-ch9-catalog-cls",
    "Dosovitskiy et al. 2021, section 3.1, who took it over from BERT's [class] token: there it is "
    "a row of the vocabulary, in ViT a parameter of its own",
)
digits = (np.arange(16)[:, None] >> np.arange(4)) & 1


def right_without_a_table(codes):
    """How many of 16 ids a linear layer sorts into below and above 7, from 4 numbers each."""
    linear, above = Linear(4, 2, rng=0), (np.arange(16) > 7).astype(np.int64)
    descent = SGD(linear.parameters(), lr=1.0)
    for _ in range(60):
        descent.zero_grad()
        cross_entropy(linear(codes), above).backward()
        descent.step()
    return int((linear(codes).numpy().argmax(axis=1) == above).sum())


corrected(
    "000-ch9-first-thing",
    lambda codes: "not every" if right_without_a_table(codes) == 16 else "every",
    digits - 0.5,
    counter=np.zeros((16, 4)),
    because="the usual way, not the only one: a linear layer reads the binary digits of an id, "
    "with no table, and hashing gives many words a row in common",
)

# ---- how to write it -----------------------------------------------------------------------------

table = Embedding(32_000, 768, rng=0, init=0.02)
head = TiedHead(table)
reproduced("000-ch9-quick-basic", lambda ids: table(ids).shape, [42, 1337], counter=[42, 1337, 7])
reproduced(
    "000-ch9-quick-tie",
    lambda weight: weight is table.weight,
    head.weight,
    counter=Embedding(32_000, 768, rng=0, init=0.02).weight,  # equal numbers, another tensor
)
waves = geometry.norms(sinusoidal(512, 768)).mean()


def matches(rows, factor):
    return bool(abs(geometry.norms(rows).mean() * factor / waves - 1) < 0.1)


plain = Embedding(500, 768, rng=0).weight.numpy()
corrected(
    "000-ch9-quick-scale",
    matches,
    plain,
    sqrt(768),
    counter=(plain / sqrt(768), sqrt(768 / 2)),
    because="the snippet's own rows are drawn from N(0, 1) and end "
    f"{geometry.norms(plain).mean() * sqrt(768) / waves:.0f} times as long as a sinusoid; rows of "
    "length 1 want sqrt(d/2)",
)
reproduced(
    "000-ch9-quick-patch",
    lambda side: ["B", *PatchEmbed(224, side, rng=0)(np.zeros((1, 3, 224, 224))).shape[1:]],
    16,
    counter=32,
)
PRINTED = """
emb = nn.Embedding(32000, 768)
vectors = emb(torch.tensor([42, 1337]))
lm_head = nn.Linear(768, 32000, bias=False)
lm_head.weight = emb.weight
scaled = emb(ids) * math.sqrt(768)
patch_emb = nn.Conv2d(3, 768, kernel_size=16, stride=16)
patches = patch_emb(img).flatten(2).transpose(1, 2)
x = emb(token_ids) + pos_emb(positions) + seg_emb(segment_ids)
enc = tiktoken.encoding_for_model("gpt-4")
tokens = enc.encode("transformerization")
"""
imports = ["torch", "nn", "math", "tiktoken"]
missing = undefined_names(PRINTED, imports)[0]
corrected(
    "000-ch9-quick-undefined",
    lambda known: undefined_names(PRINTED, known)[0] == [],
    imports,
    counter=imports + missing,
    because=f"Python stops at {missing[0]!r}; {', '.join(missing[1:])} were not made either",
)
corrected(
    "000-ch9-quick-tokens",
    lambda tokens: all(isinstance(token, str) for token in tokens),
    IDS["cl100k_base"]["transformerization"],
    counter=list(PIECES["cl100k_base"]["transformerization"]),
    because=f"encode gives numbers, {IDS['cl100k_base']['transformerization']}; the strings appear "
    "when each is decoded by itself",
)

# ---- the numbers ---------------------------------------------------------------------------------

other = {"gpt2": gpt3, "bert": gpt2, "llama2": llama70, "llama3": llama2}
for name, model in (("gpt2", gpt2), ("bert", bert), ("llama2", llama2), ("llama3", llama3)):
    reproduced(f"000-ch9-key-{name}", lambda m: m.params, model, counter=other[name])
reproduced(
    "000-ch9-key-vit",
    lambda P: PatchEmbed(224, P, embedding_dim=768, rng=0).projection.weight.size,
    16,
    counter=32,
)
given(
    "000-ch9-key-tied-position",
    f"the models' own files: {'; '.join(m.source for m in (gpt2, bert, llama2, llama3, vit))}. "
    "The same text says in its first chapter that Llama ties",
)
for name, model in (
    ("gpt2", gpt2),
    ("gpt3", gpt3),
    ("llama2", llama2),
    ("llama3", llama3),
    ("bert", bert),
):
    lost = "V and the number of parameters are" if model is bert else "the number of parameters is"
    undecided(
        f"004-real-{name}",
        f"{lost} lost from the page; V = {model.num_embeddings:,}, and V d = {model.params:,}. "
        f"What is printed is right ({model.source})",
    )
guesses = [m.params for name, m in MODELS.items() if "estimate" in name]
undecided(
    "004-real-gpt4",
    "OpenAI never published the sizes, as the page says itself; 100,000 rows of 4,096 are "
    f"{min(guesses):,}, and of 8,192, as another page has it, {max(guesses):,}",
)
undecided(
    "004-real-tied-column",
    "GPT-2, BERT and the two Llamas are as their published files have it; the weights of GPT-3 "
    '(inferred from GPT-2) and of GPT-4 (printed as "likely") were never published',
)


def whole_gpt(m):
    return sizes.gpt2_params(m.num_embeddings, m.embedding_dim, m.max_len, m.num_layers)


reproduced("004-gpt3-175b", whole_gpt, gpt3, counter=gpt2)
corrected(
    "001-hist-400m",
    sizes.table_params,
    100_000,
    4096,
    counter=(100_000, 4000),
    because="100,000 * 4,096 = 409,600,000, which rounds to 410 M",
)
given("002-s2-dims", f"{gpt2.source}; {gpt3.source}; {llama2.source}; {llama70.source}")
given("004-dims-range", f"{gpt2.source}; {llama2.source}")

# ---- where it comes from -------------------------------------------------------------------------

given(
    "001-hist-dates",
    "the papers: Bengio et al., JMLR 3, 2003; Mikolov et al., ICLR workshop 2013; Pennington et "
    "al., EMNLP 2014; Press and Wolf, EACL 2017; Inan et al., ICLR 2017 (both preprints 2016)",
)
given(
    "001-hist-original-transformer",
    "Vaswani et al. 2017, section 3.4: both embeddings and the pre-softmax projection share one "
    "matrix",
)
# widths of feed-forward and of keys in the models released since 2023 (queries are as wide as rows,
# but in Gemma 7B: 16 heads of 256)
WIDTHS = {
    "Llama 2 7B": (11_008, 4096, 4096),
    "Llama 2 70B": (28_672, 8192, 1024),
    "Llama 3 8B": (14_336, 4096, 1024),
    "Llama 3.2 1B": (8192, 2048, 512),
    "Mistral 7B": (14_336, 4096, 1024),
    "Gemma 2B": (16_384, 2048, 256),
    "Gemma 7B": (24_576, 4096, 4096),
}


def tables_in(name):
    """How many tables of V by D a released model holds beside its layers."""
    m, (mlp, queries, keys) = MODELS[name], WIDTHS[name]
    layer = m.embedding_dim * (2 * queries + 2 * keys + 3 * mlp + 2)
    return (sizes.RELEASED[name] - m.num_layers * layer - m.embedding_dim) / m.params


corrected(
    "001-hist-default-today",
    lambda names: "default" if sum(tables_in(n) == 1 for n in names) > len(names) / 2 else "some",
    list(WIDTHS),
    counter=["Gemma 2B", "Gemma 7B", "Llama 3.2 1B"],
    because=f"of {len(WIDTHS)} models since 2023, by the numbers in their weights, "
    f"{', '.join(n for n in WIDTHS if tables_in(n) == 1)} have one table and the others two",
)
given(
    "004-further-reading",
    "title pages of the papers, and the dates of the two essays on colah.github.io",
)
given(
    "004-undated-reading",
    "as their own pages date them: the illustrated Transformer and BERT 2018 (Alammar), the "
    "visualized GPT 2023 (Bycroft), a GPT built step by step 2023 (Karpathy), the film on GPT 2024 "
    "(3Blue1Brown)",
)
