"""Chapter 3: patches, and the two other pages that tell of vision transformers."""

import numpy as np

from scratch_embed import Tensor, sizes
from scratch_embed.functional import attention, lookup
from scratch_embed.layers import BERTInput, PatchEmbed, ViTInput
from scratch_embed.lesson.claims import corrected, given, reproduced, undecided, values_of

lesson = values_of("ch03_patches")
unfold, by_reshape, convolution = lesson.unfold, lesson.by_reshape, lesson.convolution
image, photo = lesson.image, lesson.photo  # (1, 6, 6) and (3, 224, 224)
rng = np.random.default_rng(3)

# ---- counting ------------------------------------------------------------------------------------


def count(P):
    return len(unfold(photo, P))


reproduced("000-ch3-pixel-values", np.size, photo, counter=photo[:1])
corrected(
    "000-ch3-pixel-as-token",
    lambda tokens: abs(tokens / 150_000 - 1) < 0.01,  # "about 150K"
    photo[0].size,
    counter=photo.size,
    because="a token a pixel makes 50,176; the 150,528 are one for each colour of each pixel, and "
    "the page goes on with the larger number",
)
corrected(
    "000-ch3-pixel-attention",
    lambda tokens: tokens**2,
    photo.size,
    counter=150_400,
    because="150,528 squared is 22,658,678,784, which rounds to 22.7; with a token a pixel it is "
    "2.5 billion",
)
reproduced("000-ch3-grid", lambda P: (photo.shape[1] / P, count(P)), 16, counter=32)
reproduced("000-ch3-patch-dim", lambda P: unfold(photo, P).shape[1], 16, counter=8)
reproduced(
    "000-ch3-sequence-shape",
    lambda P: PatchEmbed(224, P, rng=0)(photo).shape == (196, 768),
    16,
    counter=32,
)
reproduced(
    "000-ch3-square-projection",
    lambda P: "x".join(str(side) for side in PatchEmbed(224, P, rng=0).projection.weight.shape),
    16,
    counter=32,
)
undecided(
    "000-ch3-coincidence",
    "the page says both. The same patches feed ViT-Large, whose D is "
    f"{sizes.MODELS['ViT-L/16'].embedding_dim:,}, so the matrix need not be square; what its "
    "designers had in mind no calculation tells",
)
for P, finer in ((32, 16), (16, 8), (8, 4), (4, 2)):
    reproduced(
        f"000-ch3-table-p{P}", lambda P: (count(P), count(P) ** 2), P, counter=finer
    )  # of the patches alone; with CLS there is one more
reproduced(
    "000-ch3-16-to-8",
    lambda P: (count(P) / count(16), count(P) ** 2 / count(16) ** 2),
    8,
    counter=4,
)


def growth(work):
    return work(count(8) + 1) / work(count(16) + 1)


corrected(
    "000-ch3-16x-compute",
    growth,
    lambda T: sizes.body_macs(T, 768, 12),
    counter=lambda T: T**2,
    because="16 is the factor of the score matrix, 2 % of the work at 197 tokens; all of ViT-B "
    f"goes up by {growth(lambda T: sizes.body_macs(T, 768, 12)):.2f}",
)
undecided(
    "000-ch3-detail-labels",
    "the page measures no detail, and what is kept depends on the rule: at 12 numbers a patch the "
    "finer cut loses less of a photograph, at equal numbers in all it loses more",
)
given("000-ch3-visualizer", "a setting of the page's own widget; ours opens at 16 as well")
undecided(
    "000-ch3-b16-common",
    "how often each is used, and how much B/8 gains, would take a survey and a large training run; "
    "the reason that the page gives, sixteen times the work, is corrected above",
)

# ---- six by six ----------------------------------------------------------------------------------

