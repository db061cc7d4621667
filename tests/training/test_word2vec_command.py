"""The command from a text to vectors: stopped, killed, resumed, and what it refuses."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import Mock

import numpy as np
import pytest

from scratch_embed import checkpoint
from scratch_embed.__main__ import main
from scratch_embed.text import counting, held_out, toy
from scratch_embed.text.vectors_files import load
from scratch_embed.text.word2vec_run import Training
from scratch_embed.training import word2vec

ROOT = Path(__file__).resolve().parents[2]
SMALL = ["--dim", "6", "--epochs", "3", "--min-count", "2", "--window", "2", "--save-every", "1e-9"]


def write_text(folder: Path) -> Path:
    """Fifty made-up words of four classes: 40,000 words, so that an epoch takes a few blocks."""
    tokens = toy.zipf_classes(40_000, 50, 4).tokens
    path = folder / "text.txt"
    path.write_text(" ".join(f"w{chr(97 + t // 26)}{chr(97 + t % 26)}" for t in tokens.tolist()))
    return path


@pytest.fixture
def text(tmp_path) -> Path:
    return write_text(tmp_path)


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> bytes:
    """The vectors of a run that nothing stopped. Every test has the same text."""
    folder = tmp_path_factory.mktemp("whole")
    assert command(write_text(folder), folder / "out") == 0
    return (folder / "out" / "vectors.npz").read_bytes()


def command(text, out, *more) -> int:
    return word2vec.main([str(text), *SMALL, "--subsample-at", "0", "--out", str(out), *more])


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_vectors_picture_and_results_are_written(text, tmp_path, capsys):
    assert command(text, tmp_path / "a", "--formats", "npz", "bin", "--formats", "tsv") == 0
    out = capsys.readouterr().out
    assert "40,000 words read, 50 different ones get a vector." in out
    assert names(tmp_path / "a") == [
        "checkpoint.npz", "results.json", "results.png", "text.ids", "vectors.bin", "vectors.npz",
        "vectors.tsv", "vectors_words.tsv",
    ]  # fmt: skip
    found, same = (load(tmp_path / "a" / f"vectors.{ending}") for ending in ("npz", "bin"))
    assert found.words == same.words and np.array_equal(found.vectors, same.vectors)
    results = json.loads((tmp_path / "a" / "results.json").read_text())
    losses = results["held_out_loss"]
    assert results["held_out_after_words"][-1] == [120_000, losses["vectors"]]
    assert losses["vectors"] < losses["frequency alone"] < losses["untrained"]
    assert results["options"]["epochs"] == 3 and results["vocabulary"] == 50
    assert f"{losses['vectors']:.4f}  vectors" in out
    said = [line for line in out.splitlines() if str(tmp_path) not in line]
    assert max(map(len, said)) <= 80


def test_vectors_that_are_worse_than_none_are_told(text, tmp_path, capsys, monkeypatch):
    assert command(text, tmp_path / "a") == 0
    assert "Worse" not in capsys.readouterr().out
    monkeypatch.setattr(held_out, "math", SimpleNamespace(log=lambda _: 0.01))
    assert command(text, tmp_path / "b") == 0
    assert "Worse than before the first word: take a smaller --lr" in capsys.readouterr().out


def test_the_same_options_give_the_same_bytes_and_another_seed_does_not(text, tmp_path):
    for out, seed in (("a", "1"), ("b", "1"), ("c", "2")):
        assert command(text, tmp_path / out, "--seed", seed, "--formats", "bin") == 0
    a, b, c = ((tmp_path / out / "vectors.bin").read_bytes() for out in "abc")
    assert a == b != c


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_stopped_by_a_signal_it_saves_and_goes_on_to_the_same_bits(
    text, whole, tmp_path, monkeypatch, capsys, number, ctrl_c_is_heard
):
    advance, calls = Training.advance, []

    def stopped_at_the_fifth(self):
        advance(self)
        calls.append(self.share)
        if len(calls) == 5:
            signal.raise_signal(number)

    monkeypatch.setattr(Training, "advance", stopped_at_the_fifth)
    assert command(text, tmp_path / "parts", "--save-every", "1000") == 130
    assert len(calls) == 5
    said = capsys.readouterr().out
    assert f"stopped at {calls[-1]:.0%}, and saved." in said
    assert f"--out {tmp_path / 'parts'} --save-every 1000.0 --resume" in said
    assert names(tmp_path / "parts") == ["checkpoint.npz", "text.ids"]
    text.unlink()  # the ids are kept, so the text is not read again
    assert word2vec.main(["--resume", "--out", str(tmp_path / "parts")]) == 0
    assert (tmp_path / "parts" / "vectors.npz").read_bytes() == whole


KILLED = """
import os, sys
from scratch_embed.training import word2vec
replace, calls = os.replace, []
def killed(*paths):
    calls.append(paths)
    if len(calls) == int(sys.argv[1]) + 1:
        os.kill(os.getpid(), 9) if hasattr(os, "fork") else os._exit(9)
    replace(*paths)
