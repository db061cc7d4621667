"""A file of analogies, as question-words.txt has them: how many are answered rightly, and by what.

    : capital-common-countries
    Athens Greece Baghdad Iraq

A line asks "A is to B as C is to ...", and its fourth word is the answer. Four ways answer, each by
the word whose vector is nearest in cosine:

    left out    to B - A + C, where A, B and C cannot be the answer, as published scores have it
    allowed     to B - A + C, where they can
    near B      to B, and
    near C      to C, without any arithmetic; A, B and C cannot be the answer

Where "near C" is not far behind "left out", the arithmetic has done little: the answer lies beside
C anyhow (Linzen, "Issues in evaluating semantic spaces using word analogies", 2016).
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np

from scratch_embed.look.terminal import harmless
from scratch_embed.text.corpus import read_text

WAYS = ("left out", "allowed", "near B", "near C")
AT_ONCE = 1 << 24  # cosines
AS_NEAR = 1e-12  # of a cosine: a product of matrices rounds those of equal rows differently


class Question(NamedTuple):
    """A is to B as C is to D."""

    section: str
    words: tuple[str, str, str, str]


def read_questions(path: Path) -> list[Question]:
    """The questions of a file. Empty lines and lines that begin with # or // are passed over.

    Raises ValueError, with the line, for one that is neither four words nor ": section", and for a
    file without a question.
    """
    questions, section = [], "without a section"
    for number, line in enumerate(read_text(path).split("\n"), start=1):
        fields = line.split()
        if not fields or line.startswith(("#", "//")):
            continue
        if fields[0].startswith(":"):
            section = line.strip().lstrip(":").strip() or section
        elif len(fields) == 4:
            questions.append(Question(section, tuple(fields)))
        else:
            raise ValueError(
                f"{path}, line {number}: {line[:60]!r} has {len(fields)} words; a question has "
                "four, and a section begins with a colon"
            )
    if not questions:
        raise ValueError(f"{path} holds no question: a line of four words")
    return questions


def accuracy(
    questions: list[Question], row_of: Callable[[str], int | None], unit: np.ndarray
) -> dict:
    """{"questions": n, "by chance": share, "sections": {name: shares}, "all": shares}

    where shares is {"asked": n, way: share right}.

    Questions of which a word has no row are left out, and a section without any other is.
    """
    found = [(each.section, [row_of(word) for word in each.words]) for each in questions]
    found = [(section, rows) for section, rows in found if None not in rows]
    if not found:
        raise ValueError(f"none of the {len(questions):,} questions has vectors for all four words")
    right = answered_rightly(np.array([rows for _, rows in found]), unit)
    sections = np.array([section for section, _ in found])
    parts = {name: sections == name for name in dict.fromkeys(sections.tolist())}
    return {
        "questions": len(questions),
        "by chance": 1 / (len(unit) - 3) if len(unit) > 3 else 0.0,
        "sections": {name: _shares(right, mine) for name, mine in parts.items()},
        "all": _shares(right, np.ones(len(found), bool)),
    }


def _shares(right: dict[str, np.ndarray], mine: np.ndarray) -> dict:
    shares = {way: float(hits[mine].mean()) for way, hits in right.items()}
    return {"asked": int(mine.sum()), **shares}


def answered_rightly(rows: np.ndarray, unit: np.ndarray) -> dict[str, np.ndarray]:
    """{way: (Q,)} for rows (Q, 4) of a table (V, D) whose rows have length 1.

    1 for a right answer, 0 for a wrong one, and 1/n where n words are as near, the right one among
    them: nothing tells them apart.
    """
    right = {way: np.empty(len(rows)) for way in WAYS}
    step = max(1, AT_ONCE // len(unit))
    for at in range(0, len(rows), step):
        a, b, c, d = rows[at : at + step].T
        inputs, each = rows[at : at + step, :3], np.arange(len(a))[:, None]
        for way in WAYS:
            query = {"near B": unit[b], "near C": unit[c]}.get(way, unit[b] - unit[a] + unit[c])
            cosines = query @ unit.T
            if way != "allowed":
                cosines[each, inputs] = -np.inf
            nearest = cosines >= cosines.max(axis=1, keepdims=True) - AS_NEAR
            nearest &= cosines > -np.inf  # where all words are A, B or C none is left
            found = np.maximum(nearest.sum(axis=1), 1)
            right[way][at : at + step] = nearest[each[:, 0], d] / found
    return right


def told(found: dict, path: Path) -> str:
    """What `accuracy` found, a line for each section."""
    rows = [(harmless(name), row) for name, row in found["sections"].items()]
    rows.append(("all of them", found["all"]))
    width, asked = max(len(name) for name, _ in rows), found["all"]["asked"]
    lines = [
        f"{asked:,} of the {found['questions']:,} analogies in {path} have vectors; share right:",
        f"  {'section':<{width}}{'asked':>8}" + "".join(f"{way:>10}" for way in WAYS),
    ]
    for name, row in rows:
        shares = "".join(f"{row[way]:10.3f}" for way in WAYS)
        lines.append(f"  {name:<{width}}{row['asked']:8,}{shares}")
    return "\n".join(
        [
            *lines,
            "  left out: nearest to B - A + C, and A, B and C cannot be the answer;",
            "  allowed: they can; near B, near C: no arithmetic, the word beside B or C;",
            f"  one of the other words at random: {found['by chance']:.5f}",
        ]
    )
