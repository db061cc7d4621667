"""python -m tests.benchmarks.quote FILE: the table of a run as README.md here has it."""

from __future__ import annotations

import json
import sys
from pathlib import Path

LARGE = ("GPT-2", "wide", "cached", "recommender")


def quote(results: dict) -> str:
    """The table, with a line on the run; of a run of the simulations alone, a sentence.

    KeyError when the run left something out.
    """
    if list(results["benchmarks"]) == ["simulations"]:
        return simulations(results)
    run = Run(results)
    lines = [
        "| what | share of what a copy moves | how many times as fast as |",
        "|---|---|---|",
        *(f"| {what} | {share} | {peers} |" for what, share, peers in memory(run)),
        *(f"| {what} | | {peers} |" for what, peers in others(run)),
    ]
    return "\n".join([*lines, "", *closing(results)])


class Run:
    """The figures of a run, by benchmark and case."""

    def __init__(self, results: dict):
        self.rows = {
            (name, row["case"]): row
            for name, one in results["benchmarks"].items()
            for row in one["rows"]
        }

    def shares(self, name: str, cases: dict) -> str:
        """{"GPT-2": "GPT-2 uniform"} -> "GPT-2 85 %" """
        return ", ".join(
            f"{label} {self.rows[name, case]['share of copy']['median']:.0%}"
            for label, case in cases.items()
        )

    def times(self, name: str, cases, *peers: str) -> str:
        """The ratios to each peer; of several cases the smallest and the largest."""
        return ", ".join(f"{peer} {self._range(name, cases, peer)}" for peer in peers)

    def _range(self, name: str, cases, peer: str) -> str:
        ratios = [self.rows[name, case]["ratios"][peer]["median"] for case in cases]
        low, high = (f"{ratio:.2g}" for ratio in (min(ratios), max(ratios)))
        return low if low == high else f"{low} to {high}"

    def notes(self, name: str, case: str) -> dict:
        return self.rows[name, case]["notes"]


def memory(run: Run):
    """(what, share of copy, ratios) of what only moves memory."""
    out = {shape: f"{shape} uniform, into out" for shape in LARGE}
    peers = run.times("gather", out.values(), "np.take", "torch index_select")
    yield "gather, uniform ids", run.shares("gather", out), peers
    for ids in ("uniform", "Zipf"):
        cases = {shape: f"{shape} {ids}" for shape in LARGE}
        peers = run.times("scatter-add", cases.values(), "np.add.at", "torch index_add_")
        yield f"scatter-add, {ids} ids", run.shares("scatter-add", cases), peers


def others(run: Run):
    """(what, ratios) of the rest."""
    peers = "torch dense_backward", "torch sparse, coalesce"
    yield "row-sparse gradient, GPT-2", run.times("row-sparse backward", ["GPT-2 uniform"], *peers)
    for rule, peer in (("SGD", "SGD"), ("LazyAdam", "SparseAdam"), ("Adagrad", "Adagrad")):
        cases = [f"{rule}, {shape}" for shape in LARGE]
        told = run.times("training step", cases, f"torch {peer}")
        yield f"training step of a table, {rule}", told.replace("torch", "torch sparse=True,")
    cases = [f"Adam, dense gradient, {shape}" for shape in ("cached", "GPT-2")]
    yield "training step of a table, Adam", run.times("training step", cases, "torch Adam")
    for case in ("N=2,048 V=50,257", "N=1,024 V=32,000"):
        extra = run.notes("tied cross-entropy", case)
        share = extra["extra MB, ours"] / extra["extra MB, torch"]
        told = run.times("tied cross-entropy", [case], "torch")
        yield f"tied cross-entropy, {case}", f"{told}, in {share:.1%} of its extra memory"
    cases = "gradient of weight", "gradient of weight and pictures"
    yield "patch embedding, ViT-B/16", run.times("patch embedding", cases, "torch Conv2d")
    for case in ("speed, 1 worker", "speed, 2 workers"):
        words = run.notes("skip-gram", case)["words/s, ours"]
        told = run.times("skip-gram", [case], "gensim")
        yield f"skip-gram, {case.removeprefix('speed, ')}", f"{told} ({words:,} words a second)"
    for case in ("train", "encode"):
        yield f"BPE, {case}, 2 MB", run.times("byte pair encoding", [case], "tokenizers")


def simulations(results: dict) -> str:
    """The slowest moves and the largest page of all simulations."""
    rows = results["benchmarks"]["simulations"]["rows"]
    slowest, sizes = zip(*([verdict["value"] for verdict in row["verdicts"]] for row in rows))
    moves = [row["notes"]["a move, ms"] for row in rows]
    return (
        f"A move of one of the {len(rows)} simulations takes {min(moves):.1g} to {max(moves):.2g} "
        f"ms of the processor, the slowest of 60 moves of each {min(slowest):.1g} to "
        f"{max(slowest):.2g} ms; a page with every state in it has {min(sizes):.1g} to "
        f"{max(sizes):.2g} MB. Measured on {results['run']['date']}."
    )


def closing(results: dict):
    """Where and when, and how many of the goals were met."""
    run, verdicts = results["run"], [
        verdict["verdict"]
        for one in results["benchmarks"].values()
        for row in one["rows"]
        for verdict in row["verdicts"]
    ]  # fmt: skip
    reached = verdicts.count("reached")
    versions = ", ".join(f"{name} {run[name]}" for name in ("numpy", "numba", "torch", "gensim"))
    yield (
        f"Measured on {run['date']}: {run['processor']}, {run['cores']} cores, {run['system']}; "
        f"Python {run['python']}, {versions}, tokenizers {run['tokenizers']}. Of the "
        f"{len(verdicts)} goals that `make bench` sets, this run reached {reached}."
    )


if __name__ == "__main__":
    print(quote(json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))))
