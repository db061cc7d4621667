"""`scratch-embed lm`: below the bigram where there is more to know, resumed to the same bits."""

from __future__ import annotations

import json
import math
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from scratch_embed import checkpoint
from scratch_embed.__main__ import main
from scratch_embed.training import lm

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
    return {name: array.tobytes() for name, array in saved["model"].items()}


def test_two_tokens_know_more_than_one(tmp_path, text, capsys):
    assert run(tmp_path / "run", text, "--steps", "150", "--rate", "0.02", "--prompt", "aab") == 0
    found = json.loads((tmp_path / "run" / "results.json").read_text(encoding="utf-8"))
    losses = found["held_out_loss"]
    assert losses["unigram"] == pytest.approx(math.log(3), abs=0.1)
    assert losses["bigram, Kneser-Ney"] == pytest.approx(math.log(3), abs=0.01)
    assert losses["model"] < losses["bigram, Kneser-Ney"] - 0.3
    assert "after 150 steps" in capsys.readouterr().out
    assert (tmp_path / "run" / "results.png").stat().st_size > 5000


def test_a_run_that_ctrl_c_stopped_goes_on_to_the_same_bits(tmp_path, text, monkeypatch, capsys):
    options = ["--steps", "9", "--every", "4"]
    assert run(tmp_path / "whole", text, *options) == 0
    whole = lm.Training.take

    def interrupted(self, step):
        if step == 5:
            signal.raise_signal(signal.SIGINT)
        return whole(self, step)

    monkeypatch.setattr(lm.Training, "take", interrupted)
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
    options = ["--steps", "30", "--every", "1"]
    assert run(tmp_path / "whole", text, *options) == 0
    broken = tmp_path / "broken"
    command = [sys.executable, "-m", "scratch_embed", "lm", text, "--out", str(broken)]
    child = subprocess.Popen([*command, *SMALL, *options], stderr=subprocess.DEVNULL)
    while not (broken / "checkpoint.npz").exists():
        assert child.poll() is None
        time.sleep(0.01)
    os.kill(child.pid, signal.SIGKILL)
    assert child.wait() == -signal.SIGKILL
    assert checkpoint.load(broken / "checkpoint.npz")["step"] < 30
    assert main(["lm", "--out", str(broken), "--resume"]) == 0
    assert weights(broken) == weights(tmp_path / "whole")
    assert sorted(path.name for path in broken.iterdir()) == [
        "checkpoint.npz", "results.json", "results.png",
    ]  # fmt: skip


def test_a_finished_run_can_be_asked_once_more(tmp_path, text, capsys):
    assert run(tmp_path, text, "--steps", "2") == 0
    before = weights(tmp_path)
    assert main(["lm", "--out", str(tmp_path), "--resume", "--prompt", "cab"]) == 0
    assert "It goes on from 'cab'" in capsys.readouterr().out
    assert weights(tmp_path) == before


def test_input_that_cannot_be_learned_from_is_told_in_a_sentence(tmp_path, text, capsys):
    (tmp_path / "short.txt").write_text("a few words", encoding="utf-8")
    assert run(tmp_path / "run", str(tmp_path / "short.txt")) == 1
    assert "the text of 11 characters is too short" in capsys.readouterr().err
    (tmp_path / "short.txt").write_text("a few words, " * 200, encoding="utf-8")
    assert run(tmp_path / "run", str(tmp_path / "short.txt"), "--length", "9999") == 1
    assert "and a sequence takes 10,000" in capsys.readouterr().err
    assert run(tmp_path / "run", text, "--steps", "1") == 0
    with open(text, "a", encoding="utf-8") as file:
        file.write("more")
    assert main(["lm", "--out", str(tmp_path / "run"), "--resume"]) == 1
    assert "the text is not the one" in capsys.readouterr().err
    assert run(tmp_path / "run", text, "--heads", "3") == 1
    assert "cannot be cut into 3 equal heads" in capsys.readouterr().err


def test_the_held_out_text_is_not_learned(tmp_path, text):
    options, saved = lm.parse(lm.made(), [text, *SMALL])
    characters = np.random.default_rng(0).integers(0x4E00, 0x9FFF, size=30_000)
    unlike = "".join(map(chr, characters))  # hardly a character comes twice near its neighbour
    data = lm.prepare(unlike, options, saved)
    known = data.learned.tobytes()
    window = data.windows[:, :-1].astype(data.learned.dtype)
    assert not any(row.tobytes() in known for row in window)
