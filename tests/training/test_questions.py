"""A file of analogies: by section, with the inputs left out and allowed, beside no arithmetic."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from scratch_embed import geometry
from scratch_embed.text.vectors_files import save
from scratch_embed.training import neighbours, questions

TEXT = """\
// the file that everybody uses begins with a line like this one
: capitals of the world
athens greece oslo norway

Athens Greece Rome italy
: plurals
cat cats dog dogs
cat cats unicorn unicorns
"""


def test_the_file_is_read_by_its_sections(tmp_path):
    path = tmp_path / "q.txt"
    path.write_text(TEXT, encoding="utf-8")
    found = questions.read_questions(path)
    assert [each.section for each in found] == 2 * ["capitals of the world"] + 2 * ["plurals"]
    assert found[1].words == ("Athens", "Greece", "Rome", "italy")


@pytest.mark.parametrize("seed", range(3))
def test_answers_are_those_of_geometry(seed, monkeypatch):
    monkeypatch.setattr(questions, "AT_ONCE", 100)  # some questions at a time
    rng = np.random.default_rng(seed)
    unit = geometry.unit_rows(rng.standard_normal((30, 3)))
    rows = np.array([rng.permutation(30)[:4] for _ in range(40)])
    right = questions.answered_rightly(rows, unit)
    for k, (a, b, c, d) in enumerate(rows.tolist()):
        for way, exclude in (("left out", True), ("allowed", False)):
            best = geometry.analogy(unit, b, a, c, 1, exclude=exclude).rows[0]
            assert right[way][k] == (best == d)
        for way, beside in (("near B", b), ("near C", c)):
            order = [
                row for row in geometry.neighbours(unit, beside, 29).rows if row not in (a, b, c)
            ]
            assert right[way][k] == (order[0] == d)
    assert any(right[way].any() for way in questions.WAYS)


def test_where_nothing_tells_words_apart_the_first_does_not_win():
    unit = geometry.unit_rows(np.ones((5, 3)))
    right = questions.answered_rightly(np.array([[1, 2, 3, 0], [0, 1, 2, 3]]), unit)
    for way, share in (("left out", 1 / 2), ("allowed", 1 / 5), ("near B", 1 / 2)):
        assert right[way].tolist() == [share, share]


def test_the_command_tells_shares_beside_what_needs_no_arithmetic(tmp_path, monkeypatch, capsys):
    """Countries lie far from their capitals; dogs lies beside dog, so that C is enough there."""
    monkeypatch.chdir(tmp_path)
    own, (city, country, animal) = np.eye(8)[:5], np.eye(8)[5:]
    places = {"athens": own[0] + 2 * city, "greece": own[0] + 2 * country}
    places |= {"oslo": own[1] + 2 * city, "norway": own[1] + 2 * country}
    places |= {"rome": own[2] + 2 * city, "italy": own[2] + 2 * country}
    places |= {"cat": own[3] + animal, "cats": own[3] + 1.1 * animal}
    places |= {"dog": own[4] + animal, "dogs": own[4] + 1.1 * animal}
    save("v.npz", list(places), np.array(list(places.values()), np.float32))
    Path("q.txt").write_text(TEXT, encoding="utf-8")
    assert neighbours.main(["v.npz", "--analogies", "q.txt", "--out", "out"]) == 0
    found = json.loads(Path("out/results.json").read_text())["questions"]
    assert found["questions"] == 4 and found["by chance"] == 1 / 7
    capitals, plurals = found["sections"]["capitals of the world"], found["sections"]["plurals"]
    assert (capitals["asked"], plurals["asked"]) == (2, 1)
    assert (capitals["left out"], capitals["near C"]) == (1, 0)
    assert (plurals["left out"], plurals["near C"]) == (1, 1)
    total = found["all"]
    assert total["asked"] == 3 and total["left out"] == 1 and total["near C"] == 1 / 3
    said = capsys.readouterr().out
    assert "3 of the 4 analogies in q.txt have vectors" in said
    assert max(map(len, said.splitlines())) <= 80


def test_a_section_may_have_any_name(tmp_path):
    asked = [questions.Question(name, ("a", "b", "c", "d")) for name in ("all", "\x1b[2J", "all")]
    found = questions.accuracy(asked, "abcd".find, np.eye(4))
    assert [found["sections"]["all"]["asked"], found["all"]["asked"]] == [2, 3]
    assert "\x1b" not in questions.told(found, tmp_path)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (": s\na b c d\na b c\n", "line 3: 'a b c' has 3 words; a question has four"),
        (": s\n", "holds no question"),
        ("x y z w\n", "none of the 1 questions has vectors"),
    ],
)
def test_what_cannot_be_asked_is_a_sentence(tmp_path, monkeypatch, capsys, text, said):
    monkeypatch.chdir(tmp_path)
    save("v.npz", list("abcd"), np.eye(4, dtype=np.float32))
    Path("q.txt").write_text(text, encoding="utf-8")
    assert neighbours.main(["v.npz", "--analogies", "q.txt"]) == 1
    assert said in capsys.readouterr().err


@pytest.mark.parametrize("rows", [997, 1003])
def test_words_of_one_vector_tie_wherever_they_stand(rows):
    """A product of matrices rounds the last of its rows differently."""
    rng = np.random.default_rng(0)
    table = rng.standard_normal((rows, 50)).astype(np.float32)
    table[7] = table[1] + table[2] - table[0] + 0.1 * table[7]
    table[-1] = table[7]
    for many in (1, 2, 3):
        asked = np.array([[0, 1, 2, 7]] * many)
        right = questions.answered_rightly(asked, geometry.unit_rows(table))
        assert right["left out"].tolist() == [0.5] * many


def test_where_every_word_is_asked_with_none_is_left_to_answer():
    unit = geometry.unit_rows(np.random.default_rng(0).standard_normal((3, 4)))
    asked = [questions.Question("", ("a", "b", "c", "b"))]
    found = questions.accuracy(asked, {"a": 0, "b": 1, "c": 2}.get, unit)
    assert [found["all"][way] for way in ("left out", "near B", "near C")] == [0, 0, 0]
    assert found["by chance"] == 0
