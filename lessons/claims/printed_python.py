"""The Python that the sources print, run.

Each line below is one call that a source prints, made with the library that the source imports and
in the sizes that it names. What the source says it prints stands beside what came. Classes are
reduced to the calls that they make, and the lines around the calls are left out. Where a print
names its sizes by letters, this page takes small ones. No verdict of the other pages rests on this
one: there the same statements are judged with NumPy alone.
"""

from collections import Counter
from itertools import pairwise
from math import sqrt

from scratch_embed import geometry
from scratch_embed.lesson.claims import left, ran
from scratch_embed.positions import sinusoidal

# ---- one table: lookup, start, gradient ----------------------------------------------------------


def six_by_three(torch):
    layer, ids = torch.nn.Embedding(num_embeddings=6, embedding_dim=3), torch.tensor([1, 2, 0])
    return layer, ids


def lookup_is_indexing(torch):
    layer, ids = six_by_three(torch)
    return torch.allclose(layer(ids), layer.weight[ids])


def gradient_of_a_sum(torch):
    """Rows 0 to 3 of the gradient, as the text prints them."""
    layer = torch.nn.Embedding(6, 3)
    layer(torch.tensor([1, 2])).sum().backward()
    return layer.weight.grad[:4].tolist()


def padding_row(torch):
    """The row of padding_idx, and its gradient."""
    layer = torch.nn.Embedding(50, 2, padding_idx=0)
    layer(torch.tensor([[0, 3], [0, 0]])).sum().backward()
    return layer.weight[0].tolist(), layer.weight.grad[0].tolist()


def scatter_add(np):
    """The page's loop over batch and time."""
    g, ids, grad = np.ones((2, 3, 8)), np.array([[1, 2, 1], [0, 4, 1]]), np.zeros((50, 8))
    for b in range(2):
        for t in range(3):
            grad[ids[b, t]] += g[b, t]
    return grad.shape


ran(
    "000-ch0-scratch-forward-shape",
    "numpy",
    lambda np: (np.random.RandomState(0).randn(6, 3) * 0.02)[np.array([1, 2, 0])].shape,
)
ran("000-ch0-torch-weight-shape", "torch", lambda torch: six_by_three(torch)[0].weight.shape)
ran("000-ch0-torch-index-equality", "torch", lookup_is_indexing)
ran(
    "000-ch0-torch-equivalent-init",
    "torch",
    lambda torch: round(torch.nn.Embedding(2000, 50).weight.std().item(), 2),
    says="0.02",  # the start of the class that it is called the equivalent of
)
ran(
    "000-ch1-grad-demo",
    "torch",
    gradient_of_a_sum,
    says="[0, 0, 0]; [1, 1, 1]; [1, 1, 1]; [0, 0, 0]",
)
ran(
    "001-code-basic-shape",
    "torch",
    lambda torch: torch.nn.Embedding(32_000, 768)(torch.tensor([0, 42, 1337, 5])).shape,
    says="(4, 768)",
)
ran(
    "001-code-batch-shape",
    "torch",
    lambda torch: torch.nn.Embedding(50, 8)(torch.randint(0, 50, (2, 3))).shape,
    says="(2, 3, 8)",
)
ran("001-code-padding-zero", "torch", padding_row, says="0, 0; 0, 0")
ran(
    "001-code-numpy-forward",
    "numpy",
    lambda np: np.ones((50, 8))[np.array([[1, 2, 1], [0, 4, 1]])].shape,
    says="(2, 3, 8)",
)
ran("001-code-numpy-backward", "numpy", scatter_add, says="(50, 8)")

# ---- inputs: BERT's sum, patches, positions ------------------------------------------------------


def bert_input(torch):
    nn, (V, places, D) = torch.nn, (30_522, 512, 768)
    token, place, segment = nn.Embedding(V, D), nn.Embedding(places, D), nn.Embedding(2, D)
    ids, segments = torch.randint(0, V, (2, 128)), torch.zeros(2, 128, dtype=torch.long)
    x = token(ids) + place(torch.arange(ids.size(1))) + segment(segments)
    return nn.Dropout(0.1)(nn.LayerNorm(D)(x)).shape


def patches_by_reshaping(torch, P=16):
    image = torch.randn(1, 3, 224, 224)
    cut = image.unfold(2, P, P).unfold(3, P, P).contiguous().view(1, 3, -1, P * P)
    return torch.nn.Linear(3 * P * P, 768)(cut.permute(0, 2, 1, 3).reshape(1, -1, 3 * P * P))


