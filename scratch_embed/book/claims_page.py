"""Pages of claims, and the errata of each source, as pages of the book."""

from __future__ import annotations

from collections import Counter

from scratch_embed.book.markdown import plain
from scratch_embed.lesson.claims.judging import WORDS


def page(judged: dict, links) -> str:
    """A page of claims: each with its source, its print, its verdict and the reason."""
    verdicts = judged["verdicts"]
    counts = Counter(verdict["word"] for verdict in verdicts)
    told = ", ".join(f"{counts[word]} {word}" for word in WORDS if counts[word])
    parts = [f"# {plain(judged['title'])}", links.prose(judged["below"]), told and f"{told}."]
    parts += [_verdict(verdict, links) for verdict in verdicts]
    made = [call for call in judged["calls"] if not call["why"]]
    parts += ["## Printed Python, as it ran"] * bool(made)
    parts += [_call(call) for call in made]
    waiting = Counter(call["why"] for call in judged["calls"] if call["why"])
    parts += [f"Not run here, {n} calls: {plain(why)}." for why, n in waiting.items()]
    return "\n\n".join(part for part in parts if part) + "\n"


def errata(source: str, verdicts: list[dict], links) -> str:
    """What one source prints that is wrong, in its own order, and what is right."""
    wrong = [v for v in verdicts if v["claim"]["source"] == source and v["word"] == "corrected"]
    wrong.sort(key=lambda verdict: verdict["claim"]["place"])
    parts = [f"# Errata: {plain(source)}", f"{len(wrong)} claims are corrected."]
    for verdict in wrong:
        claim = verdict["claim"]
        computed = f"computed {plain(verdict['computed'])}: " if verdict["computed"] else ""
        parts.append(f"**{plain(claim['section'])}**: {plain(claim['statement'])}{_printed(claim)}")
        parts.append(f": right is: {computed}{links.prose(plain(verdict['told']))}")
    return "\n\n".join(parts) + "\n"


def _verdict(verdict: dict, links) -> str:
    claim, lab = verdict["claim"], verdict["lab"]
    computed = f"; computed {plain(verdict['computed'])}" if verdict["computed"] else ""
    told = f" *{links.prose(plain(verdict['told']))}.*" if verdict["told"] else ""
    measured = f" Measured in [{lab}]({links.up}labs/{lab}.md)." if lab else ""
    head = f"**{verdict['word']}** {plain(claim['source'])}, {plain(claim['section'])}"
    return f"{head}\n: {plain(claim['statement'])}{_printed(claim)}{computed}.{told}{measured}"


def _printed(claim: dict) -> str:
    return f" (printed “{plain(claim['printed'])}”)" if claim["printed"] else ""


def _call(call: dict) -> str:
    word = "as printed" if call["same"] else "not so"
    claim = call["claim"]
    head = f"**{word}** {plain(claim['source'])}, {plain(claim['section'])}"
    return (
        f"{head}\n: {plain(claim['statement'])}: says “{plain(call['says'])}”; "
        f"{plain(call['library'])}: {plain(call['came'])}"
    )
