"""`scratch-embed lm`: below the bigram where there is more to know, resumed to the same bits."""

from __future__ import annotations

import json
import math
import os
import signal
import subprocess
import sys
import time
from types import SimpleNamespace

import numpy as np
import pytest

from scratch_embed import checkpoint
from scratch_embed.__main__ import main
from scratch_embed.learning import Learning
from scratch_embed.training import command, lm
from scratch_embed.training.run import CHECKPOINT
from scratch_embed.training.tokens import Tokens

# Each of a, b, c follows each once: one letter before tells nothing, two tell all.
CYCLE = "aabacbbcc"
SMALL = ["--rows", "256", "--dim", "32", "--heads", "2", "--blocks", "1", "--length", "6"]


@pytest.fixture
def text(tmp_path):
    path = tmp_path / "text.txt"
    path.write_text(CYCLE * 600, encoding="utf-8")
    return str(path)


def run(out, text, *more):
    return main(["lm", text, "--out", str(out), *SMALL, *more])


def weights(out):
    saved = checkpoint.load(out / "checkpoint.npz")
    return {name: array.tobytes() for name, array in saved["learning"]["model"].items()}


def test_two_tokens_know_more_than_one(tmp_path, text, capsys):
    assert run(tmp_path / "run", text, "--steps", "150", "--rate", "0.02", "--prompt", "aab") == 0
    found = json.loads((tmp_path / "run" / "results.json").read_text(encoding="utf-8"))
    losses = found["held_out_loss"]
    assert losses["unigram"] == pytest.approx(math.log(3), abs=0.1)
    assert losses["bigram, Kneser-Ney"] == pytest.approx(math.log(3), abs=0.01)
    assert losses["model"] < losses["bigram, Kneser-Ney"] - 0.3
    printed = capsys.readouterr().out
    assert "after 150 steps" in printed and "counting is ahead" not in printed
    assert (tmp_path / "run" / "results.png").stat().st_size > 5000


def test_a_run_that_is_too_short_says_so(tmp_path, text, capsys):
    assert run(tmp_path / "run", text, "--steps", "1") == 0
    assert "ahead still (unigram and bigram, Kneser-Ney)" in capsys.readouterr().out


def test_a_run_that_went_astray_is_not_told_to_take_more_steps(tmp_path, text, capsys):
    assert run(tmp_path / "run", text, "--steps", "20", "--rate", "100") == 0
    printed = capsys.readouterr().out
    assert "worse than before the first step" in printed and "take a smaller --rate" in printed
    assert "more steps" not in printed


@pytest.mark.parametrize(
    ("held_out", "last", "said"),
    [(2.0, 0.1, ""), (4.0, 3.0, "this takes more steps"), (6.0, 0.1, "more text, or fewer steps")],
)
def test_what_is_ahead_of_a_model_is_told_with_a_way_out(held_out, last, said, capsys):
    counted = SimpleNamespace(baselines={"unigram": 3.0})
    curve = [[0, 5.0], [60, held_out]]
    lm.print_if_behind(SimpleNamespace(tokens=counted, held_out=curve, losses=[5.0, last]))
    printed = capsys.readouterr().out
    assert said in printed and bool(said) == bool(printed)


def test_a_run_whose_loss_was_no_number_says_how_to_begin_anew(tmp_path, text, capsys):
    assert run(tmp_path / "run", text, "--steps", "20", "--rate", "1e30") == 1
    left = tmp_path / "run" / "checkpoint.npz"
    assert f"begin again with a smaller one. To begin anew there, remove {left}" in (
        capsys.readouterr().err
    )
    left.unlink()
    assert run(tmp_path / "run", text, "--steps", "2") == 0


