"""The arena: chapter 8 of the ten-chapter text."""

import numpy as np

from scratch_embed import contest, images, sizes
from scratch_embed.layers import PatchEmbed
from scratch_embed.lesson.claims import corrected, given, measured, reproduced, undecided
from scratch_embed.text import bpe, corpus

# ---- how many numbers ----------------------------------------------------------------------------

for name, V, D, tables in (
    ("small-tied", 8_000, 768, 1),
    ("large-untied", 128_000, 4096, 2),
    ("bpe32k", 32_000, 768, 1),
    ("char", 256, 768, 1),
):
    reproduced(
        f"000-ch8-{name}-params",
        lambda V, D, tables: tables * sizes.table_params(V, D),
        V,
        D,
        tables,
        counter=(V, D, 3 - tables),  # tied taken for untied, and the other way round
    )


def projection(P):
    return PatchEmbed(224, P, embedding_dim=768, rng=0).projection.weight.size


def patches(P):
    return PatchEmbed(224, P, embedding_dim=1, rng=0).num_patches


for P, other in ((16, 32), (32, 16)):
    reproduced(f"000-ch8-patch{P}-params", projection, P, counter=other)
    reproduced(f"000-ch8-patch{P}-tokens", patches, P, counter=other)


def mostly_a_matter_of_width(D):
    """Whether the two tables of 128,000 rows look five times as large as at equal width."""
    large, small = 2 * sizes.table_params(128_000, D), sizes.table_params(8_000, 768)
    return large / small > 5 * (2 * sizes.table_params(128_000, 768) / small)


reproduced("000-ch8-unequal-d", mostly_a_matter_of_width, 4096, counter=768)

# ---- how many tokens -----------------------------------------------------------------------------

known, unseen = contest.split(corpus.python_text(("topics",)), 200_000)
LONG = 120  # characters, as in the row of the characters


def words_in_an_input(text):
    """Words in 120 characters: the fewest tokens of a tokenizer that keeps words apart."""
    return LONG * len(text.split()) / len(text)


learned = bpe.train(known, 8_000, boundaries=True, min_count=2, progress=False)
per_input = LONG * len(learned.encode(unseen)) / len(unseen)
corrected(
    "000-ch8-large-untied-tokens",
    words_in_an_input,
    unseen,
    counter="reading " * 200,  # words of seven letters would do
    because="pieces do not reach across words, whatever V is, and 120 characters of English hold "
    f"some {words_in_an_input(unseen):.0f} words",
)
NO_TEXT = "no text is given; in 120 characters of Python's documentation there are"
undecided(
    "000-ch8-small-tied-tokens",
    f"{NO_TEXT} {words_in_an_input(unseen):.0f} words, and {per_input:.0f} pieces of a vocabulary "
    f"of {len(learned):,}",
)
undecided(
    "000-ch8-bpe32k-tokens",
    f"{NO_TEXT} {per_input:.0f} pieces of a vocabulary of {len(learned):,}, and no 32,000 to learn",
)
given("000-ch8-char-tokens", "a definition: the input is 120 characters long, and each is a token")

# ---- who wins ------------------------------------------------------------------------------------

given("000-ch8-six-strategies", "the page's own lists of strategies and tasks")
undecided(
    "000-ch8-bpe-most-common",
    "nothing here counts what others use. With 500 rows, the lab `arena` finds words ahead of "
    "pieces at its largest budget, for each of five seeds, in English and in five scripts",
)
LETTERS = "ABCDEFGH"
text, held_out = known[:40_000], unseen[:2_000]
drawn = images.letter_images(LETTERS, images.FONTS[:12], 8, copies=3, rng=3)
strange = images.letter_images(LETTERS, images.FONTS[12:20], 8, copies=2, rng=4)


def read(name, seed):
    player = contest.contestant(name, text, seed)
    player.learn(text, 6_000, seed)
    return -player.bits(held_out)


scores = np.array(
    [
        [
            [read(name, seed) for name in contest.STRATEGIES],
            [contest.see(name, drawn, strange, 6, seed) for name in contest.STRATEGIES],
        ]
        for seed in range(3)
    ]
)  # (seeds, tasks, strategies)


def nobody_wins_both(scores):
    return all(len(set(winners)) == 2 for winners in scores.argmax(axis=2))


names = [[contest.STRATEGIES[k] for k in winners] for winners in scores.argmax(axis=2)]
measured(
    "000-ch8-arena-scores",
    nobody_wins_both,
    scores,
    counter=scores[:, [0, 0]],
    because="the bars are simulated, says the page. Trained in small, the best reader and the best "
    f"viewer differ for all {len(scores)} seeds: {'; '.join(' / '.join(pair) for pair in names)}",
    lab="arena",
)
given(
    "000-ch8-click-bar",
    "what the page's widget does; simulations/arena.py tells of the strategy that is chosen",
)
