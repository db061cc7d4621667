# %% [markdown]
# # 3. Pictures as sequences
#
# Words come as a sequence, and each has an id whose row can be looked up. A picture has neither.
# The Vision Transformer cuts it into squares, reads the squares like the words of a page, and gets
# the vector of each by one matrix product.
#
# This lesson cuts a small picture by hand and puts its gradient back together, proves that the
# whole is a convolution, forward and backward, and then does the same to a photograph and counts
# what it costs.

# %%
import numpy as np

from scratch_embed import Tensor, images, plot
from scratch_embed.functional import attention, lookup, project, unfold
from scratch_embed.gradcheck import gradcheck
from scratch_embed.gradcheck.numeric import Loss, gradient
from scratch_embed.layers import BERTInput, PatchEmbed, ViTInput
from scratch_embed.lesson import (
    begin,
    check,
    compare,
    erratum,
    quiz,
    save_figure,
    verdict,
    worked,
)
from scratch_embed.lesson.claims.printed import agrees
from scratch_embed.lesson.look.terminal import table as columns
from scratch_embed.ops.attention import attention_forward
from scratch_embed.ops.onehot import one_hot
from scratch_embed.ops.patches import fold_forward, unfold_forward
from scratch_embed.ops.project import project_forward
from scratch_embed.simulations import patches as visualizer
from scratch_embed.simulations.controls import defaults
from scratch_embed.sizes import MODELS, attention_scores, body_macs

begin()

# %% [markdown]
# ## Too many pixels
# The usual picture is 224 by 224 pixels with three colours each. What if every number were a
# token? Attention scores every token against every other, so the count is squared.

# %%
vit = MODELS["ViT-B/16"]
C, H, W, P, D = 3, 224, 224, 16, vit.embedding_dim
values = worked.product("numbers", H, W, C)
check("000-ch3-pixel-values", values, printed="150,528")
erratum(
    "000-ch3-pixel-as-token",
    worked.product("pixels", H, W),
    printed="150K",
    because="one token a pixel makes 50,176; the 150,528 are one token for each colour of a pixel. "
    "The page goes on with the larger number",
)
scores = worked.product("scores of one head in one layer", values, values)
erratum(
    "000-ch3-pixel-attention",
    scores,
    printed="22.6 billion",
    because="150,528 squared is 22,658,678,784, and .6587 rounds to .7; the page cuts it off",
)

# %% [markdown]
# ## Six by six, by hand
# A grey picture of six by six pixels, and squares of three by three.

# %%
image = np.array([[int(digit) for digit in row] for row in
                  ("123789", "450654", "781321", "234876", "567543", "890210")], float)  # fmt: skip
side, dim = 3, 4
patches = worked.unfold("patch", image, side)
grid = image.shape[0] // side
check("000-ch3-tiny-counts", (grid, *patches.shape), printed="2; 4; 9")
check("000-ch3-patch0", patches[0], printed="[1, 2, 3, 4, 5, 0, 7, 8, 1]")

# %% [markdown]
# The page's other three vectors were lost in print. The picture was not. Ours are cut by slices
# above; the op `unfold` gets them with one reshape and one change of axes, and a third way reads
# pixel by pixel.

# %%
ours, saved = unfold_forward(image, side)


def pixel_by_pixel(top: int, left: int) -> list[float]:
    return [image[top + i, left + j] for i in range(side) for j in range(side)]


def shown(n: int) -> dict:
    return {f"patch {n}": " ".join(f"{x:.0f}" for x in ours[n])}


check("000-ch3-patch1", ours[1].tolist() == pixel_by_pixel(0, 3), shown=shown(1))
check("000-ch3-patch2", ours[2].tolist() == pixel_by_pixel(3, 0), shown=shown(2))
check("000-ch3-patch3", ours[3].tolist() == pixel_by_pixel(3, 3), shown=shown(3))

# %% [markdown]
# Now each patch $p$ (nine numbers) is projected to four: $y = p\,W$ with $W$ of shape (9, 4). The
# page prints $y$ for patch 0 and no $W$. Many matrices give it: four equations for 36 numbers. So
# we draw eight of the nine rows as we like, in hundredths, and let the first row, that of the pixel
# whose value is 1, take what is left over.

