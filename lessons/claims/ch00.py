"""Chapter 0: from integers to meaning."""

import numpy as np

from scratch_embed import SGD, Embedding, geometry
from scratch_embed.functional import lookup, onehot_product
from scratch_embed.lesson.claims import (
    corrected,
    given,
    measured,
    reproduced,
    undecided,
    values_of,
)
from scratch_embed.models import NextToken, train
from scratch_embed.ops.lookup import lookup_forward
from scratch_embed.ops.onehot import one_hot

lesson = values_of("ch00_lookup")
E, words = lesson.E, lesson.words
shuffled = E[[3, 4, 5, 0, 1, 2]]  # the same table, its rows handed out in another order


def distance(E, a, b):
    return geometry.euclidean(E[words.index(a)], E[words.index(b)])


# ---- what the page promises ----------------------------------------------------------------------

given("000-hdr-chapters", "the page's own list of contents has chapters 0 to 9")
undecided(
    "000-hdr-simulations",
    "in the text as it came to us nine are named, one in each of the chapters 0 to 8; what was "
    "lost on the way cannot be counted",
)
given(
    "000-hdr-assumed-knowledge",
    "the page's own word. The line above it asks for two things: what a matrix is, and how neural "
    "networks process inputs",
)

# ---- ids -----------------------------------------------------------------------------------------


def all_equally_far(codes):
    apart = geometry.distances(codes)
    return bool(np.ptp(apart[np.triu_indices(len(codes), 1)]) < 1e-12)


reproduced("000-ch0-id-sum", lambda a, b: a + b, 3782, 5291, counter=(3783, 5291))
reproduced(  # one-hot codes know of no gap between ids; codes made of the ids themselves would
    "000-ch0-id-no-distance",
    all_equally_far,
    one_hot(np.array([0, 1, 5]), 6),
    counter=np.array([[0.0], [1.0], [5.0]]),
)

# ---- the table of six words ----------------------------------------------------------------------

reproduced("000-ch0-param-count", np.size, E, counter=E[:5])
reproduced("000-ch0-lookup-cat", lambda E: lookup_forward(E, 1)[0], E, counter=shuffled)
reproduced("000-ch0-lookup-dog", lambda E: lookup_forward(E, 2)[0], E, counter=shuffled)
reproduced(  # the very bits of the table come out; a product with a rounded code would change them
    "000-ch0-no-arithmetic",
    lambda rows: rows.tobytes() == E[[1, 2]].tobytes(),
    lookup_forward(E, np.array([1, 2]))[0],
    counter=(one_hot(np.array([1, 2]), 6) * (1 - 1e-12)) @ E,
)
for id, a, b in (("cat-dog", "cat", "dog"), ("cat-the", "cat", "the")):
    undecided(
        f"000-ch0-dist-{id}",
        f"the page's figure is lost; the distance is {distance(E, a, b):.6f}",
    )
reproduced(
    "000-ch0-ratio",
    lambda E: distance(E, "cat", "the") / distance(E, "cat", "dog"),
    E,
    counter=shuffled,
)
corrected(
    "000-ch0-nearest-neighbours",
    lambda E: distance(E, "the", "on") > 2 * distance(E, "cat", "dog"),  # 'the' stands alone
    E,
    counter=np.where(np.arange(6)[:, None] == 5, 2.0, E),  # 'on' moved away
    because="in the printed table the nearest row to 'the' is 'on', almost as near as dog to cat",
)

given("000-ch0-click-word", "what the page's widget does; simulations/lookup.py has a menu for it")

# ---- the layer -----------------------------------------------------------------------------------


def is_row_reading(layer):
    return np.array_equal(layer([1, 2, 0]).numpy(), layer.weight.numpy()[[1, 2, 0]])


class Shifted(Embedding):
    """A layer that does more than read rows."""

    def __call__(self, ids):
        return super().__call__(ids) + 1.0


layer = Embedding(6, 3, rng=0, init=0.02)
wide = Embedding(2000, 50, rng=0, init=0.02).weight.numpy()
default = Embedding(2000, 50, rng=0).weight.numpy()
reproduced("000-ch0-scratch-forward-shape", lambda ids: layer(ids).shape, [1, 2, 0], counter=[1, 2])
reproduced("000-ch0-torch-weight-shape", lambda e: e.weight.shape, layer, counter=Embedding(5, 3))
reproduced("000-ch0-torch-index-equality", is_row_reading, layer, counter=Shifted(6, 3, rng=0))
reproduced("000-ch0-scratch-init-std", np.std, wide, counter=default)
corrected(
    "000-ch0-torch-equivalent-init",
    lambda a, b: abs(a.std() / b.std() - 1) < 0.05,
    wide,
    default,
    counter=(wide, wide[::-1]),
    because=f"the lookup is the same and the start is not: N(0, 1) makes rows "
    f"{default.std() / wide.std():.0f} times as long, which matters once tables are tied or scaled",
)

# ---- linear or not -------------------------------------------------------------------------------

rng = np.random.default_rng(0)
table, ids = rng.standard_normal((500, 16)), rng.integers(500, size=40)


