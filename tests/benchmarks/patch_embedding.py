"""The patch embedding of ViT-B/16 on eight pictures, forward and backward."""

from __future__ import annotations

import numpy as np

from scratch_embed import Tensor
from scratch_embed.layers import PatchEmbed

from .registry import Bench, benchmark
from .shapes import normal

B, SIDE, P, D = 8, 224, 16, 768


@benchmark("patch embedding", "forward and backward in at most the time of torch's Conv2d")
def patch_embedding(bench: Bench) -> None:
    rng, grid = bench.rng(), SIDE // P
    pictures, dout = normal((B, 3, SIDE, SIDE), rng), normal((B, grid * grid, D), rng)
    dout.setflags(write=False)  # then backward need not copy it, as torch never does
    layer, torch = PatchEmbed(SIDE, P, 3, D, rng=0), bench.peer("torch")
    for pictures_too in (False, True):
        what = "weight and pictures" if pictures_too else "weight"
        row = bench.row(f"gradient of {what}", B=B, D=D, P=P, side=SIDE, dtype="float32")
        images = Tensor(pictures, requires_grad=pictures_too)

        def ours(images=images):
            leaves = [images, *layer.parameters()]
            for leaf in leaves:
                leaf.grad = None
            out = layer(images)
            out.backward(dout)
            return out.data, leaves[1].grad, images.grad

        ways = {"ours": ours}
        if torch:
            ways["torch Conv2d"] = conv2d(torch, layer, pictures, dout, pictures_too)
            for name, mine, theirs in zip(
                ("out", "dweight", "dimages"), ours(), ways["torch Conv2d"]()
            ):
                if mine is not None:
                    shape = mine.shape
                    row.check(f"{name} against torch", mine, theirs.reshape(shape), 1e-3, 1e-3)
        row.time(ways)
        row.bar("torch over ours", row.ratio("torch Conv2d"), at_least=1)


def conv2d(torch, layer, pictures, dout, pictures_too: bool):
    """The same map as a convolution of stride P; its channels come before its places."""
    conv, (_, places, dim) = torch.nn.Conv2d(3, D, P, P), dout.shape
    with torch.no_grad():
        conv.weight[:] = torch.from_numpy(layer.projection.weight.data.reshape(D, 3, P, P))
        conv.bias[:] = torch.from_numpy(layer.projection.bias.data)
    images = torch.from_numpy(pictures).requires_grad_(pictures_too)
    channels_first = np.ascontiguousarray(dout.transpose(0, 2, 1)).reshape(
        B, dim, SIDE // P, SIDE // P
    )
    grad = torch.from_numpy(channels_first)

    def step():
        images.grad = None
        conv.zero_grad()
        out = conv(images)
        out.backward(grad)
        rows = out.detach().numpy().reshape(B, dim, places).transpose(0, 2, 1)
        seen = None if images.grad is None else images.grad.numpy()
        return rows, conv.weight.grad.numpy(), seen

    return step