def patches_by_convolution(torch):
    conv = torch.nn.Conv2d(3, 768, kernel_size=16, stride=16)
    return conv(torch.randn(1, 3, 224, 224)).flatten(2).transpose(1, 2)


def vit_input(torch):
    patches = patches_by_convolution(torch)
    cls = torch.nn.Parameter(torch.randn(1, 1, 768) * 0.02).expand(len(patches), -1, -1)
    places = torch.nn.Parameter(torch.randn(1, 14 * 14 + 1, 768) * 0.02)
    return (torch.cat([cls, patches], dim=1) + places).shape


def times_root(torch, D):
    """The mean length of the library's rows after the factor sqrt(D)."""
    rows = torch.nn.Embedding(1000, D)(torch.arange(1000)) * sqrt(D)
    return round(rows.norm(dim=1).mean().item())


def wave(D):
    return f"{geometry.norms(sinusoidal(512, D)).mean():.0f}"


ran("000-ch2-bert-class-shape", "torch", bert_input)
ran("000-ch3-reshape-class", "torch", lambda torch: patches_by_reshaping(torch).shape)
ran(
    "000-ch3-conv-class",
    "torch",
    lambda torch: patches_by_convolution(torch).shape,
    says="(1, 196, 768)",
)
ran(
    "000-ch3-both-classes-same",
    "torch",
    lambda torch: patches_by_reshaping(torch).shape == patches_by_convolution(torch).shape,
    says="True",
)
ran("000-ch3-vit-class", "torch", vit_input, says="(1, 197, 768)")
ran(
    "000-ch5-class-undefined-helper",
    "torch",
    lambda torch: torch.nn.Module()._sinusoidal(5000, 512),  # the class calls it and has none
)
ran("000-ch5-class-init", "torch", lambda torch: times_root(torch, 512), says=wave(512))
ran("000-ch9-quick-scale", "torch", lambda torch: times_root(torch, 768), says=wave(768))

# ---- outputs: one tensor for two layers ----------------------------------------------------------


def tied(torch, V, D):
    """A module whose head is given the weight of its table, by assignment."""
    module = torch.nn.Module()
    module.embed = torch.nn.Embedding(V, D)
    module.head = torch.nn.Linear(D, V, bias=False)
    module.head.weight = module.embed.weight
    return module


def one_address(torch, V, D):
    module = tied(torch, V, D)
    return module.embed.weight.data_ptr() == module.head.weight.data_ptr()


def logits_of_ids(torch):
    module = tied(torch, 50, 8)
    return module.head(module.embed(torch.randint(0, 50, (2, 3)))).shape


# The text ties 32,000 rows of 4,096; a tenth of the columns spares the reader a gigabyte.
ran("000-ch4-same-pointer", "torch", lambda torch: one_address(torch, 32_000, 410))
ran(
    "000-ch4-tiedlm-forward",
    "torch",
    lambda torch: tied(torch, 50, 8).head(torch.randn(2, 3, 8)).shape,
    says="(2, 3, 50)",
)
ran("001-code-lm-class", "torch", logits_of_ids, says="(2, 3, 50)")
ran(
    "004-tied-class-params",
    "torch",
    lambda torch: sum(weight.numel() for weight in tied(torch, 50_257, 768).parameters()),
)
ran("004-gpt2-exact", None, lambda: f"{50257 * 768:,}")

# ---- pieces --------------------------------------------------------------------------------------


def merges(text, most=10):
    """How often the most frequent pair, the first of equals, can be merged."""
    tokens = list(text)
    for made in range(most):
        counts = Counter(pairwise(tokens))
        if not counts:
            return f"{made} merges"
        pair, old, tokens = max(counts, key=counts.get), tokens, []
        while old:
            width = 2 if tuple(old[:2]) == pair else 1
            tokens.append("".join(old[:width]))
            old = old[width:]
    return f"{most} merges"


ran("000-ch7-code-corpus", None, lambda: merges("the cat sat on the mat"))
for id in ("transformerization-split", "tiktoken-the", "tiktoken-hello"):
    left(f"000-ch7-{id}", "tiktoken", "tiktoken fetches its vocabulary from the network")
left("000-ch2-hf-shapes", "transformers", "from_pretrained fetches the weights of BERT, 440 MB")
