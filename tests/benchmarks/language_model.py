"""One training step of a small language model: every operation of a Transformer, and AdamW."""

from __future__ import annotations

import subprocess
import sys

import numpy as np

from scratch_embed import AdamW
from scratch_embed.learning import Learning
from scratch_embed.training.memory import keep_freed_memory
from scratch_embed.training.transformer import Transformer

from .registry import Bench, benchmark
from .tied import highest

V, D, T, BLOCKS, HEADS, B = 2_048, 128, 64, 4, 4, 16  # about a million numbers to learn

# In a process of its own: what the steps add to the highest memory, beyond the weights.
PEAK = """
from tests.benchmarks.language_model import growth, {way} as way
print(growth(way))
"""


@benchmark(
    "language model",
    "a training step of a million numbers, 16 sequences of 64 tokens, in at most torch's time and "
    "at most half its memory beside the weights",
)
def language_model(bench: Bench) -> None:
    model = Transformer(V, D, T, BLOCKS, HEADS, rng=0)
    facts = {"V": V, "D": D, "T": T, "B": B, "blocks": BLOCKS, "heads": HEADS}
    row = bench.row("one step", dtype="float32", parameters=model.num_parameters(), **facts)
    keep_freed_memory()  # torch, timed in turns in the same process, has as much of it
    ways = {"ours": ours(model)}
    torch = bench.peer("torch")
    if torch:
        ways["torch"] = theirs(model)
        losses = [[way() for _ in range(3)] for way in ways.values()]
        row.check("losses of three steps against torch", *losses, rtol=1e-3)
    row.time(ways)
    row.bar("torch over ours", row.ratio("torch"), at_least=1)
    memory = {way: peak(way) for way in ("ours", "theirs")}
    for way, name in (("ours", "ours"), ("theirs", "torch")):
        row.note(f"MB beside the weights, {name}", memory[way] and round(memory[way] / 1e6, 1))
    share = memory["ours"] / memory["theirs"] if all(memory.values()) else None
    row.bar("memory, ours over torch", share, at_most=0.5)


def batch() -> np.ndarray:
    return np.random.default_rng(5).integers(V, size=(B, T + 1))


def ours(model: Transformer):
    rule, ids = AdamW(model.parameters(), lr=1e-3), batch()
    step = Learning(model, rule, None, lambda _: model.loss(ids[:, :-1], ids[:, 1:]), longest=1.0)
    return step.take


def theirs(model: Transformer):
    """The same model in torch, from the same weights."""
    import torch
    from torch.nn import functional as F

    weights = {
        name: torch.nn.Parameter(torch.from_numpy(array))
        for name, array in model.state_dict().items()
    }
    rule = torch.optim.AdamW(weights.values(), lr=1e-3, weight_decay=0.01)
    ids = torch.from_numpy(batch())

    def linear(x, path):
        return F.linear(x, weights[f"{path}.weight"], weights.get(f"{path}.bias"))

    def norm(x, path):
        return F.layer_norm(x, (D,), weights[f"{path}.gamma"], weights[f"{path}.beta"])

    def attention(x, path):
        parts = (linear(x, f"{path}.{name}") for name in ("query", "key", "value"))
        heads = (part.view(B, T, HEADS, D // HEADS).transpose(1, 2) for part in parts)
        out = F.scaled_dot_product_attention(*heads, is_causal=True)
        return linear(out.transpose(1, 2).reshape(B, T, D), f"{path}.output")

    def step():
        rule.zero_grad()
        table = weights["input.token.weight"]
        x = F.embedding(ids[:, :-1], table) + weights["input.position.weight"]
        for k in range(BLOCKS):
            x = x + attention(norm(x, f"blocks.{k}.norm1"), f"blocks.{k}.attention")
            up = F.relu(linear(norm(x, f"blocks.{k}.norm2"), f"blocks.{k}.up"))
            x = x + linear(up, f"blocks.{k}.down")
        logits = norm(x, "norm").view(-1, D) @ table.T
        loss = F.cross_entropy(logits, ids[:, 1:].reshape(-1))
        loss.backward()
        torch.nn.utils.clip_grad_norm_(list(weights.values()), 1.0)
        rule.step()
        return loss.item()

    return step


def growth(way) -> int:
    """How much more memory three steps take than the weights, their gradients and two means."""
    model = Transformer(V, D, T, BLOCKS, HEADS, rng=0)
    Transformer(100, 16, T, rng=0).loss(batch()[:2, :-1] % 100, batch()[:2, 1:] % 100).backward()
    step = way(model)
    before = highest()
    for _ in range(3):
        step()
    return highest() - before - 3 * 4 * model.num_parameters()


def peak(way: str) -> int | None:
    """Bytes, or None where the system or the peer is missing."""
    command = [sys.executable, "-c", PEAK.format(way=way)]
    done = subprocess.run(command, check=False, capture_output=True, encoding="utf-8")
    return int(done.stdout) if done.returncode == 0 else None
