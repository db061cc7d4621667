"""Chapter 6: the space of rows, and what the other pages say of nearness."""

from functools import cache

import numpy as np

from scratch_embed import Adam, geometry, sizes
from scratch_embed.lesson.claims import (
    corrected,
    given,
    measured,
    reproduced,
    undecided,
    values_of,
)
from scratch_embed.models import NextToken, train
from scratch_embed.simulations import space
from scratch_embed.text import toy

lesson = values_of("ch06_space")
antonyms = values_of("labs/antonyms")
chance = values_of("labs/chance_and_cosines")
SEEDS = range(5)

# ---- told the groups -----------------------------------------------------------------------------

given("000-ch6-steps", "a setting of the page's own widget; ours takes 500 steps as well")
given(
    "000-ch6-play",
    "what the page's widget does; simulations/space.py has a slider over the 500 steps",
)


@cache
def settled(theme, dim, seed, steps=60):
    """The tables of a short walk of the simulation, and the groups of its words."""
    _, groups = space.words_of(theme)
    start = np.random.default_rng(seed).standard_normal((len(groups), dim))
    return space.settle(start, groups, steps, rng=seed), groups


def accuracy(theme, dim, seed, step):
    tables, groups = settled(theme, dim, seed)
    return geometry.neighbour_accuracy(tables[step], groups)


def first_grouped(theme, seed):
    """The first step at which every word stands next to one of its group."""
    tables, groups = settled(theme, 8, seed)
    shares = [geometry.neighbour_accuracy(table, groups) for table in tables]
    return next((step for step, share in enumerate(shares) if share == 1.0), len(tables))


ends = [accuracy("Mixed", 8, seed, -1) for seed in SEEDS]
starts = [accuracy("Mixed", 8, seed, 0) for seed in SEEDS]
measured(
    "000-ch6-clusters-emerge",
    lambda shares: min(shares) > 0.95,
    ends,
    counter=starts,
    because=f"64 words of 16 groups, D = 8, five seeds: next to a friend {max(starts):.2f} at most "
    f"at random, {min(ends):.2f} at least after 60 steps",
)
easy = [first_grouped("Animals & Colors", seed) for seed in SEEDS]
hard = [first_grouped("Mixed", seed) for seed in SEEDS]
measured(
    "000-ch6-mixed-harder",
    lambda steps: bool(np.median(steps[1]) > np.median(steps[0])),
    [easy, hard],
    counter=[hard, easy],
    because=f"by little: all words are grouped after {min(hard)} to {max(hard)} steps, those of "
    f"Animals & Colors after {min(easy)} to {max(easy)}; both themes end without a fault",
)


def some_word_is_misplaced(dim, noise):
    tables, groups = settled("Mixed", dim, 0, steps=500)
    noisy = tables[-1] + noise * np.random.default_rng(1).standard_normal(tables[-1].shape)
    return bool(geometry.neighbour_accuracy(noisy, groups) < 1)


corrected(
    "000-ch6-dim2-cannot-separate",
    some_word_is_misplaced,
    2,
    0.0,
    counter=(2, 0.15),
    because="no overlap is forced: sixteen groups part on a circle, side by side; what the plane "
    "lacks is margin, so that noise mixes them",
)


def nearest_of_strangers(dim):
    """The mean cosine of a row to the nearest of 63 others, all random, for five seeds."""
    tables = [np.random.default_rng(seed).standard_normal((64, dim)) for seed in SEEDS]
    return [(geometry.cosines(t) - 2 * np.eye(64)).max(axis=1).mean() for t in tables]


measured(
    "000-ch6-dim32-corner",
    lambda cosines: max(cosines) < 0.6,
    nearest_of_strangers(32),
    counter=nearest_of_strangers(2),
    because=f"there is room for it: of 64 random rows the nearest other has a mean cosine of "
    f"{max(nearest_of_strangers(32)):.2f}, in the plane {min(nearest_of_strangers(2)):.3f}; but "
    "the simulation draws the words of one group into one corner",
)
undecided("000-ch6-three-things", "the page's list is lost")
gpt2, llama2 = sizes.MODELS["GPT-2 small"], sizes.MODELS["Llama 2 7B"]
given(
    "000-ch6-high-d-needed",
    f"the widths are those of GPT-2 small ({gpt2.source}) and Llama 2 7B ({llama2.source}); what "
    "they are needed for is the page's reading",
)

# ---- told nothing --------------------------------------------------------------------------------


def learned(seed, in_order, dim=8, steps=300, groups=4, V=24):
    """(table, last losses) of a next-word model on a text with hidden groups, and the groups."""
    rng = np.random.default_rng(seed)
    corpus = toy.zipf_classes(12_000, V, groups, exponent=0.5, rng=rng)
    tokens = corpus.tokens if in_order else rng.permutation(corpus.tokens)
    model = NextToken(V, dim, rng=seed, init=0.1)
    run = train(model, tokens, Adam(model.parameters(), lr=0.02), steps, batch_size=128, rng=seed)
    return model.embed.weight.numpy(), run.losses[-50:].mean(), corpus.classes


def found(in_order):
    """The share of words next to one of their group, seed by seed."""
    runs = [learned(seed, in_order) for seed in SEEDS]
    return [geometry.neighbour_accuracy(table, classes) for table, _, classes in runs]


