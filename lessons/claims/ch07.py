"""Chapter 7: subwords, with what the other sources say about pieces and rare words."""

from itertools import pairwise

import numpy as np

from scratch_embed.lesson.claims import corrected, given, measured, reproduced, undecided, values_of
from scratch_embed.sizes import MODELS, RELEASED, head_break_even
from scratch_embed.text import bpe, corpus, toy
from scratch_embed.text.bpe import merge_steps
from scratch_embed.text.published import CHARACTERS_PER_TOKEN, IDS, PIECES, TOKENIZERS

lesson, tables = values_of("ch07_subwords"), values_of("ch01_token_table")
llama2, llama3 = MODELS["Llama 2 7B"], MODELS["Llama 3 8B"]
gpt4 = PIECES["cl100k_base"]

# ---- the eight words, by hand --------------------------------------------------------------------

LISTED = [
    "t h e _ c a t _ s a t _ o n _ t h e _ m a t _ t h e _ c a t",
    "t h e _ c at _ s at _ o n _ t h e _ m at _ t h e _ c at",
    "th e _ c at _ s at _ o n _ th e _ m at _ th e _ c at",
    "the _ c at _ s at _ o n _ the _ m at _ the _ c at",
]
TABLED = ("th", "he", "at", "ca", "e_", "_t", "_c", "_m", "sa")


def listed(text, merges, ties="first"):
    """Whether the tokens after so many merges are those that the page lists."""
    steps = list(merge_steps(text, merges, ties=ties))
    tokens = steps[-1].tokens if steps else list(text)
    return tokens == [token.replace("_", " ") for token in LISTED[merges].split()]


def pair_count(text, pair):
    return lesson.count_pairs([text.replace(" ", "_")]).get(tuple(pair), 0)


def merge(number, ties="first", text=toy.CAT):
    step = list(merge_steps(text, number, ties=ties))[-1]
    return f"{'+'.join(step.pair)}, {step.count}"


reproduced("000-ch7-char-tokens", listed, toy.CAT, 0, counter=(toy.CAT_SHORT, 0))
for pair in TABLED:  # the counter is a text without that pair
    other = toy.CAT.replace(pair.replace("_", " "), "q")
    reproduced(f"000-ch7-pair-{pair}", pair_count, toy.CAT, pair, counter=(other, pair))
corrected(
    "000-ch7-pair-others",
    lambda text: all(
        count == 1
        for pair, count in lesson.count_pairs([text.replace(" ", "_")]).items()
        if "".join(pair) not in TABLED
    ),
    toy.CAT,
    counter="the cats",
    because="a t and a space meet three times, after cat, sat and mat",
)
undecided("000-ch7-pair-total", f"no total is printed; it is {len(toy.CAT) - 1}, one for each pair")

# Merges 2 and 3 are ties. The page's program takes the first in the text, without saying so.
reproduced("000-ch7-merge1", merge, 1, counter=(1, "first", toy.CAT_SHORT))
reproduced("000-ch7-merge1-list", listed, toy.CAT, 1, counter=(toy.CAT_SHORT, 1))
for number in (2, 3):
    counter = toy.CAT, number, "smallest"
    reproduced(f"000-ch7-merge{number}", merge, number, counter=counter[1:])
    reproduced(f"000-ch7-merge{number}-list", listed, toy.CAT, number, counter=counter)


def merges_until_the(ties):
    steps = merge_steps(toy.CAT, 10, ties=ties)
    return f"{next((n for n, s in enumerate(steps, 1) if 'the' in s.tokens), 'no')} merges"


