"""Cut an image into patches, and put the patches back.

A vision transformer reads an image as words: squares in reading order, each flattened. Both ways
only move numbers, so each is the gradient of the other.
"""

import numpy as np

LESSON = 3
LEVEL = "medium"
HINTS = """
Split both sides by a reshape: (C, H, W) -> (C, H/P, P, W/P, P). No number moves yet.

Bring the two patch counts to the front by a transpose: (H/P, W/P, C, P, P). Then flatten to (N,
C P P).

`fold` is the same way back: reshape to (H/P, W/P, C, P, P), transpose to (C, H/P, P, W/P, P),
reshape to (C, H, W).
"""


def unfold(image, P):
    """patches[r (W/P) + s, (c P + i) P + j] = image[c, r P + i, s P + j]  (C, H, W) -> (N, C P P)

    image  (C, H, W), with H and W multiples of P. N = (H/P) (W/P).

    Patches follow one another as words on a page; each is flattened channel by channel.

    >>> unfold(np.arange(16.0).reshape(1, 4, 4), 2).tolist()[1]
    [2.0, 3.0, 6.0, 7.0]
    """
    C, H, W = image.shape
    grid = image.reshape(C, H // P, P, W // P, P)
    return grid.transpose(1, 3, 0, 2, 4).reshape(-1, C * P * P)


def fold(patches, C, H, W, P):
    """The image of which unfold(image, P) makes these patches      (N, C P P) -> (C, H, W)

    >>> image = np.arange(16.0).reshape(1, 4, 4)
    >>> fold(unfold(image, 2), 1, 4, 4, 2).tolist()[0][1]
    [4.0, 5.0, 6.0, 7.0]
    """
    grid = patches.reshape(H // P, W // P, C, P, P)
    return grid.transpose(2, 0, 3, 1, 4).reshape(C, H, W)


def check(trial):
    for rng, (C, H, W, P) in zip(
        trial.rounds(4), ((1, 4, 4, 2), (3, 4, 6, 2), (2, 6, 3, 3), (2, 3, 2, 1))
    ):
        image = rng.standard_normal((C, H, W))
        patches = rng.standard_normal((H * W // P**2, C * P * P))
        trial.same("unfold", mistakes=UNFOLD, image=image, P=P)
        trial.same("fold", mistakes=FOLD, patches=patches, C=C, H=H, W=W, P=P)
    for P in (2, 1):  # the same shape, cut otherwise
        trial.same("unfold", mistakes=UNFOLD, image=np.arange(48.0).reshape(2, 4, 6), P=P)
    photo = rng.standard_normal((4, 6, 2)).transpose(2, 0, 1)  # its numbers lie otherwise in memory
    trial.same("unfold", mistakes=UNFOLD, image=photo, P=2)

    def cut(image):
        return np.stack(
            [image[:, r : r + 2, s : s + 2].reshape(-1) for r in (0, 2) for s in (0, 2, 4)]
        )

    trial.gradients(
        "fold",
        forward=cut,
        backward=lambda dout: trial.yours.fold(dout, 2, 4, 6, 2),
        image=rng.standard_normal((2, 4, 6)),
    )


def _cut(*axes):
    def wrong(image, P):
        C, H, W = image.shape
        grid = image.reshape(C, H // P, P, W // P, P)
        return grid.transpose(*axes).reshape(-1, C * P * P)

    return wrong


def _laid(*axes):
    def wrong(patches, C, H, W, P):
        grid = patches.reshape(H // P, W // P, C, P, P)
        return grid.transpose(*axes).reshape(C, H, W)

    return wrong


UNFOLD = {
    "unfold only reshapes: that cuts the picture into strips, and not into squares":
        lambda image, P: image.reshape(-1, len(image) * P * P),
    "unfold counts the patches down the columns: they follow one another as words on a page":
        _cut(3, 1, 0, 2, 4),
    "unfold flattens a patch column by column: row by row is asked for": _cut(1, 3, 0, 4, 2),
    "unfold puts the channels last in a patch: channel by channel is asked for":
        _cut(1, 3, 2, 4, 0),
}  # fmt: skip
FOLD = {
    "fold only reshapes: the numbers of a square lie in several rows of the picture":
        lambda patches, C, H, W, P: patches.reshape(C, H, W),
    "fold exchanges rows and columns within a patch": _laid(2, 0, 4, 1, 3),
}  # fmt: skip
