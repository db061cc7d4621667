"""The lessons are held to lessons/claims.csv: known ids, honest values, prints as printed."""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path

import pytest

from scratch_embed.lesson.claims import ledger
from scratch_embed.lesson.walk import cells

FOLDER = Path(__file__).parents[3] / "lessons"
CLAIMS = {claim.id: claim for claim in ledger.load(FOLDER / "claims" / "claims.csv")}
LESSONS = list(cells.find(FOLDER).values())
CALLS = [(path, call) for path in LESSONS for call in ledger.calls(path)]
SOURCES = {"ten-chapter text", "reference page", "lecture 18-02", "lecture note", "interview page"}


def where(path, call):
    return f"{path.name}, line {call.line}: {call.function}({call.id!r})"


def answered():
    return {call.id for _, call in CALLS if call.id in CLAIMS}


def test_the_list_is_sound():
    rows = ledger.load(FOLDER / "claims" / "claims.csv")
    assert len(CLAIMS) == len(rows) > 0, "an id stands twice"
    assert {claim.source for claim in rows} == SOURCES
    assert all(claim.section and claim.kind and claim.statement for claim in rows)


def test_every_answer_names_a_claim_by_a_literal_id():
    unknown = [where(path, call) for path, call in CALLS
               if call.id not in CLAIMS and not call.is_own]  # fmt: skip
    assert not unknown, unknown


def test_every_claim_is_answered_in_one_lesson_only():
    lessons = defaultdict(set)
    for path, call in CALLS:
        lessons[call.id].add(path.name)
    assert not {id: sorted(names) for id, names in lessons.items() if len(names) > 1}


def test_no_answer_spells_its_value_out():
    """A reference quotes an outside fact; every other value is computed in the lesson."""
    literal = [where(path, call) for path, call in CALLS
               if call.function != "reference" and call.value_is_literal]  # fmt: skip
    assert not literal, literal


def test_every_print_is_quoted_as_printed():
    for path, call in CALLS:
        if call.printed is not None and call.id in CLAIMS:
            ledger.require_print(call.printed, CLAIMS[call.id])


def test_no_claim_is_left_unanswered():
    assert not sorted(set(CLAIMS) - answered())


@pytest.mark.parametrize(
    "source, literal",
    [
        ("check('a', 0.58)", True),
        ("check('a', -0.58)", True),
        ("check('a', [1, (2, -3)])", True),
        ("check('a', np.array([0.1, 0.2]))", True),
        ("check('a', float('0.58'))", True),
        ("check('a', True, shown={'n': 1})", True),
        ("check('a', 6 * 3)", True),
        ("check('a', 1 < 2, shown={})", True),
        ("check('a', value=0.58)", True),
        ("check('a')", True),
        ("x = 0.58\ncheck('a', x)", True),
        ("x = [1, 2]\ncheck('a', (x, 3))", True),
        ("quiz('a', 'How many?', 18)", True),
        ("quiz('a', 'Which?', answer='B', options=['A', 'B'])", True),
        ("check('a', h @ e)", False),
        ("x = 1\nx = f(x)\ncheck('a', x)", False),
        ("V = 6\nd = 3\ncheck('a', V * d)", False),
        ("E = np.array([1, 2])\ncheck('a', E[1])", False),
        ("E = np.array([1, 2])\ncheck('a', E.shape)", False),
        ("check('a', worked.dot([1], [2]))", False),
        ("check('a', float(x))", False),
        ("quiz('a', 'How many?', V * d)", False),
    ],
)
def test_literals_are_found(tmp_path, source, literal):
    path = tmp_path / "ch00_x.py"
    path.write_text(source, encoding="utf-8")
    (call,) = ledger.calls(path)
    assert call.value_is_literal is literal


def test_an_id_that_is_built_is_not_taken_for_a_literal(tmp_path):
    path = tmp_path / "ch00_x.py"
    path.write_text("for n in 'ab':\n    check(f'x-{n}', n)", encoding="utf-8")
    assert [call.id for call in ledger.calls(path)] == [None]
    assert not ledger.is_literal(ast.parse("table[row]", mode="eval").body)