reproduced(
    "000-ch3-tiny-counts",
    lambda P: (image.shape[1] // P, *unfold(image, P).shape),
    3,
    counter=2,
)
reproduced("000-ch3-patch0", lambda cut: cut(image, 3)[0], unfold, counter=by_reshape)
for n in (1, 2, 3):
    digits = " ".join(f"{x:.0f}" for x in lesson.patches[n])
    undecided(f"000-ch3-patch{n}", f"the page's figure is lost; patch {n} is {digits}")
given("000-ch3-project-patch0", "supposed on the page, which prints no matrix: nothing to compute")
reproduced(
    "000-ch3-tiny-sequence",
    lambda P: (unfold(image, P) @ rng.normal(size=(P * P, 4))).shape == (4, 4),
    3,
    counter=2,
)

# ---- the convolution -----------------------------------------------------------------------------

kernel = rng.normal(size=(8, 3, 16, 16))
flat = unfold(photo, 16) @ kernel.reshape(8, -1).T


def agrees_with_patches(kernel):
    return bool(np.allclose(convolution(photo, kernel), flat, rtol=0, atol=1e-9))


reproduced(
    "000-ch3-conv-identical",
    agrees_with_patches,
    kernel,
    counter=kernel.transpose(0, 2, 3, 1).reshape(kernel.shape),  # flattened channel last
)


def terms_of_one_output(P):
    """How many inputs have a slope at filter 0 of patch 0."""
    g = np.zeros((count(P), 1))
    g[0] = 1
    dimage, _ = lesson.convolution_backward(g, photo, rng.normal(size=(1, 3, P, P)))
    return np.count_nonzero(dimage)


reproduced("000-ch3-conv-weighted-sum", terms_of_one_output, 16, counter=8)


def as_printed(image, P, permuted=True):
    """The page's unfold, view, permute and reshape, step by step, for a batch of one."""
    x = np.lib.stride_tricks.sliding_window_view(image[None], (P, P), axis=(2, 3))
    x = x[:, :, ::P, ::P].reshape(1, image.shape[0], -1, P * P)  # (B, C, patches, P P)
    x = x.transpose(0, 2, 1, 3) if permuted else x
    return x.reshape(1, -1, image.shape[0] * P * P)


reproduced(
    "000-ch3-reshape-class",
    lambda permuted: bool(np.array_equal(as_printed(photo, 16, permuted)[0], unfold(photo, 16))),
    True,
    counter=False,
)
reproduced(
    "000-ch3-conv-class",
    lambda P: convolution(photo, np.ones((768, 3, P, P))).shape == (14 * 14, 768),
    16,
    counter=32,
)
noise = rng.normal(size=(3, 224, 224)).astype(np.float32)
scratch, conv = PatchEmbed(rng=7), PatchEmbed(rng=8)


def by_class(layer):
    return convolution(noise, layer.projection.weight.numpy().reshape(768, 3, 16, 16))


corrected(
    "000-ch3-both-classes-same",
    lambda other: bool(np.allclose(scratch(noise).numpy(), by_class(other), atol=1e-3)),
    conv,
    counter=scratch,
    because="the shapes agree, and only they are printed; each class draws weights of its own, so "
    f"the values differ by up to {np.abs(scratch(noise).numpy() - by_class(conv)).max():.1f} until "
    "the kernel is copied",
)
undecided("000-ch3-conv-faster-gpu", "identical, yes; how fast it is on a GPU none here can say")


def uses(stride, P=16):
    """How many windows hold each pixel, as far as windows fit: least and most."""
    held = np.zeros(224, int)
    for start in range(0, 224 - P + 1, stride):
        held[start : start + P] += 1
    return int(held.min()) ** 2, int(held.max()) ** 2


reproduced("000-ch3-no-overlap", lambda stride: uses(stride) == (1, 1), 16, counter=8)

# ---- what a patch knows --------------------------------------------------------------------------


def is_affine(f):
    """Whether f(3a - 2b) = 3 f(a) - 2 f(b), which a bias does not disturb."""
    a, b = photo, photo[:, :, ::-1]
    return bool(np.allclose(f(3 * a - 2 * b), 3 * f(a) - 2 * f(b), atol=1e-8))


biased = PatchEmbed(224, 16, 3, 32, dtype=np.float64, rng=1)
biased.projection.bias.data[:] = rng.normal(size=32)
reproduced(
    "000-ch3-single-linear",
    is_affine,
    lambda x: biased(x).numpy(),
    counter=lambda x: np.maximum(biased(x).numpy(), 0),
)


def pixels_behind(sides):
    """After each layer of convolutions of these sides, the pixels that reach the middle."""
    spots, seen = np.eye(169).reshape(169, 13, 13), []  # a picture for each pixel that is lit
    for side in sides:
        taps, edge = rng.normal(size=(side, side)), side // 2
        wide = np.pad(spots, ((0, 0), (edge, edge), (edge, edge)))
        spots = sum(
            taps[i, j] * wide[:, i : i + 13, j : j + 13] for i in range(side) for j in range(side)
        )
        seen.append(np.count_nonzero(spots[:, 6, 6]))
    return seen


reproduced(  # a patch, and then layers that treat each token alone, are the counter: no growth
    "000-ch3-hierarchy-cnn",
    lambda sides: bool(np.all(np.diff(pixels_behind(sides)) > 0)),
    [3, 3, 3, 3],
    counter=[3, 1, 1, 1],
)
given(
    "000-ch3-more-data",
    "Dosovitskiy et al. 2021, section 1: on mid-sized data sets they fall a few points below "
    "ResNets of comparable size, and the authors name the missing inductive biases",
)


def badge_above_backdrop(photo):
    """The variance of patches within each colour; both places were chosen by their position."""
    variance = unfold(photo, 16).reshape(14, 14, 3, -1).var(axis=-1).mean(axis=-1)
    return bool(variance[0:3, 5:8].min() > variance[0:8, 11:14].max())


mixed = rng.permutation(photo.reshape(3, -1), axis=1).reshape(photo.shape)
reproduced("000-ch3-sky-vs-edges", badge_above_backdrop, photo, counter=mixed)

# ---- CLS, places, and what comes first -----------------------------------------------------------

reproduced("000-ch3-cls-197", lambda P: ViTInput(224, P, rng=0)(photo).shape[0], 16, counter=32)
reproduced(
    "000-ch3-vit-class",
    lambda P: ViTInput(224, P, rng=0)(np.stack([photo, photo])).shape == (2, 197, 768),
    16,
    counter=8,
)


def gathers(mix):
    """CLS is the same row for two pictures before `mix`, and another after it."""
    before = lesson.layer(lesson.pair)
    after = mix(before).numpy()
    same = np.array_equal(before.numpy()[0, 0], before.numpy()[1, 0])
    return bool(same and np.abs(after[0, 0] - after[1, 0]).max() > 1e-3)


reproduced(
    "000-ch3-cls-aggregates",
    gathers,
    lambda rows: attention(rows, rows, rows),
    counter=lambda rows: rows * 2.0,  # a layer that treats each token alone
)
reproduced(
    "000-ch3-quiz",
    lambda tokens: tokens.shape == (196, 768),
    unfold(photo, 16),
    counter=photo.reshape(3, -1).T,  # a token a pixel
)
given(
    "001-uses-vit",
    "Dosovitskiy et al. 2021, section 3.1: a linear projection of patches, a learned class token "
    "and learned position rows",
)


def first_operation(result, weight):
    """The name of the operation in which a weight is met first, read off the tape."""
    node = getattr(result, "node", None)
    for given_to in node.inputs if node else ():
        if given_to is weight:
            return node.name
        if found := first_operation(given_to, weight):
            return found
    return ""


bert, vit = BERTInput(100, 8, rng=0), ViTInput(6, 3, 1, 4, dtype=np.float64, rng=0)
begins = {
    "BERT": first_operation(bert([3, 1, 4]), bert.token.weight),
    "ViT": first_operation(vit(image), vit.patches.projection.weight),
}
corrected(
    "004-first-layer",
    lambda models: all(begins[model] == "lookup" for model in models),
    ["BERT", "ViT"],
    counter=["BERT"],
    because="of every Transformer that reads ids; the pixels of a vision transformer are projected",
)


def refused(rows):
    try:
        lookup(Tensor(lesson.M), rows)
    except (TypeError, ValueError, IndexError):
        return True
    return False


reproduced("001-alt-continuous", refused, lesson.patches / 9, counter=np.array([2, 0]))
