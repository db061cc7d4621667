"""Worked byte pair encoding: one merge with everything counted, and a text with its pieces."""

from __future__ import annotations

from collections.abc import Sequence

from scratch_embed.lesson.worked.present import present
from scratch_embed.look.numbers import number
from scratch_embed.look.terminal import paint
from scratch_embed.text.pairs import FEW, MANY, Step, merge, pair_counts
from scratch_embed.working import Line

SPACE = "\u00b7"  # a middle dot shows where a space stands


def merge_pair(label: str, tokens: Sequence[str]) -> Step:
    """Count every pair of neighbours, merge the most frequent one, show what came out.

    Of several pairs with the highest count the one that comes first in the text is merged, and
    all of them are named. Raises ValueError when tokens holds no pair.
    """
    tokens = list(tokens)
    counts = pair_counts(tokens)
    if not counts:
        raise ValueError(f"tokens has {len(tokens)} entries; a pair needs two")
    best = max(counts.values())
    tied = [pair for pair, count in counts.items() if count == best]
    step = Step(tied[0], best, tied, counts, merge(tokens, tied[0]))
    total, different = sum(counts.values()), len(counts)
    lines = [Line("", (f"{label}: {len(tokens)} tokens, {total} pairs, {different} different",))]
    for count in sorted(set(counts.values()), reverse=True):
        names = "  ".join(_pair(pair) for pair, n in counts.items() if n == count)
        lines.append(Line("", (f"{number(count)}x {names}",), count))
    rivals = ", ".join(_pair(pair) for pair in tied[1:])
    told = f"tied with {rivals}; it comes first in the text" if rivals else "no other is as often"
    lines.append(Line("", (f"merge {_pair(step.pair)} ({told})",), step.pair))
    lines.append(Line("", (" ".join(map(_shown, step.tokens)),), step.tokens))
    return present("merge_pair", label, lambda: lines, step)


def _pair(pair: tuple) -> str:
    return "+".join(map(_shown, pair))


def pieces(label: str, parts: Sequence, updates: Sequence[int]) -> None:
    """The pieces of a text, and under each how often its row was updated.

    On a terminal with colours they are red (below 20), yellow, or blue (200 and more).
    """
    if len(parts) != len(updates):
        raise ValueError(f"there are {len(parts)} parts and {len(updates)} updates")
    shown = [_shown(part) for part in parts]
    counts = [number(int(n)) for n in updates]
    sizes = [max(len(a), len(b)) for a, b in zip(shown, counts)]
    painted = [
        paint(text, trained(n)) + " " * (size - len(text))
        for text, n, size in zip(shown, updates, sizes)
    ]
    print(f"  {label} | " + " | ".join(painted))
    print("  " + " " * len(label) + "   " + "   ".join(f"{c:<{s}}" for c, s in zip(counts, sizes)))


def trained(updates: int) -> str:
    """The colour that says how often a row was updated: "red", "yellow" or "blue"."""
    return "red" if updates < FEW else "yellow" if updates < MANY else "blue"


def _shown(token) -> str:
    """A token as text: spaces as dots, bytes that are no ASCII letter as <c3>."""
    if isinstance(token, bytes):
        token = "".join(chr(b) if 32 <= b < 127 else f"<{b:02x}>" for b in token)
    return token.replace(" ", SPACE).replace("\n", "\\n")