reproduced("000-ch7-the-single-token", merges_until_the, "first", counter="smallest")
undecided(
    "000-ch7-merge4-crosses-space",
    "the page stops after three merges. The next would join 'the' and the space behind it; "
    "published tokenizers cut a text into words first and merge inside words",
)
reproduced(  # from the sixth merge on no pair stands twice: it learns the sentence by heart
    "000-ch7-code-corpus",
    lambda text: f"{len(list(merge_steps(text, 10)))} merges",
    toy.CAT_SHORT,
    counter="the cat",
)
given(
    "000-ch7-bpe-citation",
    "Sennrich, Haddow and Birch, ACL 2016 (arXiv 1508.07909 is of 2015), after Gage 1994",
)

# ---- real vocabularies ---------------------------------------------------------------------------

for id in ("transformerization-split", "tiktoken-the", "tiktoken-hello"):
    given(f"000-ch7-{id}", "OpenAI's tiktoken, encoding cl100k_base")
corrected(
    "000-ch7-un-happi-ness",
    "|".join,
    gpt4["unhappiness"],
    counter=(("un", "happi", "ness"),),
    because="so the vocabularies of GPT-2 and GPT-4 have it; no happi is among their pieces",
)
CLAIMED = {"unhelpfulness": {"un", "ness"}, "happiness": {"happi", "ness"}, "sadness": {"ness"}}
BY_GRAMMAR = {"unhelpfulness": ["un", "help", "ful", "ness"], "happiness": ["happi", "ness"]}
corrected(
    "000-ch7-shared-pieces",
    lambda cut: all(CLAIMED[word] <= set(cut[word]) for word in CLAIMED),
    gpt4,
    counter={**BY_GRAMMAR, "sadness": ["sad", "ness"]},
    because="so grammar would cut; GPT-4's vocabulary has un|help|fulness, h|appiness, sad|ness",
)
given(
    "000-ch7-not-concatenated",
    "a definition: each piece is a token with a row of its own, and a place of its own in the text",
)
corrected(
    "004-id-space-prefix",
    lambda token: f"cat {IDS['r50k_base'][token][0]}",
    "cat",
    counter=" cat",
    because="row 3797 belongs to a space and cat; and 3290, given to sat, is the row of ' dog'",
)
given(
    "000-ch7-sweet-spot",
    "the tables of published models: Llama 2 32,000, GPT-4 100,277, Llama 3 128,256; outside of it "
    "BERT 30,522, GPT-4o 200,019, Gemma 256,000",
)
given("001-uses-vocab-range", f"{TOKENIZERS['Llama 2'].source}; {TOKENIZERS['Gemma'].source}")
given("004-recap-30k-50k", "BERT has 30,522 rows and GPT-2 50,257: vocab.txt, tiktoken's r50k_base")
corrected(
    "001-uses-bert-tokenizer",
    lambda names: all(
        "BPE" in TOKENIZERS[name].method or "SentencePiece" in TOKENIZERS[name].method
        for name in names
    ),
    ["GPT-2", "Llama 2", "BERT"],
    counter=["GPT-2", "Llama 2"],
    because="BERT cuts by WordPiece (Devlin et al. 2019), whose trainer was never published",
)
given(
    "004-recap-neologism",
    "not a word of 2015: dictionaries (OED, Online Etymology Dictionary) have the verb to "
    "hallucinate from the 17th century; the point holds for words that are really new",
)
undecided("000-ch7-tokenizer-widget", "which vocabulary of 32,000 pieces the page uses is not said")
given("000-ch7-any-word", "what the page's widget does; simulations/tokenizer.py has a menu")

# ---- words without a row -------------------------------------------------------------------------

undecided(
    "000-ch7-english-words",
    "what counts as common is not said. The Oxford English Dictionary (second edition, 1989) has "
    "171,476 entries for words in current use, common or not",
)
given("000-ch7-million-rows", "a definition: a row for each word")
vocabulary = corpus.Vocabulary.from_tokens(toy.CAT.split())


def breaks(find):
    try:
        find(["neologism"])
    except KeyError:
        return True
    return False