# %%
p, y = patches[0], np.array([0.42, -0.18, 0.73, 0.05])
rng = np.random.default_rng(3)
weight = rng.integers(-9, 10, size=(9, dim)) / 100
weight[0] = 0
weight[0] = worked.difference("W[0]", y, (p @ weight).round(2)) / p[0]
sequence = worked.matmul("y", patches, weight)
check("000-ch3-project-patch0", sequence[0], printed="[0.42, -0.18, 0.73, 0.05]")
check(
    "000-ch3-tiny-sequence",
    sequence.shape == (4, dim) and np.linalg.matrix_rank(sequence) == dim,
    shown={"tokens": len(sequence), "d": sequence.shape[1],
           "rank, so that no two are alike": np.linalg.matrix_rank(sequence)},
)  # fmt: skip

# %% [markdown]
# ## The way back
# Unfolding moves numbers and changes none. So its gradient moves them back: the square that a
# pixel went to returns to where it came from. That is `fold`, the inverse of `unfold` and, because
# a move has a permutation for its matrix, its transpose as well. We write it as a loop.


# %%
def fold_by_hand(patches: np.ndarray, shape: tuple[int, int, int], P: int) -> np.ndarray:
    """(N, C P P) -> (C, H, W), each square laid down where it was cut out"""
    out = np.zeros(shape)
    squares = iter(patches)
    for top in range(0, shape[1], P):
        for left in range(0, shape[2], P):
            out[:, top : top + P, left : left + P] += next(squares).reshape(-1, P, P)
    return out


x = Tensor(image, requires_grad=True, name="image")
Wt = Tensor(weight.T.copy(), requires_grad=True, name="W")  # (4, 9): our layers keep W transposed
arriving = np.random.default_rng(4).normal(size=sequence.shape)


def embed(x: Tensor, Wt: Tensor) -> Tensor:
    return project(unfold(x, side), Wt)


out = embed(x, Wt)
out.backward(arriving)
by_hand = {"x": sequence, "dW": patches.T @ arriving,
           "dimage": fold_by_hand(arriving @ weight.T, (1, 6, 6), side)[0]}  # fmt: skip
L = Loss(embed, (x, Wt), arriving)
compare("y, the sequence", hand=by_hand["x"], ours=out.numpy())
compare("dW", hand=by_hand["dW"], ours=Wt.grad.T, numeric=gradient(L, Wt).T)
compare("d image", hand=by_hand["dimage"], ours=x.grad, numeric=gradient(L, x))

# %% [markdown]
# A gradient of ones would pass even if the squares were laid down in the wrong places. Random
# ones do not. Three channels and a batch of two, checked at random entries:

# %%
batch = Tensor(rng.normal(size=(2, 3, 4, 6)), requires_grad=True, name="images")
kernel = Tensor(rng.normal(size=(5, 12)), requires_grad=True, name="W")
print(gradcheck(lambda b, k: project(unfold(b, 2), k), batch, kernel, max_entries=4,
                name="patches").raise_if_wrong())  # fmt: skip

# %% [markdown]
# A well-known slip cuts with one reshape and forgets to change the axes. The shape is right, the
# loss falls, and every "patch" is a strip of the wrong pixels. Pixels that carry their own
# address give it away:

# %%
addressed = np.arange(3 * 6 * 6).reshape(3, 6, 6)
right = unfold_forward(addressed, 3)[0]
slip = addressed.reshape(right.shape)
print(f"  the first patch, cut    {right[0][:12]} ...")
print(f"  the first patch, slip   {slip[0][:12]} ...")
print(f"  same shape {slip.shape}; numbers in the right place: {np.mean(right == slip):.0%}")

# %% [markdown]
# And a side that does not divide is refused, with what would do:

# %%
try:
    unfold_forward(image, 4)
except ValueError as error:
    print(f"  ValueError: {error}")

# %% [markdown]
# ## A photograph
# Now at full size. The photograph comes with Matplotlib: Commodore Grace Hopper, who led the way
# to the first compilers. We halve it and take 224 by 224 pixels.

# %%
full = images.photograph()
photo = visualizer.picture()  # its middle, at half the size
cut = unfold_forward(photo, P)[0]
per_side = worked.quotient("patches per side", H, P)
check("000-ch3-grid", (per_side, len(cut)), printed="14; 196")
check("000-ch3-patch-dim", worked.product("values in a patch", P, P, C), printed="768")

layer = PatchEmbed(rng=0)  # 224, 16, 3, 768 are its defaults, as they are ViT-Base's
tokens = layer(photo)
check(
    "000-ch3-sequence-shape",
    tokens.shape == (len(cut), D),
    shown={"tokens": tokens.shape[0], "d_model": tokens.shape[1]},
)
shape = layer.projection.weight.shape
check("000-ch3-square-projection", "x".join(map(str, shape)), printed="768x768")