def equals_product_and_not_linear_in_id(table, codes):
    same = np.array_equal(lookup(table, ids).numpy(), codes @ table)
    return same and not np.allclose(table[1] + table[2], table[3])


reproduced(
    "000-ch0-not-linear-layer",
    equals_product_and_not_linear_in_id,
    table,
    one_hot(ids, 500),
    counter=(np.outer(np.arange(500), np.ones(16)), one_hot(ids, 500)),  # row i is i: linear in i
)


def reads_only(operation):
    """Whether an operation refuses, or cannot tell, a code that is half one id and half another."""
    half = (one_hot(ids[:1], 500) + one_hot(ids[1:2], 500)) / 2
    return not np.allclose(operation(half), (table[ids[0]] + table[ids[1]]) / 2)


corrected(
    "000-ch0-no-implementation-onehot",
    reads_only,
    lambda code: onehot_product(code, table).numpy(),
    counter=lambda code: table[code.argmax(axis=1)],
    because="some do multiply: this package has one, and the published BERT code has a switch "
    "use_one_hot_embeddings (google-research/bert, modeling.py); on hardware built for matrix "
    "products it can be faster",
)
reproduced(
    "000-ch0-quiz-operation",
    lambda f: np.array_equal(f(E, 2), E[2]),
    lambda E, id: lookup_forward(E, id)[0],
    counter=lambda E, id: (E[1] + E[3]) / 2,  # where any "weight times id plus bias" must put it
)

# ---- rows that learn: pets and places, five seeds ------------------------------------------------

PETS, PLACES = ["cat", "dog", "kitten"], ["house", "building", "barn"]
DOES = {"pet": ["sat", "slept", "ran"], "place": ["stood", "burned", "fell"]}
VOCABULARY = ["the", "on", *PETS, *PLACES, *DOES["pet"], *DOES["place"]]


def sentence(rng):
    """the PET sat on the PLACE, or the PLACE stood on the PLACE"""
    who, does = [(PETS, "pet"), (PLACES, "place")][rng.integers(2)]
    said = ["the", rng.choice(who), rng.choice(DOES[does]), "on", "the", rng.choice(PLACES)]
    return [VOCABULARY.index(word) for word in said]


def trained(seed, steps):
    rng = np.random.default_rng(seed)
    tokens = np.concatenate([sentence(rng) for _ in range(600)])
    model = NextToken(len(VOCABULARY), 8, rng=seed, init=0.1)
    if steps:
        rate = SGD(model.parameters(), lr=1.0)
        train(model, tokens, rate, steps=steps, batch_size=64, rng=seed)
    return model.embed.weight.numpy()


learned = [trained(seed, 600) for seed in range(5)]
untrained = [trained(seed, 0) for seed in range(5)]


def cosine(table, a, b):
    return geometry.cosines(table)[VOCABULARY.index(a), VOCABULARY.index(b)]


def pets_alike(tables):
    return all(cosine(t, "cat", "dog") > 0.9 and cosine(t, "cat", "the") < 0.5 for t in tables)


def two_clusters(tables):
    for table in tables:
        apart = geometry.distances(geometry.pca(table, 2).coords)
        at = VOCABULARY.index
        inside = max(apart[at("cat"), at("dog")], apart[at("house"), at("building")])
        if inside > 0.5 * min(apart[at(p), at(q)] for p in PETS for q in PLACES):
            return False
    return True


def near_and_far(tables):
    return all(cosine(t, "cat", "dog") > cosine(t, "cat", "house") + 0.5 for t in tables)


FOUND = "a next-word model on made-up sentences about pets and places, D = 8, five seeds"


def cosines(tables, word):
    """The cosine of "cat" and this word in each of the tables."""
    return np.array([cosine(table, "cat", word) for table in tables])


dog, house, the = (cosines(learned, word) for word in ("dog", "house", "the"))
before = cosines(untrained, "dog")
alike = f"cat and dog have a cosine of {dog.min():.2f} or more"
SEEN = {
    "widget-bars": f"{alike}, cat and the of {the.max():.2f} or less",
    "widget-clusters": "on the first two axes cat and dog, and house and building, lie at most "
    "half as far apart as the nearest pet and place",
    "far-parliamentary": f"{alike}, cat and house of {house.max():.2f} or less",
    "random-then-learned": f"{alike}; they started with {before.min():.2f} to {before.max():.2f}",
}
for (id, seen), holds in zip(SEEN.items(), (pets_alike, two_clusters, near_and_far, pets_alike)):
    measured(f"000-ch0-{id}", holds, learned, counter=untrained, because=f"{FOUND}: {seen}")


def verbs_apart(tables):
    """Whether the row nearest to each verb is a verb, in all of these tables."""
    is_verb = np.isin(VOCABULARY, DOES["pet"] + DOES["place"])
    nearest = [(geometry.cosines(t) - 2 * np.eye(len(t))).argmax(axis=1) for t in tables]
    return all(is_verb[rows[is_verb]].all() for rows in nearest)


measured(
    "004-verbs-region",
    verbs_apart,
    learned,
    counter=untrained,
    because=f"{FOUND}: the row nearest to a verb is a verb's. The page's own drawing shows chosen "
    "points, and no model that made them",
)