corrected(
    "000-ch7-oov-breaks",
    breaks,
    vocabulary.encode,
    counter=lambda words: [vocabulary.index[word] for word in words],
    because="tables of words have a row for all unknown ones: the model goes on, knowing less",
)
characters = bpe.train(toy.CAT, 10, boundaries=True)
by_bytes = bpe.train(toy.CAT, 10, unit="byte", boundaries=True)
strange = "the c\u00e4t sat \U0001f600"


def never_unknown(tokenizer):
    return tokenizer.decode(tokenizer.encode(strange)) == strange


corrected(
    "000-ch7-oov-never",
    never_unknown,
    characters,
    counter=by_bytes,
    because="pieces made from the letters a to z, as on the page, do meet unknown characters; only "
    "those that start from bytes, or fall back on them, never do",
)
reproduced("004-takeaway-byte-bpe", never_unknown, by_bytes, counter=characters)
corrected(
    "004-recap-oov",
    lambda tokenizer: "zero" if never_unknown(tokenizer) else "some",
    characters,
    counter=by_bytes,
    because="the size of a vocabulary guarantees nothing; starting from all 256 bytes does",
)


def is_spelled(word):
    return [piece.decode() for piece in by_bytes.pieces(word)] == list(word)


reproduced("000-ch7-worst-case", is_spelled, "zqxj", counter="the")

# ---- rare words ----------------------------------------------------------------------------------

wholes, pieces, *control = lesson.result.T  # percent understood: never, 1, 2-3, 4-10, 11 or more
FOUND = (
    f"a made-up language of stems and endings, five seeds: of words read two or three times "
    f"{wholes[2]} percent are understood as wholes, {pieces[2]} in pieces, 12.5 by chance; where "
    f"pieces mean nothing, {control[0][2]} and {control[1][2]}"
)


def pieces_help(ways):
    return bool(ways[1][2] > ways[0][2] + 20)


for id in ("000-ch7-quiz", "003-subword-response", "003-companion-quiz-rare"):
    measured(id, pieces_help, (wholes, pieces), counter=control, because=FOUND)
measured(
    "003-rare-undertrained",
    lambda understood: bool(understood[2] < 0.6 * understood[4]),
    wholes,
    counter=pieces,
    because=FOUND,
)
measured(
    "000-ch7-three-updates",
    lambda percent: bool(percent < 2 * 12.5),
    wholes[2],
    counter=wholes[0],
    bears_out=False,
    because=FOUND + ". How far three updates carry is up to the learning rate",
)
few = (tables.updates >= 1) & (tables.updates <= 5)
E_fast, _, start = tables.learn(eta=0.2)
near, far = (float(np.median(np.linalg.norm((E - start)[few], axis=1))) for E in (tables.E, E_fast))
measured(
    "002-pit1-rare",
    lambda moved: moved < 0.3,
    near,
    counter=far,
    because=f"on real text rows of length 1 with one to five updates moved by {near:.2f} (median); "
    f"with four times the learning rate, which suits the whole less, by {far:.2f}",
)


def gain(low, high):
    here = ((tables.updates >= low) & (tables.updates <= high))[tables.now[tables.kept]]
    return float(tables.gains[1][here].mean())


quality = [gain(*group) for group in ((1, 5), (6, 20), (21, 100), (101, 500), (501, 10**6))]
measured(
    "000-ch7-updates-determine-quality",
    lambda gains: gains == sorted(gains),
    quality,
    counter=quality[:4],
    bears_out=False,
    because="on real text the gain of a row rises up to some hundred updates and then stops "
    f"({', '.join(f'{g:.2f}' for g in quality)} nats for 1-5, 6-20, 21-100, 101-500 and more "
    "updates), and another learning rate changes it at the same count",
)