# %% [markdown]
# The matrix is square because $16 \cdot 16 \cdot 3 = 768$ happens to be the $D$ of ViT-Base. The
# page calls this a coincidence and, three lines on, not an accident. Published models do not
# settle it, but they show that nothing hangs on it.

# %%
large = MODELS["ViT-L/16"]
for_large = PatchEmbed(H, P, C, large.embedding_dim, rng=0)
erratum(
    "000-ch3-coincidence",
    cut.shape[1] == vit.embedding_dim
    and for_large.projection.weight.shape == (large.embedding_dim, cut.shape[1])
    and for_large(photo).shape == (len(cut), large.embedding_dim) != tokens.shape,
    shown={"values in a patch": cut.shape[1], "matrix of ViT-B/16": shape,
           "of ViT-L/16, same patches": for_large.projection.weight.shape,
           "its sequence": for_large(photo).shape},
    because="the page says both. The same patches feed ViT-Large, whose D is 1,024: the matrix "
    "need not be square, so neither word can be checked",
)  # fmt: skip

# %% [markdown]
# Stride equals patch side, so no pixel is used twice and none is left out. Fold a one for each
# use, and count. With patches of 15 the edge would fall off:

# %%
uses = fold_forward(np.ones_like(cut), photo.shape, P)[0]
fitting = H // 15
check(
    "000-ch3-no-overlap",
    uses.min() == uses.max() == 1,
    shown={"uses of a pixel, least": uses.min(), "most": uses.max(),
           "patches of 15": fitting**2, "pixels these would drop": H * W - (fitting * 15) ** 2},
)  # fmt: skip

# %% [markdown]
# ## The same thing as a convolution
# A convolution slides a kernel over the picture. Let it stride as far as it is wide, and each
# position is one patch. Here it is as a loop, with its gradient. Nothing in it knows of unfold.


