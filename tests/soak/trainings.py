"""A training that is killed at any moment, again and again, ends where the unbroken one does.

python -m tests.soak.trainings lm 50        # fifty kills of one command, by hand
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from scratch_embed import checkpoint
from scratch_embed.training.run import CHECKPOINT

COMMANDS = {
    "lm": ["--quick", "--steps", "100", "--every", "30", "--rows", "300", "--length", "16"],
    "word2vec": ["--cut", "spaces", "--dim", "60", "--epochs", "6", "--subsample-at", "0"],
    "patches": ["--quick", "--steps", "20"],
    "recommender": ["--quick", "--steps", "300"],
}
READ = ("lm", "word2vec")  # a text
WORDS, LENGTH = 300, 120_000


def killed(rng: np.random.Generator, name: str | None = None, kills: int = 8) -> Iterator[float]:
    """Yields how far the whole run's time each kill came; raises AssertionError for a difference.

    Only kills of a run under way count: one that came to its end is compared, and another begun.

    name : the command; None draws one.
    """
    name = name or str(rng.choice(list(COMMANDS)))
    with tempfile.TemporaryDirectory() as folder:
        text, broken, struck = Path(folder) / "text.txt", Path(folder) / "broken", 0
        text.write_text(" ".join(f"w{n}" for n in rng.zipf(1.3, LENGTH) % WORDS))
        given = [str(text)] if name in READ else []
        more = [*given, *COMMANDS[name], "--save-every", "0.2", "--resume", "--out"]
        command = [sys.executable, "-m", "scratch_embed", name, *more]
        began = time.monotonic()
        said = _started([*command, f"{folder}/whole"]).communicate()[0]
        took = time.monotonic() - began
        whole = _computed(Path(folder) / "whole", said)
        while struck < kills or broken.exists():
            moment = rng.uniform(0, 1) if struck < kills else None
            child = _started([*command, str(broken)])
            try:
                said = child.communicate(timeout=moment and moment * took)[0]
            except subprocess.TimeoutExpired:
                child.kill()
                said = child.communicate()[0]
            assert "Traceback" not in said, said
            if child.returncode == -signal.SIGKILL:
                struck += 1
                yield moment
                continue
            assert child.returncode == 0, said
            assert _computed(broken, said) == whole, f"{name} ended otherwise"
            left = [path.name for path in broken.iterdir() if path.name[0] == "."]
            assert not left, f"left behind: {left}"
            shutil.rmtree(broken)  # a run that came to its end cannot be killed: begin another


def _started(command: list[str]) -> subprocess.Popen:
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=dict(os.environ)
    )


def _computed(folder: Path, said: str) -> dict:
    """All that a finished run has in its checkpoint, but for the seconds that it took."""
    assert (folder / "results.json").exists(), said
    saved = checkpoint.load(folder / CHECKPOINT)
    saved.pop("seconds", None)
    return _plain(saved)


def _plain(value):
    if isinstance(value, np.ndarray):
        return value.dtype.str, value.shape, value.tobytes()
    if isinstance(value, dict):
        return {key: _plain(inner) for key, inner in value.items()}
    return [_plain(inner) for inner in value] if isinstance(value, list) else value


if __name__ == "__main__":
    counted = list(killed(np.random.default_rng(), sys.argv[1], int(sys.argv[2])))
    print(f"{sys.argv[1]}: killed {len(counted)} times, ended as the unbroken run")
