"""The picture of a run: share of copy bandwidth, and ratio to each peer."""

from __future__ import annotations

from pathlib import Path

from scratch_embed import plot

from .registry import Row


def draw(rows: list[Row], path: Path) -> Path | None:
    """Write the picture; None when nothing was timed that belongs into it."""
    shares = [(f"{row.benchmark}, {row.case}", row.share()) for row in rows if _timed(row)]
    shares = [(label, share) for label, share in shares if share]
    ratios = [
        (f"{row.benchmark}, {row.case}", name, row.ratio(name))
        for row in rows
        if _timed(row)
        for name in row.times
        if name != "copy"
        and not name.startswith("ours")
        and any({name, "ours"} <= ways for ways in row.together)
    ]
    if not ratios:
        return None
    labels = list(dict.fromkeys(label for label, _, _ in ratios))
    height = 1.6 + 0.26 * max(len(labels), len(shares))
    fig, (left, right) = plot.figure(1, 2, size=(15, height))
    _draw_shares(left, shares)
    _draw_ratios(right, labels, ratios)
    return plot.save(fig, path)


def _timed(row: Row) -> bool:
    return "ours" in row.times


def _draw_shares(ax, shares) -> None:
    """A dot a row, with its quartiles."""
    for y, (_, (middle, low, high)) in enumerate(shares):
        ax.plot([low, high], [y, y], color=plot.PALETTE["blue"], lw=1)
        ax.plot(middle, y, "o", color=plot.PALETTE["blue"])
    ax.axvline(1, color=plot.PALETTE["black"], lw=1, ls="--")
    ax.set_yticks(range(len(shares)), [label for label, _ in shares])
    ax.invert_yaxis()
    ax.set_xlabel("share of the machine's copy bandwidth (1 = as fast as a copy)")
    ax.grid(axis="x", alpha=0.25)
    ax.set_xlim(left=0)


def _draw_ratios(ax, labels, ratios) -> None:
    """One marker a peer, on a logarithmic axis: to the right of 1 ours is faster."""
    peers = list(dict.fromkeys(name for _, name, _ in ratios))
    for i, peer in enumerate(peers):
        here = [(labels.index(at), ratio.median) for at, name, ratio in ratios if name == peer]
        ax.plot(
            [ratio for _, ratio in here],
            [y for y, _ in here],
            plot.MARKERS[i % len(plot.MARKERS)],
            color=plot.CYCLE[i % len(plot.CYCLE)],
            label=peer,
            mfc="none" if i >= len(plot.CYCLE) else None,
        )
    ax.axvline(1, color=plot.PALETTE["black"], lw=1, ls="--")
    ax.set_xscale("log")
    ax.set_yticks(range(len(labels)), labels)
    ax.invert_yaxis()
    ax.set_xlabel("time of the peer over ours (above 1 ours is faster)")
    ax.grid(axis="x", alpha=0.25)
    ax.legend(fontsize=9, loc="upper left", bbox_to_anchor=(1, 1))