# %%
def windows(image: np.ndarray, P: int):
    """(row, column, window) for each position of a kernel of P x P that strides by P"""
    for r in range(image.shape[1] // P):
        for s in range(image.shape[2] // P):
            yield r, s, (slice(None), slice(r * P, (r + 1) * P), slice(s * P, (s + 1) * P))


def convolution(image: np.ndarray, kernel: np.ndarray) -> np.ndarray:
    """out[d, r, s] = sum over c, i, j of kernel[d, c, i, j] image[c, r P + i, s P + j]"""
    P = kernel.shape[-1]
    out = np.empty((len(kernel), image.shape[1] // P, image.shape[2] // P))
    for r, s, at in windows(image, P):
        out[:, r, s] = np.tensordot(kernel, image[at], axes=3)
    return out


def convolution_backward(dout, image, kernel) -> tuple[np.ndarray, np.ndarray]:
    """dkernel sums over positions, dimage over filters"""
    dkernel, dimage = np.zeros_like(kernel), np.zeros_like(image)
    for r, s, at in windows(image, kernel.shape[-1]):
        dkernel += np.multiply.outer(dout[:, r, s], image[at])
        dimage[at] += np.tensordot(dout[:, r, s], kernel, axes=1)
    return dkernel, dimage


small = PatchEmbed(224, 16, 3, 32, bias=False, dtype=np.float64, rng=1)  # 32 filters will do
kernel = small.projection.weight.numpy().reshape(32, C, P, P)
picture = Tensor(photo, requires_grad=True, name="photo")
ours = small(picture)
arriving = np.random.default_rng(5).normal(size=ours.shape)
ours.backward(arriving)

conv = convolution(photo, kernel)
as_grid = arriving.T.reshape(conv.shape)
dkernel, dimage = convolution_backward(as_grid, photo, kernel)
compare("convolution, forward", hand=conv.reshape(32, -1).T, ours=ours.numpy())
dweight = small.projection.weight.grad
compare("convolution, d kernel", hand=dkernel, ours=dweight.reshape(kernel.shape))
compare("convolution, d image", hand=dimage, ours=picture.grad)

# %% [markdown]
# The kernel (D, C, P, P) flattens to our matrix (D, C P P) as it is, because `unfold` flattens
# channel first. Who flattens channel last (as pictures lie in files, with the three colours of a
# pixel side by side) must move the columns of the matrix the same way, or gets other numbers from
# the same weights without any error:

# %%
move = np.arange(C * P * P).reshape(C, P, P).transpose(1, 2, 0).ravel()  # new place -> old column
channel_last = cut.reshape(-1, C, P, P).transpose(0, 2, 3, 1).reshape(cut.shape)
flat = kernel.reshape(32, -1)
print(f"  columns of the channel-last matrix: {move[:6]} ... of the channel-first one")
moved = channel_last @ flat[:, move].T
check(
    "000-ch3-conv-identical",
    np.allclose(conv.reshape(32, -1).T, ours.numpy(), rtol=0, atol=1e-12)
    and np.allclose(moved, ours.numpy(), rtol=0, atol=1e-12)
    and np.abs(channel_last @ flat.T - ours.numpy()).max() > 0.1,
    shown={
        "largest difference, forward": np.abs(conv.reshape(32, -1).T - ours.numpy()).max(),
        "backward, image": np.abs(dimage - picture.grad).max(),
        "channel last, columns moved": np.abs(moved - ours.numpy()).max(),
        "channel last, columns not moved": np.abs(channel_last @ flat.T - ours.numpy()).max(),
    },
)

# %% [markdown]
# How many products go into one output? Ask the gradient: it is not zero exactly for the inputs
# that the output was made of.

# %%
picture.grad = None
small(picture)[0, 0].backward()
inside = np.argwhere(picture.grad != 0)
print(f"  channels, rows, columns used: {inside.min(axis=0)} to {inside.max(axis=0)}")
check("000-ch3-conv-weighted-sum", len(inside), printed="768")

# %% [markdown]
# The page ends with two classes, one for each way, and prints that their shapes agree. So they
# do. Their values do not: each class draws weights of its own. Given the same weights, they agree.

# %%
noise = np.random.default_rng(6).normal(size=(1, C, H, W)).astype(np.float32)
scratch, other = PatchEmbed(rng=7), PatchEmbed(rng=8)
first, second = scratch(noise).numpy(), other(noise).numpy()
by_conv = convolution(noise[0], other.projection.weight.numpy().reshape(D, C, P, P))
as_sequence = by_conv.reshape(1, D, -1).swapaxes(1, 2)
check("000-ch3-reshape-class", first.shape, printed="(1, 196, 768)")
check(
    "000-ch3-conv-class",
    (1, *by_conv.shape) == (1, D, 14, 14) and as_sequence.shape == (1, 196, D),
    shown={"grid": str((1, *by_conv.shape)), "sequence": str(as_sequence.shape)},
)
erratum(
    "000-ch3-both-classes-same",
    first.shape == as_sequence.shape
    and np.abs(first - as_sequence).max() > 1
    and np.abs(second - as_sequence).max() < 1e-4,
    shown={"own weights, largest difference": np.abs(first - as_sequence).max(),
           "same weights, largest difference": np.abs(second - as_sequence).max()},
    because="same shapes prove nothing: with weights of their own the two classes give unrelated "
    "numbers. Copy the kernel, and they agree to rounding",
)  # fmt: skip

# %% [markdown]
# ## One linear map
# There is no activation between pixels and vector: $f(2a - 3b) = 2f(a) - 3f(b)$. With a bias it is
# affine, and the two sides differ by $b - (2b - 3b) = 2b$.

# %%
a, b = photo, photo[:, :, ::-1].copy()
biased = PatchEmbed(224, 16, 3, 32, dtype=np.float64, rng=1)
biased.projection.bias.data[:] = np.random.default_rng(9).normal(size=32)


def gap(f) -> np.ndarray:
    return f(2 * a - 3 * b).numpy() - (2 * f(a).numpy() - 3 * f(b).numpy())


check(
    "000-ch3-single-linear",
    np.abs(gap(small)).max() < 1e-12 and np.allclose(gap(biased), 2 * biased.projection.bias.data),
    shown={"f(2a - 3b) - 2f(a) + 3f(b), no bias": np.abs(gap(small)).max(),
           "with bias, divided by the bias": (gap(biased) / biased.projection.bias.data).mean()},
)  # fmt: skip

# %% [markdown]
# A network of small convolutions goes another way: each layer sees the neighbours of what the
# last one saw, so what one number knows of grows layer by layer. Count the pixels behind one
# output: for layers of three by three, and for a patch followed by as many layers as you like
# that treat each token alone. For the first, send in 121 pictures with a single 1, each at another
# pixel, and count those that arrive at the number in the middle.

# %%
taps = np.random.default_rng(12).normal(size=(4, 3, 3))  # the weights of four layers


def three_by_three(pictures: np.ndarray, kernel: np.ndarray) -> np.ndarray:
    """(N, n, n) -> (N, n, n), a convolution that strides by 1, zeros around the edge"""
    n, wide = pictures.shape[-1], np.pad(pictures, ((0, 0), (1, 1), (1, 1)))
    return sum(kernel[i, j] * wide[:, i : i + n, j : j + n] for i in range(3) for j in range(3))


spots, field = np.eye(121).reshape(121, 11, 11), []
for kernel_of_layer in taps:
    spots = three_by_three(spots, kernel_of_layer)
    field.append(np.count_nonzero(spots[:, 5, 5]))

mix = Tensor(np.random.default_rng(10).normal(size=(32, 32)))
alone = []
for depth in range(1, 5):
    picture.grad, h = None, small(picture)
    for _ in range(depth - 1):
        h = project(h, mix)
    h[0, 0].backward()
    alone.append(int((picture.grad != 0).any(axis=0).sum()))
check(
    "000-ch3-hierarchy-cnn",
    np.all(np.diff(field) > 0) and np.all(np.array(alone) == P * P),
    shown={"pixels behind one number, convolutions 1 to 4": field,
           "behind one number of a patch, layers 1 to 4": alone},
)  # fmt: skip

# %% [markdown]
# Only attention, later, lets a patch know of the others. That vision transformers need more
# pictures to learn from than convolutions do is an observation of Dosovitskiy et al. (2021); a
# short lesson cannot test it.
#
# ## Dull patches and busy ones
# A patch of plain backdrop holds almost one colour, a patch with an edge does not. One trap: the
# variance of all 768 numbers together also counts how far red is from blue, and a plain blue
# patch is not dull by that measure. So we take the variance within each colour.

# %%
by_channel = cut.reshape(14, 14, C, P * P)
variance = by_channel.var(axis=-1).mean(axis=-1)
together = by_channel.reshape(14, 14, -1).var(axis=-1)
backdrop, badge = variance[0:8, 11:14], variance[0:3, 5:8]  # chosen by their place in the picture
worked.quotient("badge / backdrop, mean variance", badge.mean(), backdrop.mean())
check(
    "000-ch3-sky-vs-edges",
    badge.min() > backdrop.max(),
    shown={
        "backdrop, mean variance": backdrop.mean(),
        "backdrop, largest": backdrop.max(),
        "badge on the cap, mean": badge.mean(),
        "badge, smallest": badge.min(),
        "backdrop, all colours in one variance": together[0:8, 11:14].mean(),
    },
)

# %% [markdown]
# One patch of the badge, and one of the backdrop: where it stands, its numbers, and its vector.

# %%
fig, _ = plot.figure(size=(12, 10))
fig.clear()
for part, column in zip(fig.subfigures(2, 1), (104, 200)):
    visualizer.draw(part, patch_size=16, row=24, column=column)
    seen_patch = visualizer.patch_at(16, 24, column)
    compare(f"variance of patch {seen_patch.index}", hand=variance.ravel()[seen_patch.index],
            ours=seen_patch.variance)  # fmt: skip
save_figure(fig, "ch03_two_patches.png")

# %% [markdown]
# ## What a smaller patch costs
# Halve the patch, and there are four times as many. The page squares their number and calls the
# result the cost of attention. Two things are left out: CLS makes one token more, and a layer does
# much else besides scoring: with $n$ tokens it takes $12\,n\,d^2 + 2\,n^2 d$ multiply-adds, and
# only the second part is squared.

# %%
sides = (32, 16, 8, 4)
count = {P: unfold_forward(photo, P)[0].shape[0] for P in sides}
rows = []
for side in sides:
    n = count[side]
    whole = body_macs(n + 1, D, vit.num_layers)
    linear = 12 * (n + 1) * D * D * vit.num_layers
    counts = [side * side * C, n, n * n, n + 1, attention_scores(n + 1)]
    rows.append([f"{side} x {side}", *(f"{k:,}" for k in counts),
                 f"{whole / 1e9:.2f}", f"{1 - linear / whole:.1%}"])  # fmt: skip
header = ["patch", "values", "patches", "squared", "with CLS", "scores", "ViT-B, 10^9", "of it n^2"]
print(columns(header, rows, right=list(range(1, 8))))

# %% [markdown]
# The printed counts are those of the patches alone. What attention sees, as the page itself says
# later, is one more.


# %%
def leaves_out_cls(side: int, printed: str) -> bool:
    """Is the print right for the patches alone, and the sequence of a ViT one longer?"""
    sequence = ViTInput(224, side, embedding_dim=8, rng=0)(photo)
    n = count[side]
    return agrees((n, n * n), printed) and len(sequence.data) == n + 1


def with_cls(side: int) -> dict:
    length = count[side] + 1
    return {"patches": count[side], "with CLS": length, "scores": attention_scores(length)}


ALONE = "right for the patches alone; attention sees CLS too, which a ViT always has"
erratum("000-ch3-table-p32", leaves_out_cls(32, "49; 2,401"), shown=with_cls(32),
        printed="49; 2,401", because=ALONE)  # fmt: skip
erratum("000-ch3-table-p16", leaves_out_cls(16, "196; 38,416"), shown=with_cls(16),
        printed="196; 38,416", because=ALONE)  # fmt: skip
erratum("000-ch3-table-p8", leaves_out_cls(8, "784; 614,656"), shown=with_cls(8),
        printed="784; 614,656", because=ALONE)  # fmt: skip
erratum("000-ch3-table-p4", leaves_out_cls(4, "3,136; 9,834,496"), shown=with_cls(4),
        printed="3,136; 9,834,496", because=ALONE)  # fmt: skip

more = worked.quotient("patches, 16 to 8", count[8], count[16])
squared = worked.quotient("their squares", count[8] ** 2, count[16] ** 2)
check("000-ch3-16-to-8", (more, squared), printed="4; 16 x")
before, after = (body_macs(count[P] + 1, D, vit.num_layers) for P in (16, 8))
erratum(
    "000-ch3-16x-compute",
    worked.quotient("multiply-adds of all of ViT-B, 16 to 8", after, before),
    printed="16x",
    because="16 is the factor of the score matrix, 4.1 % of the work at 197 tokens. The whole "
    "model goes from 17.45 to 78.03 billion multiply-adds",
)

# %% [markdown]
# What does the finer cut buy? The page labels the sizes low, standard, high and very high without
# measuring. A first answer needs no training. A vector of $D$ numbers cannot hold more than $D$
# numbers of its patch. Take only twelve for each patch, chosen as well as any linear map can
# choose them for this photograph (its principal components), and see how much of the picture comes
# back. (It is no free gain: half the side is four times as many twelves.) Here we take the
# photograph before halving, so that even the largest patches are many: 288 of 32 by 32.


# %%
def keep(patches: np.ndarray, k: int) -> np.ndarray:
    """The patches rebuilt from their k principal components (N, M) -> (N, M)

    A few directions, multiplied by the covariance again and again, turn towards those in which
    the patches differ most (block power iteration).
    """
    centred = patches - patches.mean(axis=0)
    axes = np.random.default_rng(0).normal(size=(patches.shape[1], k))
    for _ in range(8):
        axes = np.linalg.qr(centred.T @ (centred @ axes))[0]
    return patches.mean(axis=0) + centred @ axes @ axes.T


wide = full[:, :576]
rebuilt, lost = {}, {}
for side in sides:
    pieces = unfold_forward(wide, side)[0]
    rebuilt[side] = fold_forward(keep(pieces, 12), wide.shape, side)[0]
    lost[side] = float(((wide - rebuilt[side]) ** 2).mean() / wide.var())
check(
    "000-ch3-detail-labels",
    np.all(np.diff(list(lost.values())) < 0),
    shown={f"{P} x {P}, share of variance lost": lost[P] for P in sides}
    | {f"values for each of 768 numbers, {P} x {P}": P * P * C / D for P in (32, 16)},
)

# %% [markdown]
# At $D = 768$ a patch of 16 loses nothing: 768 numbers in, 768 out. Only patches of 32, with 3,072
# values, must.

# %%
fig, axes = plot.figure(1, 4, size=(13, 4.1))
for ax, side in zip(axes, sides):
    ax.imshow(np.moveaxis(rebuilt[side].clip(0, 1), 0, -1)[80:440, 100:460])
    ax.set_title(f"patches of {side}: {576 // side * (512 // side):,} tokens\n"
                 f"{lost[side]:.1%} of the variance lost")  # fmt: skip
    ax.set_axis_off()
fig.suptitle("The photograph from 12 numbers a patch")
save_figure(fig, "ch03_twelve_numbers.png")

# %% [markdown]
# ## CLS and places
# A picture is to be judged as a whole, so one token is put in front that stands for no patch: CLS.
# It is a row of a table, the same for every picture, and every token gets the row of its place
# added. These two are lookups. The patches are not.

# %%
front = ViTInput(rng=0)
mirrored = np.stack([photo, photo[:, :, ::-1]])
rows = front(mirrored)
check("000-ch3-cls-197", front(photo).shape[0], printed="197")
check(
    "000-ch3-vit-class",
    rows.shape == (2, count[16] + 1, D),
    shown={"B": rows.shape[0], "tokens": rows.shape[1], "d": rows.shape[2]},
)


def steps(result, data) -> list[str] | None:
    """The operations between `data` and `result`, read off the tape."""
    if result is data:
        return []
    for given in result.node.inputs if getattr(result, "node", None) else ():
        if (found := steps(given, data)) is not None:
            return [*found, result.node.name]
    return None


seen = Tensor(photo, requires_grad=True)
of_pixels = steps(front(seen), seen)
of_cls = steps(front(seen), front.cls.weight)
of_places = steps(front(seen), front.position.weight)
check(
    "001-uses-vit",
    of_pixels[:2] == ["unfold", "project"] and of_cls[0] == of_places[0] == "lookup",
    shown={"pixels go through": ", ".join(of_pixels), "CLS goes through": ", ".join(of_cls),
           "places go through": ", ".join(of_places)},
)  # fmt: skip

# %% [markdown]
# So the first thing with weights that a Transformer does to its input is not always a lookup.

# %%
bert = BERTInput(100, 8, rng=0)
of_words = steps(bert([3, 1, 4]), bert.token.weight)
erratum(
    "004-first-layer",
    of_words[0] == "lookup" and "lookup" not in of_pixels,
    shown={"the table of BERT is met by": of_words[0], "the pixels of ViT by": of_pixels[1]},
    because="of every Transformer that reads ids. A vision transformer begins with a projection",
)

# %% [markdown]
# A lookup wants an id. For input that is continuous there is no row to name, and nothing to round
# to; a projection takes it as it comes, and goes halfway for an input that is halfway. On one-hot
# codes, and only there, the two are one.

# %%
refused = ""
try:
    lookup(weight, patches[0] / 9)
except (TypeError, ValueError, IndexError) as error:
    refused = type(error).__name__
    print(f"  {refused}: {error}")
halfway = project_forward((patches[0] + patches[1]) / 2, weight.T)[0]
codes = project_forward(one_hot(np.array([2, 0]), 9), weight.T)[0]
check(
    "001-alt-continuous",
    refused != ""
    and np.allclose(halfway, (sequence[0] + sequence[1]) / 2)
    and np.array_equal(codes, lookup(weight, [2, 0]).numpy()),
    shown={"lookup of a patch": refused,
           "halfway patch, distance from the halfway vector":
               np.abs(halfway - (sequence[0] + sequence[1]) / 2).max(),
           "projected one-hots, distance from looked-up rows":
               np.abs(codes - lookup(weight, [2, 0]).numpy()).max()},
)  # fmt: skip

# %% [markdown]
# CLS starts out knowing nothing: for two different pictures it is the same row to the last bit.
# One step of attention, and it has gathered something from each. Its gradient is the sum of what
# arrives from every picture of the batch, as for any row that is looked up more than once.

# %%
tiny = ViTInput(6, 3, 1, dim, dtype=np.float64, rng=2)
pair = np.stack([image, image[::-1]])[:, None] / 9
before = tiny(pair)
gathered = attention(before, before, before)
weights = attention_forward(*[before.numpy()] * 3)[1].weights
for name, row in zip(("first", "second"), weights[:, 0]):
    print(f"  CLS of the {name} picture looks at CLS and 4 patches with {row.round(3)}")
arriving = np.random.default_rng(11).normal(size=before.shape)
before.backward(arriving)
rows_of_cls = worked.sum("d CLS", arriving[0, 0], arriving[1, 0])
L = Loss(lambda cls, places: tiny(pair), (tiny.cls.weight, tiny.position.weight), arriving)
compare("d CLS", hand=rows_of_cls, ours=tiny.cls.weight.grad[0],
        numeric=gradient(L, tiny.cls.weight)[0])  # fmt: skip
compare("d place 3", hand=arriving[:, 3].sum(axis=0), ours=tiny.position.weight.grad[3],
        numeric=gradient(L, tiny.position.weight)[3])  # fmt: skip
apart = np.abs(gathered.numpy()[0, 0] - gathered.numpy()[1, 0]).max()
check(
    "000-ch3-cls-aggregates",
    np.array_equal(before.numpy()[0, 0], before.numpy()[1, 0])
    and apart > 0.01
    and np.any(tiny.cls.weight.grad != 0),
    shown={"CLS of two pictures, difference before attention":
               np.abs(before.numpy()[0, 0] - before.numpy()[1, 0]).max(),
           "after one attention": apart,
           "length of its gradient": np.linalg.norm(tiny.cls.weight.grad)},
)  # fmt: skip

# %% [markdown]
# ## Pictures
# On the left the photograph under its grid. The blue frame is a patch of backdrop, the orange one a
# patch of the badge. In the middle, how much the pixels of each patch vary: the backdrop is dark,
# and outlines are bright. On the right the two patches as the vectors that they become: 256 reds,
# then 256 greens, then 256 blues. The dull one is three flat lines.

# %%
opens_at = defaults(visualizer.CONTROLS)["patch_size"]
dull, busy = (5, 12), (1, 6)
frames = {"backdrop": (dull, plot.PALETTE["sky blue"]), "badge": (busy, plot.PALETTE["vermillion"])}

fig, axes = plot.figure(1, 3, size=(15, 4.8))
axes[0].imshow(np.moveaxis(photo, 0, -1))
axes[0].set_xticks(np.arange(0, W, opens_at) - 0.5, [])
axes[0].set_yticks(np.arange(0, H, opens_at) - 0.5, [])
axes[0].grid(color="white", lw=0.5)
axes[0].tick_params(length=0)
axes[0].set_title(f"{count[opens_at]} patches of {opens_at} x {opens_at}")
heat = axes[1].imshow(variance, cmap="cividis", norm="log")
axes[1].set_title("variance within each colour")
axes[1].set_xlabel("column of patches")
axes[1].set_ylabel("row of patches")
fig.colorbar(heat, ax=axes[1], shrink=0.9).set_label("variance, logarithmic")
for name, ((r, s), colour) in frames.items():
    for ax, scale in ((axes[0], opens_at), (axes[1], 1)):
        corners = (np.array([s, s + 1, s + 1, s, s]) * scale - 0.5,
                   np.array([r, r, r + 1, r + 1, r]) * scale - 0.5)  # fmt: skip
        ax.plot(*corners, color="white", lw=4)
        ax.plot(*corners, color=colour, lw=2.2)
    axes[2].plot(cut[r * 14 + s], color=colour, lw=1, label=name)
for border in (256, 512):
    axes[2].axvline(border, color="grey", lw=0.8, ls=":")
axes[2].set_xlabel("place in the vector (red, green, blue)")
axes[2].set_ylabel("brightness, 0 to 1")
axes[2].set_title("two patches, flattened")
axes[2].set_ylim(0, 1.15)
axes[2].legend(loc="upper center", ncols=2)
save_figure(fig, "ch03_patches.png")
tall, wide_ = (H // len(set(ticks)) for ticks in (axes[0].get_yticks(), axes[0].get_xticks()))
check("000-ch3-visualizer", f"{tall}x{wide_}", printed="16x16")

# %%
fine = np.array([56, 32, 28, 16, 14, 8, 7, 4])
lengths = (H // fine) ** 2 + 1
total = np.array([body_macs(int(n), D, vit.num_layers) for n in lengths], float)
start = list(fine).index(16)
factors = {"all of ViT-B": total / total[start],
           "score matrix alone": (lengths / lengths[start]) ** 2.0}  # fmt: skip
fig, ax = plot.figure(size=(7.2, 4.4))
plot.lines(ax, fine, factors, xlabel="patch side P in pixels (finer to the right)",
           ylabel="cost, patch 16 = 1", title="Smaller patches: what grows, and how fast",
           logx=True, logy=True, marker="o")  # fmt: skip
ax.set_xlim(64, 3.5)
ax.set_xticks(fine, fine)
ax.minorticks_off()
for name, at in (("all of ViT-B", -18), ("score matrix alone", 9)):
    height = factors[name][list(fine).index(8)]
    ax.annotate(f"{height:.1f}x", (8, height), xytext=(-4, at), textcoords="offset points",
                ha="center", fontsize=10)  # fmt: skip
save_figure(fig, "ch03_cost.png")

# %% [markdown]
# ## What did we learn?

# %%
flattened = photo.reshape(C, -1).T  # one token a pixel
whole_row = photo.transpose(1, 0, 2).reshape(H, -1)  # one token a row of pixels
routes = {
    "each pixel becomes a token: 50,176 of them": flattened,
    "each row of pixels becomes a token: 224 of them": whole_row,
    "it is cut into 14 x 14 squares, each flattened to 768 numbers and projected": cut,
}
right = [route for route, tokens in routes.items() if len(tokens) + 1 == vit.max_len]
quiz(
    "000-ch3-quiz",
    "How does ViT-B/16 make a sequence of a picture of 224 by 224 pixels?",
    answer=right[0],
    options=list(routes),
    because="its position table has 197 rows, and of the three only the squares, with CLS, fill it",
)
verdict()
