"""`scratch-embed neighbours`: what vectors of words know.

The words nearest to a word by cosine, analogies (with the three given words left out, as published
scores have it, and with them allowed) singly or as a file of questions, and how far cosines agree
with people's judgements of similarity, each beside what chance gives.
"""

from __future__ import annotations

import argparse
import csv
import difflib
import warnings
from pathlib import Path
from typing import NamedTuple

import numpy as np

from scratch_embed import geometry, plot
from scratch_embed.look.terminal import harmless
from scratch_embed.text import vectors_files
from scratch_embed.text.corpus import read_text
from scratch_embed.text.vectors import decimal
from scratch_embed.training import questions
from scratch_embed.training.command import add_numbers, count, parser, start
from scratch_embed.training.nearest import some_rows
from scratch_embed.training.run import Run

HERE = Path("build/word2vec/vectors.npz")
SHUFFLES = 1000
DIGITS = 12  # of a cosine that are not rounding
LONGEST = 24  # letters of a word in the picture
MAPPED = 6  # words whose neighbours are drawn
AROUND = 12  # of each; more would lie on one another
QUICK = {"limit": 10_000}
NUMBERS = [
    ("nearest", count, 8, "WORDS", "neighbours to show of a word"),
    ("limit", count, 100_000, "WORDS", "words to read from the start, where the commonest stand"),
]


def made() -> argparse.ArgumentParser:
    """The options of `scratch-embed neighbours`."""
    new = parser("neighbours", __doc__)
    new.add_argument(
        "vectors", nargs="?", type=Path, default=HERE,
        help="a file of word2vec (.bin, .txt), GloVe (.txt), .npz or .safetensors; without it, "
        f"{HERE}",
    )  # fmt: skip
    whose = (
        "whose neighbours to show; without any, some of the file's. Here and below a word that the "
        "file has not is taken in lower case"
    )
    new.add_argument("words", nargs="*", help=whose)
    new.add_argument(
        "--analogy", nargs=3, action="append", default=[], metavar=("A", "B", "C"),
        help="A is to B as C is to ... (B - A + C); may be given again",
    )  # fmt: skip
    new.add_argument(
        "--similarity", type=Path, metavar="FILE",
        help="a file of lines: two words and people's score, between tabs, commas or spaces",
    )  # fmt: skip
    new.add_argument(
        "--analogies", type=Path, metavar="FILE",
        help="a file of questions: lines A B C D, and : NAME before those of a section",
    )  # fmt: skip
    add_numbers(new, NUMBERS)
    return new


def main(argv: list[str] | None = None) -> int:
    """Run the command; returns its exit code."""
    return start(made(), work, argv, QUICK)


def work(run: Run) -> int:
    """Read the vectors, and answer."""
    options, results = run.options, {}
    if options.vectors == HERE and not HERE.exists():
        raise ValueError(f"There is no {HERE} yet: `scratch-embed word2vec` makes it")
    table = Table(*vectors_files.load(options.vectors, options.limit))
    if len(table.words) < 2:
        what = f"--limit 1 of {options.vectors}" if options.limit == 1 else options.vectors
        raise ValueError(f"{what} holds one word, {table.words[0]!r}, and no neighbour")
    first = ", the first (--limit)" if len(table.words) == options.limit else ""
    numbers = f"{table.unit.shape[1]} numbers each"
    print(f"{len(table.words):,} words{first}, {numbers}: {options.vectors}")
    asked = options.words
    if not (asked or options.analogy or options.analogies or options.similarity):
        asked = [table.words[row] for row in some_rows(len(table.words)) if table.unit[row].any()]
    results["words"] = len(table.words)
    results["nearest"] = {}
    for word in asked:
        near = table.nearest(word, options.nearest)
        print(f"\nnearest to {table.told(word)}, by cosine:\n{listed(near)}")
        results["nearest"][table.words[table.row(word)]] = near
    results["analogies"] = [table.analogy(*three, options.nearest) for three in options.analogy]
    for found in results["analogies"]:
        a, b, c = map(table.told, found["asked"])
        print(f"\n{a} is to {b} as {c} is to:")
        print(f"  the three words left out\n{listed(found['left out'])}")
        print(f"  the three words allowed\n{listed(found['allowed'])}")
    if options.analogies:
        read = questions.read_questions(options.analogies)
        results["questions"] = questions.accuracy(read, table.find, table.unit)
        print(f"\n{questions.told(results['questions'], options.analogies)}")
    if options.similarity:
        results["similarity"] = agreement(table, options.similarity, options.seed)
        print(f"\n{told(results['similarity'])}")
    print()
    drawn = asked and table.unit.shape[1] > 1  # a picture has two axes
    return run.finish(results, around(table, results["nearest"]) if drawn else None)


