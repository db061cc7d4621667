"""The command that asks vectors: neighbours, analogies in both ways, agreement with people."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from scratch_embed import geometry
from scratch_embed.text.vectors_files import save
from scratch_embed.training import neighbours
from scratch_embed.training.neighbours import Pair, read_pairs

# Two axes: kind of animal, and age. So puppy - dog + cat is nearly kitten, and nearer still to cat.
ANIMALS = {
    "dog": [1, 0.05, 0], "cat": [0, 1, 0], "puppy": [1, 0, 0.4], "kitten": [0, 1, 0.5],
    "stone": [-1, -1, 0],
}  # fmt: skip


@pytest.fixture(autouse=True)
def vectors(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    save("animals.npz", list(ANIMALS), np.array(list(ANIMALS.values()), np.float32))


def results() -> dict:
    return json.loads(Path("build/neighbours/results.json").read_text(encoding="utf-8"))


def test_neighbours_are_told_kept_and_drawn(capsys):
    assert neighbours.main(["animals.npz", "dog", "CAT", "--nearest", "2"]) == 0
    out = capsys.readouterr().out
    assert "5 words, 3 numbers each: animals.npz" in out
    assert "nearest to dog, by cosine:\n    0.927  puppy\n    0.050  cat\n" in out
    assert [word for word, _ in results()["nearest"]["cat"]] == ["kitten", "dog"]
    assert "nearest to cat (for CAT), by cosine:" in out
    table = np.array(list(ANIMALS.values()))
    cosine = results()["nearest"]["dog"][0][1]
    assert cosine == pytest.approx(geometry.cosine(table[0], table[2]), abs=1e-7)  # of float32
    assert Path("build/neighbours/results.png").stat().st_size > 10_000


def test_words_may_stand_on_both_sides_of_an_option(capsys):
    assert neighbours.main(["animals.npz", "dog", "--nearest", "2", "cat"]) == 0
    assert list(results()["nearest"]) == ["dog", "cat"]
    assert neighbours.main(["--nearest", "2", "animals.npz", "cat"]) == 0
    assert list(results()["nearest"]) == ["cat"]
    assert neighbours.main(["--limit", "4", "--", "animals.npz", "dog"]) == 0
    assert "4 words, the first (--limit), 3 numbers each" in capsys.readouterr().out
    assert list(results()["nearest"]) == ["dog"]


def test_of_many_neighbours_a_picture_shows_the_nearest():
    rng = np.random.default_rng(0)
    table = neighbours.Table(tuple(f"word{i}" for i in range(99)), rng.normal(size=(99, 4)))
    nearest = {word: table.nearest(word, 90) for word in table.words[:2]}
    drawn = {text.get_text() for text in neighbours.around(table, nearest).axes[0].texts}
    shown = {near for found in nearest.values() for near, _ in found[: neighbours.AROUND]}
    assert drawn == {"word0", "word1"} | shown


def test_a_row_of_zeros_has_no_neighbours(capsys):
    save("padded.npz", ["<pad>", *ANIMALS], np.array([[0, 0, 0], *ANIMALS.values()], np.float32))
    for asked in (["<pad>"], ["--analogy", "dog", "puppy", "<pad>"]):
        assert neighbours.main(["padded.npz", *asked]) == 1
        assert "the vector of '<pad>' is all zeros: no direction" in capsys.readouterr().err
    assert neighbours.main(["padded.npz"]) == 0  # some rows, but not this one
    assert "<pad>" not in results()["nearest"]
    pairs = "dog puppy 9\ncat kitten 9\ndog cat 5\ndog stone 0\ndog <pad> 7\n"
    Path("people.txt").write_text(pairs, encoding="utf-8")
    assert neighbours.main(["padded.npz", "--similarity", "people.txt"]) == 0
    assert results()["similarity"]["used"] == 4
    assert not Path("build/neighbours/results.png").exists()  # which showed those of before


def test_analogies_with_the_inputs_left_out_and_allowed(capsys):
    assert neighbours.main(["animals.npz", "--analogy", "dog", "puppy", "cat"]) == 0
    found = results()["analogies"][0]
    assert found["left out"][0][0] == "kitten" and len(found["left out"]) == 2
    rows = [list(ANIMALS).index(word) for word in ("puppy", "dog", "cat")]
    unit = geometry.unit_rows(np.array(list(ANIMALS.values())))
    best = geometry.analogy(unit, *rows, 1, exclude=False).rows[0]
    assert found["allowed"][0][0] == list(ANIMALS)[best]
    out = capsys.readouterr().out
    assert "dog is to puppy as cat is to:\n  the three words left out\n" in out
    assert "  the three words allowed\n" in out


@pytest.mark.filterwarnings("ignore:.*titles of the columns")
def test_agreement_with_people_stands_beside_chance(capsys):
    Path("people.csv").write_text(
        "word1,word2,score\n# of five people\ndog,puppy,9\nCat,kitten,9.5\ndog,cat,5\ndog,stone,0\n"
        "kitten,stone,1\ndog,unicorn,3\n",
        encoding="utf-8",
    )
    assert neighbours.main(["animals.npz", "--similarity", "people.csv"]) == 0
    found = results()["similarity"]
    assert (found["pairs"], found["used"]) == (6, 5)
    pairs = [pair for pair in read_pairs(Path("people.csv")) if pair.b != "unicorn"]
    cosines = [geometry.cosine(ANIMALS[a.lower()], ANIMALS[b]) for a, b, _ in pairs]
    expected = geometry.rank_correlation(cosines, [pair.score for pair in pairs])
    assert found["rank correlation"] == pytest.approx(expected)
    low, high = found["by chance, 95 %"]
    assert -1 <= low < 0 < high <= 1 and found["shuffles at least as high"] < 100
    assert "5 of the 6 pairs in people.csv have vectors" in capsys.readouterr().out


@pytest.mark.parametrize("separator", ["\t", ",", ";", " "])
def test_pairs_between_any_separator(separator):
    Path("p.txt").write_text(separator.join(["a", "b", "1.5"]) + "\n", encoding="utf-8")
    assert read_pairs(Path("p.txt")) == [Pair("a", "b", 1.5)]


def test_pairs_with_quotes_and_with_decimal_commas():
    Path("p.csv").write_text('"a","b, c",1.5\n', encoding="utf-8")
    assert read_pairs(Path("p.csv")) == [Pair("a", "b, c", 1.5)]
    Path("p.csv").write_text("a;b;1.5\na,b,3,25\n", encoding="utf-8")
    with pytest.raises(ValueError, match="line 2: 'a,b,3,25' has commas between the fields, and"):
        read_pairs(Path("p.csv"))


def test_pairs_of_simlex_as_it_is_downloaded():
    head = "word1\tword2\tPOS\tSimLex999\tconc(w1)\n"
    Path("SimLex-999.txt").write_text(f"{head}old\tnew\tA\t1.58\t2.72\nV\tA\tN\t3\t4\n")
    with pytest.warns(UserWarning, match=r"line 1: 'word1\\tword2.*is taken for titles of the col"):
        pairs = read_pairs(Path("SimLex-999.txt"))
    assert pairs == [Pair("old", "new", 1.58), Pair("V", "A", 3.0)]


@pytest.mark.parametrize("score", ["1_0", "٣", "nan", "inf", "0x1", "ten", ""])
def test_a_score_that_is_no_decimal_number_is_told_with_its_line(score):
    Path("p.txt").write_text(f"a,b,1\nc,d,{score}\n", encoding="utf-8")
    with pytest.raises(ValueError, match="p.txt, line 2: .* is not two words and a number"):
        read_pairs(Path("p.txt"))


def test_without_words_some_of_the_file_are_shown(capsys):
    assert neighbours.main(["animals.npz"]) == 0
    assert "nearest to stone" in capsys.readouterr().out


def test_vectors_of_one_number_have_neighbours_and_no_picture(capsys):
    Path("line.txt").write_text("a 1\nb 2\nc -3\n", encoding="utf-8")
    assert neighbours.main(["line.txt", "a"]) == 0
    assert (
        "1.000  b" in capsys.readouterr().out and not Path("build/neighbours/results.png").exists()
    )


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        ([], "There is no build/word2vec/vectors.npz yet: `scratch-embed word2vec` makes it"),
        (
            ["animals.npz", "pupy"],
            "no vector among the 5 words that were read. Near it in letters: puppy",
        ),
        (["animals.npz", "--similarity", "bad.tsv"], "bad.tsv, line 2: 'dog' is not two words"),
        (["animals.npz", "--similarity", "few.tsv"], "has 1 pairs, and 1 of them have vectors"),
        (["model.kv"], "is a pickle"),
        (["glove.6B.zip"], "glove.6B.zip is packed; unpack it first"),
        (["animals.npz", "--similarity", "equal.tsv"], "scores of all 3 pairs in equal.tsv are eq"),
        (["three.txt", "--analogy", "a", "b", "c"], "of 3 words, none is left to answer"),
        (["one.txt"], "one.txt holds one word, 'a', and no neighbour"),
        (["animals.npz", "--limit", "1"], "--limit 1 of animals.npz holds one word"),
    ],
)
def test_what_cannot_be_answered_is_a_sentence(capsys, argv, said):
    Path("bad.tsv").write_text("dog\tcat\t1\ndog\n", encoding="utf-8")
    Path("few.tsv").write_text("dog\tcat\t1\n", encoding="utf-8")
    equal = "dog\tcat\t1\ndog\tpuppy\t1\nkitten\tcat\t1\n"
    Path("equal.tsv").write_text(equal, encoding="utf-8")
    Path("three.txt").write_text("a 1 2\nb 2 1\nc 1 1\n", encoding="utf-8")
    Path("one.txt").write_text("a 1 2\n", encoding="utf-8")
    assert neighbours.main(argv) == 1
    err = capsys.readouterr().err
    assert said in err and "Traceback" not in err


def test_words_beside_themselves_are_equally_similar():
    """Their cosines are 1 up to rounding, which is no order."""
    words = [f"w{k}" for k in range(40)]
    vectors = np.random.default_rng(0).standard_normal((40, 50)).astype(np.float32)
    save("many.npz", words, vectors)
    lines = [f"{word}\t{word}\t{k % 7}" for k, word in enumerate(words)]
    lines += [f"{a}\t{b}\t{k % 5}" for k, (a, b) in enumerate(pairwise(words))]
    Path("people.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    assert neighbours.main(["many.npz", "--similarity", "people.tsv"]) == 0
    pairs = read_pairs(Path("people.tsv"))
    table = dict(zip(words, vectors.astype(float)))
    cosines = [1.0 if a == b else geometry.cosine(table[a], table[b]) for a, b, _ in pairs]
    expected = geometry.rank_correlation(cosines, [pair.score for pair in pairs])
    assert results()["similarity"]["rank correlation"] == pytest.approx(expected, abs=1e-12)