os.replace = killed
sys.exit(word2vec.main(sys.argv[2:]))
"""


@pytest.mark.parametrize("writes", [0, 1, 2, 7])
def test_killed_while_it_writes_it_goes_on_to_the_same_bits(text, whole, tmp_path, writes):
    """After so many files were written, with the next one complete but without its name: the ids as
    new ones, as those of the run, the first checkpoint. The same command line goes on."""
    argv = [str(text), *SMALL, "--subsample-at", "0", "--out", str(tmp_path / "parts"), "--resume"]
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    killed = subprocess.run(
        [sys.executable, "-c", KILLED, str(writes), *argv], check=False, env=env,
        capture_output=True,
    )  # fmt: skip
    assert killed.returncode in (-9, 9), killed.stderr.decode()
    assert word2vec.main(argv) == 0
    assert (tmp_path / "parts" / "vectors.npz").read_bytes() == whole
    assert [path for path in (tmp_path / "parts").iterdir() if path.name.startswith(".")] == []


def test_a_run_that_is_through_is_asked_once_more(text, whole, tmp_path, capsys):
    out = tmp_path / "a"
    assert command(text, out, "--resume") == 0
    assert "Nothing is saved" in capsys.readouterr().out
    (out / "vectors.npz").unlink()
    assert word2vec.main(["--out", str(out), "--resume", "--formats", "npz", "txt"]) == 0
    assert (out / "vectors.npz").read_bytes() == whole
    assert load(out / "vectors.txt").words == load(out / "vectors.npz").words
    (out / "vectors.npz").unlink()
    assert command("missing.txt", out) == 1  # what was saved stays
    assert word2vec.main(["--out", str(out), "--resume"]) == 0
    assert (out / "vectors.npz").read_bytes() == whole
    with pytest.raises(SystemExit):
        command(text, out, "--resume", "--seed", "5")
    assert "seed is 5, but the run in" in capsys.readouterr().err
    (out / "text.ids").write_bytes(b"\0\0\0\0" * 9)
    assert command(text, out, "--resume") == 1
    assert "is not the text of the checkpoint" in capsys.readouterr().err


def test_vectors_among_the_texts_are_no_text_and_no_text_is_overwritten(text, tmp_path, capsys):
    for _ in range(2):
        assert command(tmp_path, tmp_path, "--formats", "txt") == 0
        assert "40,000 words read" in capsys.readouterr().out
    assert command(tmp_path, tmp_path / "other", "--formats", "txt") == 0  # of another run as well
    out = capsys.readouterr().out
    assert "40,000 words read" in out and f"are no text: {tmp_path / 'vectors.txt'}" in out
    (tmp_path / "checkpoint.npz").unlink()  # a finished run would be left alone anyway
    assert command(tmp_path / "vectors.txt", tmp_path, "--formats", "txt") == 1
    assert "is to be read and to be written" in capsys.readouterr().err
    for name, option in (("vectors_words.tsv", "--formats=tsv"), ("pieces.bpe", "--cut=pieces")):
        mine = (tmp_path / name).write_bytes(text.read_bytes()) and tmp_path / name
        assert command(mine, tmp_path, option) == 1
        assert f"{name} is to be read and to be written" in capsys.readouterr().err
        assert mine.read_bytes() == text.read_bytes()


def test_a_finished_run_of_another_text_under_the_same_name_is_not_written_over(tmp_path, capsys):
    text, out = tmp_path / "a.txt", tmp_path / "run"
    quick = ("--epochs", "1", "--dim", "3")
    text.write_text("the cat sat on the mat " * 300, encoding="utf-8")
    for _ in range(2):  # the same text may come again
        assert command(text, out, *quick) == 0
    before = {path.name: path.read_bytes() for path in out.iterdir()}
    for words in ("a dog lay on the bed and slept ", "the dog sat on the mat "):  # as often, too
        text.write_text(words * 300, encoding="utf-8")
        capsys.readouterr()
        assert command(text, out, *quick) == 1
        assert "holds a finished run of another text" in capsys.readouterr().err
        assert {path.name: path.read_bytes() for path in out.iterdir()} == before
    (out / "checkpoint.npz").unlink()  # as the error says
    assert command(text, out, *quick) == 0


def test_somebodys_own_file_in_the_folder_of_a_run_is_not_written_over(text, tmp_path, capsys):
    out, own = tmp_path / "run", tmp_path / "run" / "vectors.txt"
    assert command(text, out, "--formats", "npz", "tsv") == 0
    assert str(out / "vectors_words.tsv") in capsys.readouterr().out
    own.write_text("my own selection", encoding="utf-8")
    assert command(text, out, "--formats", "txt") == 1
    assert "vectors.txt was written by nobody who says so" in capsys.readouterr().err
    assert own.read_text(encoding="utf-8") == "my own selection"
    own.unlink()
    for formats in ("txt", "tsv", "txt"):  # what a run wrote, a later one may write again
        assert command(text, out, "--formats", formats) == 0


def test_somebodys_own_vectors_txt_is_a_text_as_any_other(tmp_path, capsys):
    """Where no run of ours has begun, it is none of ours that could have written it."""
    (tmp_path / "a.txt").write_text("the cat sat on the mat " * 300, encoding="utf-8")
    (tmp_path / "vectors.txt").write_text("zebra arrow angle " * 200, encoding="utf-8")
    quick = ("--epochs", "1", "--dim", "3")
    for _ in range(2):  # the second run finds what the first has left, and it wrote no vectors.txt
        assert command(tmp_path, tmp_path / "run", *quick) == 0
        assert "2,400 words read" in capsys.readouterr().out
    assert command(tmp_path, tmp_path, *quick) == 0
    assert "2,400 words read" in capsys.readouterr().out


def test_names_that_are_empty_and_numbers_that_no_machine_has_room_for_are_told(capsys):
    for words, said in (
        (["word2vec", ""], "'' names no file"),
        (["lm", ""], "'' names no file"),
        (["word2vec", "--workers", "1025"], "'1025' is not a whole number, 1 to 1024"),
        (["patches", "--copies", "1001"], "'1001' is not a whole number, 1 to 1000"),
        (["lm", "--blocks", "1001"], "'1001' is not a whole number, 1 to 1000"),
        (["recommender", "--clicks", "10001"], "'10001' is not a whole number, 1 to 10000"),
    ):
        with pytest.raises(SystemExit):
            main(words)
        assert said in capsys.readouterr().err


def test_quick_and_pieces_and_spaces(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("t.txt").write_text("The cat's on a-mat; the dog sat. " * 300, encoding="utf-8")
    Path("pieces").mkdir()
    Path("pieces/vectors.csv").write_text("somebody's own")
    common = ["t.txt", "--quick", "--dim", "4"]
    assert word2vec.main([*common, "--cut", "spaces", "--out", "spaces"]) == 0
    assert set(load("spaces/vectors.npz").words) == {
        "The", "cat's", "on", "a-mat;", "the", "dog", "sat.",
    }  # fmt: skip
    assert word2vec.main([*common, "--cut", "pieces", "--pieces", "9", "--out", "pieces"]) == 0
    assert "pieces.bpe" in names(Path("pieces"))
    assert "Of an earlier run" not in capsys.readouterr().out
    before = Path("pieces/pieces.bpe").read_bytes()
    Path("other.txt").write_text("a b\n" * 9, encoding="utf-8")
    other = ["other.txt", "--cut", "pieces", "--min-count", "99", "--out", "pieces"]
    assert word2vec.main(other) == 1 and Path("pieces/pieces.bpe").read_bytes() == before
    assert "Of an earlier run: pieces/pieces.bpe, pieces/vectors.npz." in capsys.readouterr().out
    assert json.loads(Path("pieces/results.json").read_text())["options"]["most_read"] == 100_000
    assert word2vec.main([*common, "--loss", "softmax", "--model", "cbow"]) == 0
    assert "vectors.npz" in names(Path("build/word2vec"))


@pytest.mark.parametrize(
    ("argv", "code", "said"),
    [
        (["missing.txt"], 1, "There is no file missing.txt"),
        (["empty.txt"], 1, "empty.txt is empty"),
        (["latin.txt"], 1, "latin.txt is not UTF-8: byte 0xef at offset 2 (line 1)"),
        (["few.txt"], 1, "came 5 times: give more text, or a smaller --min-count"),
        (["few.txt", "--cut", "spaces"], 1, "give more text, or a smaller --min-count\n"),
        (["few.txt", "--min-count", "1", "--most-read", "1"], 1, "give a larger --most-read,"),
        (["few.txt", "--min-count", "1"], 1, "2 words with a vector are too few"),
        (["one.txt", "--min-count", "1"], 1,
         "only 'hello' is a word of up to 100 characters: give more text, or cut it at spaces"),
        (["few.txt", "--dim", "0"], 2, "argument --dim: '0' is not a whole number, 1 to 1000000"),
        (["few.txt", "--max-words", "1"], 2, "--max-words: '1' is not a whole number, 2 or more"),
        (["few.txt", "--loss", "softmax", "--workers", "2"], 2, "--workers means nothing without"),
        (["few.txt", "--pieces", "33"], 2, "--pieces means nothing without --cut pieces"),
        (["--seed"], 2, "argument --seed: expected one argument"),
        (["--model", "glove"], 2, "argument --model: invalid choice: 'glove'"),
    ],
)
def test_what_cannot_be_done_is_a_sentence(tmp_path, monkeypatch, capsys, argv, code, said):
    monkeypatch.chdir(tmp_path)
    Path("empty.txt").touch()
    Path("latin.txt").write_bytes(b"na\xefve")
    Path("few.txt").write_text("a b", encoding="utf-8")
    Path("one.txt").write_text("hello " + 101 * "x", encoding="utf-8")
    try:
        assert word2vec.main(argv) == code
    except SystemExit as left:
        assert left.code == code
    err = capsys.readouterr().err
    assert said in err and "Traceback" not in err


def test_help_names_the_unit_of_every_option(capsys):
    with pytest.raises(SystemExit) as left:
        word2vec.main(["--help"])
    out = " ".join(capsys.readouterr().out.split())
    assert left.value.code == 0
    for words in ("--dim NUMBERS", "--save-every SECONDS", "--min-count TIMES", "default 0.05"):
        assert words in out


@pytest.mark.parametrize(
    ("place", "wrong"),
    [
        ("words", [1.5] * 50),
        ("seconds", None),
        ("training", {"curve": [[1]]}),
        ("training", {"curve": []}),
        ("training", {"curve": [["x", 1.0]]}),
        ("training", {"rng": {"bit_generator": "PCG64", "state": {"state": -1, "inc": -1},
                              "has_uint32": 0, "uinteger": 0}}),
    ],
)  # fmt: skip
def test_a_checkpoint_of_other_types_is_a_sentence(place, wrong, text, tmp_path, capsys):
    out = tmp_path / "out"
    assert command(text, out) == 0
    saved = checkpoint.load(out / "checkpoint.npz")
    saved[place] = saved[place] | wrong if isinstance(wrong, dict) else wrong
    checkpoint.save(out / "checkpoint.npz", **saved)
    assert word2vec.main(["--out", str(out), "--resume"]) == 1
    assert "checkpoint.npz is not as this command writes it" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["vectors.txt", "vectors_words.tsv", "pieces.bpe"])
def test_a_file_of_somebody_else_is_not_written_over(name, text, tmp_path, capsys):
    out = tmp_path / "mine"
    out.mkdir()
    (out / name).write_text("years of work")
    more = ("--formats", "txt", "tsv", "--cut", "pieces", "--pieces", "300")
    assert command(text, out, *more) == 1
    assert f"{name} was written by nobody who says so" in capsys.readouterr().err
    assert names(out) == [name] and (out / name).read_text() == "years of work"


def test_resume_does_not_tell_of_the_run_before_one_that_was_stopped_while_it_read(
    text, tmp_path, monkeypatch, capsys
):
    out, other = tmp_path / "out", tmp_path / "other.txt"
    assert command(text, out, "--quick") == 0
    other.write_text("red green blue " * 4000, encoding="utf-8")
    with monkeypatch.context() as patched:
        patched.setattr(counting, "count", Mock(side_effect=KeyboardInterrupt))
        assert command(other, out) == 130
    capsys.readouterr()
    assert command(other, out, "--resume") == 0
    said = capsys.readouterr().out
    assert "had only begun to read its text" in said and "12,000 words read" in said
    assert set(load(out / "vectors.npz").words) == {"red", "green", "blue"}


def test_a_run_that_fails_before_it_saves_leaves_nothing_to_go_on_with(tmp_path, capsys):
    path, out = tmp_path / "few.txt", tmp_path / "out"
    path.write_text("a b c d e f " * 40, encoding="utf-8")
    asked = ["word2vec", str(path), "--out", str(out), "--dim", "2", "--resume"]
    assert main([*asked, "--max-words", "2"]) == 1
    assert "no two words of the held-out text" in capsys.readouterr().err
    assert not out.exists()
    assert main([*asked, "--formats", "txt", "txt"]) == 0
    assert capsys.readouterr().out.count("vectors.txt") == 1