class Table:
    """Words, and rows of length 1."""

    def __init__(self, words: tuple[str, ...], vectors: np.ndarray):
        self.words, self.unit = words, geometry.unit_rows(vectors)
        self.index = {word: row for row, word in enumerate(words)}

    def find(self, word: str) -> int | None:
        """The row of a word, or of its lower case; None without either, and for a row of zeros,
        which has no direction."""
        row = self.index.get(word, self.index.get(word.lower()))
        return row if row is None or self.unit[row].any() else None

    def row(self, word: str) -> int:
        """The row of a word, or of its lower case; ValueError, with likely ones, without either."""
        row = self.find(word)
        if row is not None:
            return row
        if {word, word.lower()} & self.index.keys():
            raise ValueError(f"the vector of {word!r} is all zeros: no direction, and no neighbour")
        close = difflib.get_close_matches(word.lower(), self.words[:20_000], 3)
        hint = f" Near it in letters: {', '.join(close)}." if close else ""
        among = f"among the {len(self.words):,} words that were read"
        raise ValueError(f"{word!r} has no vector {among}.{hint}")

    def told(self, word: str) -> str:
        """A word to print: "us (for US)" where the lower case stands for it."""
        found = harmless(self.words[self.row(word)])
        return found if word in self.index else f"{found} (for {harmless(word)})"

    def nearest(self, word: str, k: int) -> list:
        """[[word, cosine], ...], the nearest first, the word itself left out."""
        k = min(k, len(self.words) - 1)
        return self._named(geometry.neighbours(self.unit, self.row(word), k))

    def analogy(self, a: str, b: str, c: str, k: int) -> dict:
        """What is nearest to b - a + c: with the three left out, and with them allowed."""
        rows = [self.row(word) for word in (b, a, c)]
        if len(self.words) < 4:
            raise ValueError(f"of {len(self.words)} words, none is left to answer an analogy")
        k = min(k, len(self.words) - 3)
        out, allowed = (
            self._named(geometry.analogy(self.unit, *rows, k, exclude=left_out))
            for left_out in (True, False)
        )
        return {"asked": [a, b, c], "left out": out, "allowed": allowed}

    def _named(self, found: geometry.Neighbours) -> list:
        return [[self.words[row], round(float(x), 9)] for row, x in zip(*found)]


def listed(near: list) -> str:
    """A line for each word with its cosine."""
    return "\n".join(f"  {cosine:7.3f}  {harmless(word)}" for word, cosine in near)


class Pair(NamedTuple):
    """Two words, and how similar people find them."""

    a: str
    b: str
    score: float


def read_pairs(path: Path) -> list[Pair]:
    """The pairs of a file: two words and a score; between them may stand a part of speech (A, N or
    V), as in SimLex-999. Lines that are empty or begin with # are passed over, and so is, with a
    warning, a first line without a score. ValueError, with the line, for any other."""
    pairs = []
    for number, line in enumerate(read_text(path).split("\n"), start=1):
        if not line.strip() or line.startswith("#"):
            continue
        separator = next((s for s in "\t,;" if s in line), None)
        apart = line.split(separator) if separator != "," else next(csv.reader([line]))
        fields = [field.strip() for field in apart]
        if separator == "," and len(fields) == 4 and (fields[2] + fields[3]).isdecimal():
            raise ValueError(
                f"{path}, line {number}: {line[:60]!r} has commas between the fields, and perhaps "
                "one in the number: write 3.25, or tabs between the fields"
            )
        try:
            a, b, score = fields[0], fields[1], decimal(fields[2 + (fields[2] in ("A", "N", "V"))])
            if not np.isfinite(score):
                raise ValueError
        except (IndexError, ValueError):
            said = f"{path}, line {number}: {line[:60]!r} is not two words and a number"
            if number > 1:
                raise ValueError(said) from None
            warnings.warn(f"{said}; it is taken for titles of the columns", stacklevel=2)
            continue
        pairs.append(Pair(a, b, score))
    return pairs


def agreement(table: Table, path: Path, seed: int) -> dict:
    """Spearman's rank correlation of cosines and scores, and of the same scores shuffled."""
    pairs = read_pairs(path)
    used = [pair for pair in pairs if None not in map(table.find, pair[:2])]
    if len(used) < 3:
        raise ValueError(
            f"{path} has {len(pairs)} pairs, and {len(used)} of them have vectors; give more"
        )
    cosines = np.array([table.unit[table.row(a)] @ table.unit[table.row(b)] for a, b, _ in used])
    cosines = cosines.round(DIGITS)  # two words beside themselves are equally similar
    scores = np.array([pair.score for pair in used])
    if np.ptp(scores) == 0 or np.ptp(cosines) == 0:
        equal = "scores" if np.ptp(scores) == 0 else "cosines"
        raise ValueError(f"the {equal} of all {len(used)} pairs in {path} are equal: no order")
    rho = geometry.rank_correlation(cosines, scores)
    rng = np.random.default_rng(seed)
    chance = np.array(
        [geometry.rank_correlation(cosines, rng.permutation(scores)) for _ in range(SHUFFLES)]
    )
    return {
        "file": str(path),
        "pairs": len(pairs),
        "used": len(used),
        "rank correlation": rho,
        "by chance, 95 %": np.quantile(chance, [0.025, 0.975]).tolist(),
        "shuffles at least as high": int((chance >= rho).sum()),
    }


def told(found: dict) -> str:
    """What `agreement` found, in lines."""
    low, high = found["by chance, 95 %"]
    return (
        f"{found['used']} of the {found['pairs']} pairs in {found['file']} have vectors\n"
        f"  {found['rank correlation']:7.3f}  Spearman's rank correlation\n"
        f"  {low:7.3f} to {high:.3f} by chance (95 % of {SHUFFLES:,} shuffles of the scores; "
        f"{found['shuffles at least as high']} came as high)"
    )


def around(table: Table, nearest: dict):
    """The asked words and their neighbours on the two axes in which they differ most."""
    groups = {}
    for word, near in list(nearest.items())[:MAPPED]:
        for each in (table.words[table.row(word)], *(found for found, _ in near[:AROUND])):
            groups.setdefault(each, f"around {_cut(word)}")
    found = geometry.pca(table.unit[[table.index[word] for word in groups]])
    fig, ax = plot.figure(size=(9, 6.5))
    first, second = (f"{share:.0%} of the variance" for share in found.share)
    labels = {"xlabel": first, "ylabel": second, "title": "Neighbours, seen from two axes"}
    names = list(map(_cut, groups))
    plot.scatter_labels(ax, found.coords, names, list(groups.values()), **labels)
    return fig


def _cut(word: str) -> str:
    """A word as there is room for it in a picture."""
    return word if len(word) <= LONGEST else f"{word[: LONGEST - 1]}…"