@pytest.mark.parametrize(("model", "tables"), [("next-token", 1), ("next-token-untied", 2)])
def test_a_single_token_knows_no_more_than_the_bigram(tmp_path, text, model, tables):
    sizes = ["--rows", "256", "--dim", "32", "--length", "6"]
    options = ["--model", model, "--steps", "60", "--rate", "0.02"]
    assert main(["lm", text, "--out", str(tmp_path), *sizes, *options]) == 0
    found = json.loads((tmp_path / "results.json").read_text(encoding="utf-8"))
    assert found["parameters"] == tables * 256 * 32 + 32 * 32
    assert found["held_out_loss"]["model"] == pytest.approx(math.log(3), abs=0.1)


def test_a_run_that_ctrl_c_stopped_goes_on_to_the_same_bits(tmp_path, text, monkeypatch, capsys):
    options = ["--steps", "9", "--every", "4"]
    assert run(tmp_path / "whole", text, *options) == 0
    whole = Learning.take

    def interrupted(self):
        if self.step == 5:
            signal.raise_signal(signal.SIGINT)
        return whole(self)

    monkeypatch.setattr(Learning, "take", interrupted)
    assert run(tmp_path / "broken", text, *options) == 130
    assert "stopped after step 6, and saved" in capsys.readouterr().out
    monkeypatch.undo()
    assert weights(tmp_path / "broken") != weights(tmp_path / "whole")
    assert main(["lm", "--out", str(tmp_path / "broken"), "--resume"]) == 0
    assert weights(tmp_path / "broken") == weights(tmp_path / "whole")
    one, other = (
        json.loads((tmp_path / name / "results.json").read_text(encoding="utf-8"))
        for name in ("whole", "broken")
    )
    assert one["held_out_after_steps"] == other["held_out_after_steps"]
    assert one["sample"] == other["sample"]


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="Windows has no SIGKILL")
def test_a_run_that_was_killed_goes_on_from_its_last_checkpoint(tmp_path, text):
    options = ["--steps", "30", "--save-every", "1e-9"]
    assert run(tmp_path / "whole", text, *options) == 0
    broken = tmp_path / "broken"
    command = [sys.executable, "-m", "scratch_embed", "lm", text, "--out", str(broken)]
    child = subprocess.Popen([*command, *SMALL, *options], stderr=subprocess.DEVNULL)
    while not (broken / "checkpoint.npz").exists():
        assert child.poll() is None
        time.sleep(0.01)
    os.kill(child.pid, signal.SIGKILL)
    assert child.wait() == -signal.SIGKILL
    assert checkpoint.load(broken / "checkpoint.npz")["learning"]["step"] < 30
    assert main(["lm", "--out", str(broken), "--resume"]) == 0
    assert weights(broken) == weights(tmp_path / "whole")
    assert sorted(path.name for path in broken.iterdir()) == [
        "checkpoint.npz", "results.json", "results.png", "text.ids",
    ]  # fmt: skip


def test_a_finished_run_can_be_asked_once_more(tmp_path, text, capsys):
    assert run(tmp_path, text, "--steps", "2") == 0
    before = weights(tmp_path)
    assert main(["lm", "--out", str(tmp_path), "--resume", "--prompt", "cab"]) == 0
    assert "It goes on from 'cab'" in capsys.readouterr().out
    assert weights(tmp_path) == before


@pytest.mark.parametrize("part", ["merges", "checksum", "learning", "losses", "held_out"])
def test_a_checkpoint_without_a_part_is_told(tmp_path, text, part, capsys):
    assert run(tmp_path, text, "--steps", "1") == 0
    saved = checkpoint.load(tmp_path / CHECKPOINT)
    del saved[part]
    checkpoint.save(tmp_path / CHECKPOINT, **saved)
    assert main(["lm", "--out", str(tmp_path), "--resume"]) == 1
    assert f"is not as this command writes it (KeyError: '{part}')" in capsys.readouterr().err