def few_dominate(counts):
    return bool(counts[:10].sum() > counts[len(counts) // 2 :].sum())


reproduced("003-freq-tokens-dominate", few_dominate, tables.counts, counter=np.full(1000, 20))
NO_TEXT = "no text is named, so there is nothing to count in"
for id in ("freq-whole", "freq-un", "freq-happi", "freq-ness", "hierarchy-stop"):
    undecided(f"000-ch7-{id}", f"{NO_TEXT}; nor are readings updates (one step a batch)")
for id in ("common-subwords", "common-words", "characters"):
    undecided(f"000-ch7-hierarchy-{id}", NO_TEXT)
undecided(
    "000-ch7-hierarchy-rare-subwords",
    f"{NO_TEXT}; GPT-4's vocabulary has neither zyg nor qph, but zy|g and q|ph",
)
labs = values_of("labs/un_as_a_meaning")
found = {way: labs.first.final(way) for way in labs.first.scores}


measured(
    "000-ch7-attention-composes",
    lambda without_attention: bool(without_attention.max() < 0.6),
    found["sum, MLP"],
    counter=found["sum"],
    bears_out=False,
    because="'un' can be learned as 'not', but it is not attention that does it: of unseen words "
    f"an MLP on the sum of rows tells at least {found['sum, MLP'].min():.0%} right, and one head "
    f"of attention alone at most {found['one head'].max():.0%}. Something must bend",
    lab="un_as_a_meaning",
)

# ---- the size of a vocabulary --------------------------------------------------------------------

for id in ("small", "medium", "large"):
    given(f"000-ch7-tradeoff-table-{id}", "a definition: V rows of d numbers")
corrected(
    "000-ch7-tradeoff-tokens-per-word",
    lambda merges: lesson.tokens_per_word(
        bpe.BPE(lesson.full.merges[:merges], lesson.full.alphabet, boundaries=True), lesson.kept
    ),
    5000,
    counter=50,
    printed="3-5",
    because=f"with {len(lesson.cuts[-1]):,} rows, fewer than the page's 8,000, a word of English "
    "documentation that was not trained on takes less than two",
)


def is_falling(numbers):
    return all(a > b for a, b in pairwise(numbers))


readings = [len(cut.encode(lesson.pages)) / len(cut) for cut in lesson.cuts]
reproduced("000-ch7-tradeoff-frequency", is_falling, readings, counter=readings[::-1])
words = ["transformerization", "unhappiness", "network", "tokenizers"]
cut_up = [sum(len(cut.pieces(word)) for word in words) for cut in lesson.cuts]

reproduced(  # at each size, all pieces of the four words
    "000-ch7-smaller-v-more-pieces", is_falling, cut_up, counter=cut_up[::-1]
)
shorter = CHARACTERS_PER_TOKEN["Llama 2"] / CHARACTERS_PER_TOKEN["Llama 3"]


def cost(model, position):
    """Multiply-adds of the head, and of attention to what stands before, for one token."""
    return model.params + 2 * position * model.embedding_dim * model.num_layers


saved = head_break_even(llama2.num_embeddings, llama3.num_embeddings, llama3.num_layers)
corrected(
    "000-ch7-tradeoff-compute",
    lambda tokens: cost(llama3, 4096 * shorter) * tokens < cost(llama2, 4096),
    1.0,
    counter=shorter,  # the same text, in fewer tokens
    because="per token a large vocabulary costs more, as its head is larger (Llama 3 against "
    f"Llama 2: until attention reads {saved} tokens less); what gets cheaper is a text",
)


def two_tables(first, second):
    return [first * 4096, second * 4096]


rows, other = (128_256, 32_000), (50_257, 32_000)
reproduced("004-real-525-131", two_tables, *rows, counter=other)
reproduced("004-recap-131-525", two_tables, *rows[::-1], counter=other[::-1])
read = RELEASED["Llama 3 8B"] - llama3.params  # all weights but the input table
ratio = read / (read - llama3.params + llama2.params) * shorter
undecided(
    "004-real-latency",
    "no figure is printed, and latency is up to the machine. By weights read for a character of "
    f"English, Llama 3's vocabulary takes {ratio:.2f} times what Llama 2's would in the same model",
)