ordered, shuffled = found(True), found(False)
FOUND = (
    f"a next-word model that is told no groups puts at least {min(ordered):.0%} of its words next "
    f"to one of their group, and at most {max(shuffled):.0%} when the text is shuffled (five seeds)"
)
for id in ("000-ch6-similar-context", "001-intro-similar-vectors", "002-s2-emergent"):
    measured(id, lambda shares: min(shares) > 0.7, ordered, counter=shuffled, because=FOUND)
measured(
    "004-side-effect",
    lambda shares: min(shares) > 0.7,
    ordered,
    counter=shuffled,
    because=FOUND + "; the loss asks for the next word alone",
)


def makes_no_groups_without_reason(train):
    """Whether a procedure leaves words ungrouped when nothing in the text speaks for groups."""
    return bool(train() < 0.5)


corrected(
    "000-ch6-sim-mimics-lm",
    makes_no_groups_without_reason,
    lambda: lesson.own_group(lesson.obedient, lesson.dealt),
    counter=lambda: lesson.own_group(lesson.no_order, lesson.found_in),
    because="the pictures are alike, the cause is not: the simulation makes whatever groups it is "
    "dealt, a language model those of the contexts, and none when the text is shuffled",
)
widths = (2, 4, 8, 32)
losses = [[learned(s, True, D, 300, 16, 64)[1] for D in widths] for s in range(3)]
measured(
    "004-capacity-tradeoff",
    lambda losses: all(a - b > b - c > c - d > 0 for a, b, c, d in losses),
    losses,
    counter=[row[::-1] for row in losses],
    because="a next-word model on 64 words of 16 groups ends at a loss of "
    f"{np.mean([row[0] for row in losses]):.2f}, {np.mean([row[1] for row in losses]):.2f}, "
    f"{np.mean([row[2] for row in losses]):.2f} and {np.mean([row[3] for row in losses]):.2f} with "
    "2, 4, 8 and 32 columns: the first columns buy most, and the table grows with each",
)

# ---- opposites -----------------------------------------------------------------------------------

near = antonyms.results.final("opposites")
swapped = antonyms.results.final("another's opposite")
NEAR = (
    f"in a real text {near.min():.0%} to {near.max():.0%} of {len(antonyms.pairs)} pairs of "
    f"opposites are among each other's ten nearest of {antonyms.V:,} words; with the partners "
    f"exchanged {swapped.min():.0%} to {swapped.max():.0%}"
)
measured(
    "000-ch6-antonyms-apart",
    lambda shares: bool(max(shares) < 0.2),
    near,
    counter=swapped,
    because=NEAR,
    lab="antonyms",
    bears_out=False,
)
measured(
    "002-s6-antonyms",
    lambda shares: bool(min(shares) > 0.5),
    near,
    counter=swapped,
    because=NEAR,
    lab="antonyms",
)
undecided(
    "000-ch6-synonyms-cluster",
    "the texts here hold too few synonyms to count; words of like contexts cluster, and opposites "
    "are among them",
)

# ---- measures of nearness ------------------------------------------------------------------------

given("002-s6-cosine-formula", "a definition: cos(a, b) = a . b / (|a| |b|)")
read = chance.table(0, chance.medians.longest)  # skip-gram's rows after a pass over real text


def mean_cosine(table):
    """Over all pairs of words, nearly all of which are unrelated."""
    return float(geometry.cosines(table)[chance.pairs].mean())


corrected(
    "002-s6-unrelated-zero",
    lambda table: bool(abs(mean_cosine(table)) < 0.1),
    read,
    counter=geometry.centre(read),
    because="so it is when the mean row is zero; what all rows share lifts every cosine, until the "
    f"mean row is taken away. After a pass of skip-gram over real text two words have "
    f"{mean_cosine(read):.2f} on the average, less the mean row "
    f"{mean_cosine(geometry.centre(read)):.2f} (lab `chance_and_cosines`, which reads on)",
)


def agreement(table):
    """Rank correlation of cosines with the truth: 1 for a pair of one group, else 0."""
    pairs = np.triu_indices(len(table), 1)
    same = lesson.found_in[:, None] == lesson.found_in
    return geometry.rank_correlation(geometry.cosines(table)[pairs], same[pairs].astype(float))


reproduced(
    "004-quiz-measure-similarity",
    lambda table: agreement(table) > 0.4,
    lesson.untold,
    counter=lesson.no_order,
)
undecided(
    "004-not-interpretable",
    "no people were asked. Turn the whole space, and plain gradient descent does as before, so "
    "there no column can be special; with Adam, or a tanh, which work number by number, one can",
)

# ---- how many columns ----------------------------------------------------------------------------


def table_of_all(D):
    table, all = sizes.table_params(50_257, D), sizes.gpt2_params(50_257, D, 1024, 12)
    return f"{table / 1e6:.1f}M of {all / 1e6:.0f}M"


reproduced("004-recap-768", table_of_all, 768, counter=64)
published = [m.embedding_dim for name, m in sizes.MODELS.items() if "estimate" not in name]
corrected(
    "004-takeaway-dims",
    lambda widths: f"{min(widths)}-{max(widths)}",
    published,
    counter=[D for D in published if D <= 4096],
    because="Llama 2 70B and GPT-3, which is in the page's own table, are wider",
)