def test_input_that_cannot_be_learned_from_is_told_in_a_sentence(tmp_path, text, capsys):
    (tmp_path / "short.txt").write_text("a few words", encoding="utf-8")
    assert run(tmp_path / "run", str(tmp_path / "short.txt")) == 1
    assert "the text of 11 tokens is too short" in capsys.readouterr().err
    assert run(tmp_path / "run", text, "--length", "9999") == 1
    assert "takes 20,000, with sequences of 9,999" in capsys.readouterr().err
    assert run(tmp_path / "run", text, "--heads", "3") == 1
    assert "3 heads cannot share evenly; give a multiple of 3" in capsys.readouterr().err
    assert run(tmp_path / "run", text, "--prompt", "\udcff") == 1
    assert "prompt holds half a surrogate pair" in capsys.readouterr().err
    assert run(tmp_path / "run", text, "--rate", "1e30", "--steps", "9") == 1
    assert "is too large, begin again with a smaller one" in capsys.readouterr().err


def test_a_text_that_comes_to_the_same_ids_is_another_text(tmp_path, capsys):
    path, line = tmp_path / "text.txt", "the cat sat on the mat and the dog lay on the log\n"
    few = "--rows", "1000", "--steps", "1"
    path.write_text(400 * line, encoding="utf-8")
    assert run(tmp_path / "run", str(path), *few) == 0
    before = weights(tmp_path / "run")
    path.write_text(400 * line.upper(), encoding="utf-8")
    assert run(tmp_path / "run", str(path), *few) == 1
    assert "holds a finished run of another text" in capsys.readouterr().err
    assert weights(tmp_path / "run") == before


def test_a_run_goes_on_with_the_text_that_it_read(tmp_path, text, capsys):
    assert run(tmp_path / "run", text, "--steps", "1") == 0
    os.unlink(text)
    assert main(["lm", "--out", str(tmp_path / "run"), "--resume"]) == 0
    (tmp_path / "run" / "text.ids").write_bytes(b"\0\0\0\0" * 5400)
    assert main(["lm", "--out", str(tmp_path / "run"), "--resume"]) == 1
    assert "is not the text of the checkpoint" in capsys.readouterr().err


def tokens(tmp_path, text, *more) -> Tokens:
    run = command.parse(lm.made(), [str(text), "--out", str(tmp_path / "run"), *SMALL, *more])
    return Tokens(run, np.random.default_rng(0))


def test_the_held_out_text_is_not_learned(tmp_path):
    characters = np.random.default_rng(0).integers(0x4E00, 0x9FFF, size=30_000)
    unlike = "".join(map(chr, characters))  # hardly a character comes twice near its neighbour
    (tmp_path / "unlike.txt").write_text(unlike, encoding="utf-8")
    found = tokens(tmp_path, tmp_path / "unlike.txt")
    ids = found.ids[0 : len(found.ids)]
    rows = np.lib.stride_tricks.sliding_window_view(ids, 7)
    place = {row.tobytes(): start for start, row in enumerate(rows)}

    def places(sequences) -> set[int]:
        return {place[row.tobytes()] + k for row in sequences for k in range(7)}

    learned, held = places(found.sequences(4000, np.random.default_rng(1))), places(found.windows)
    assert not learned & held and len(learned) > 0.2 * len(ids)
    assert len(held) == 7 * 512
    assert {at // found.stretch for at in learned} == set((found.known // found.stretch).tolist())


def test_all_letters_or_the_first(tmp_path, text):
    assert len(tokens(tmp_path, text).ids) == 5400
    assert len(tokens(tmp_path, text, "--most-read", "4000").ids) == 4000


def test_a_text_that_is_too_short_leaves_no_run_behind(tmp_path, capsys):
    path, out = tmp_path / "short.txt", tmp_path / "out"
    path.write_text("one two three four five six seven " * 3, encoding="utf-8")
    asked = ["lm", str(path), "--out", str(out), "--resume", "--steps", "1", "--dim", "4"]
    asked += ["--rows", "256", "--heads", "1"]
    assert main(asked) == 1 and "is too short" in capsys.readouterr().err
    assert not (out / "text.ids").exists() and not (out / "text.ids.begun").exists()
    assert main([*asked, "--length", "4"]) == 0
