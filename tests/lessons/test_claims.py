"""Every claim is judged once; a verdict that could come out otherwise was tried both ways."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from scratch_embed.lesson.claims.judging import WORDS
from scratch_embed.lesson.claims.ledger import load

ROOT = Path(__file__).parents[2]
CLAIMS = load(ROOT / "lessons" / "claims" / "claims.csv")


@pytest.fixture(scope="module")
def ledger(tmp_path_factory):
    """One run of the whole course, in processes of its own: lessons, quick labs, claims."""
    path = tmp_path_factory.mktemp("ledger") / "ledger.json"
    done = subprocess.run(
        [sys.executable, "-m", "lessons", "all", "--ledger", str(path)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "utf-8"},
        check=False,
        capture_output=True,
        encoding="utf-8",
        timeout=900,
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    assert len(done.stdout.splitlines()) <= 60
    return json.loads(path.read_text(encoding="utf-8"))


def test_the_list_is_sound():
    assert len({claim.id for claim in CLAIMS}) == len(CLAIMS) >= 487
    assert all(claim.id and claim.source and claim.section and claim.statement for claim in CLAIMS)


def test_every_claim_is_judged_once(ledger):
    judged = Counter(row["id"] for row in ledger)
    assert [id for id, times in judged.items() if times > 1] == []
    assert sorted({claim.id for claim in CLAIMS} - set(judged)) == []


def test_the_readme_tells_the_counts_as_they_are(ledger):
    counts = Counter(row["verdict"] for row in ledger)
    told = ", ".join(f"{counts[word]} {word}" for word in WORDS) + f": {len(ledger)} claims"
    assert told in " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())


def test_every_verdict_is_one_of_five_and_says_why(ledger):
    assert {row["verdict"] for row in ledger} <= set(WORDS)
    silent = [row["id"] for row in ledger if row["verdict"] != "reproduced" and not row["told"]]
    assert silent == []
