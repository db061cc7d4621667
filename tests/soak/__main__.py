"""python -m tests.soak --minutes 20: one batch after the other, each in a process of its own."""

from __future__ import annotations

import argparse
import itertools
import os
import subprocess
import sys
import time
from collections import Counter

from scratch_embed.training.command import positive
from tests.soak.batch import CLOSING, NAMES

HANG = 300  # seconds that a batch may take; they take a few


def main() -> int:
    """0 when no defect was found, 1 otherwise; Ctrl-C ends it as the time does."""
    parser = argparse.ArgumentParser(prog="python -m tests.soak", description=__doc__)
    parser.add_argument("--minutes", type=positive, default=20, help="how long (20)")
    parser.add_argument("--seed", type=int, help="of the first batch (the time of day)")
    parser.add_argument("--only", choices=NAMES, nargs="+", default=NAMES, help="these batches")
    options = parser.parse_args()
    seed = int(time.time()) if options.seed is None else options.seed
    began, cases, defects = time.monotonic(), Counter(), Counter()
    print(f"soaking for {options.minutes:g} minutes, from seed {seed}", flush=True)
    try:
        for number, name in enumerate(itertools.cycle(options.only)):
            if time.monotonic() - began > 60 * options.minutes and number >= len(options.only):
                break  # each had its turn
            tried, wrong, said = batch(name, seed + number)
            cases[name] += tried
            defects[name] += wrong
            if wrong:
                print(f"\n{name}, seed {seed + number}:\n{said}\n", flush=True)
    except KeyboardInterrupt:
        print("\nstopped; this is what was tried", file=sys.stderr)
    print(f"\n{'':<22}{'cases':>10}{'defects':>10}")
    for name in options.only:
        print(f"{name:<22}{cases[name]:>10,}{defects[name]:>10}")
    took = (time.monotonic() - began) / 60
    print(f"{'in all':<22}{cases.total():>10,}{defects.total():>10}   in {took:.1f} minutes")
    return 1 if defects.total() else 0


def batch(name: str, seed: int) -> tuple[int, int, str]:
    """(cases, defects, what it printed) of one batch. One that dies or hangs is a defect."""
    command = [sys.executable, "-m", "tests.soak.batch", name, str(seed)]
    environment = {"OPENBLAS_NUM_THREADS": "1", **os.environ, "PROPERTIES": "many"}
    child = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=environment,
        encoding="utf-8", errors="replace", start_new_session=True,
    )  # fmt: skip
    try:
        said, _ = child.communicate(timeout=HANG)
    except subprocess.TimeoutExpired:
        child.kill()
        return 0, 1, f"hangs\n{child.communicate()[0]}"
    finally:
        child.kill()  # after Ctrl-C
    found = CLOSING.search(said)
    if child.returncode or not found:
        return 0, 1, f"ended with {child.returncode}\n{said}"
    return int(found[1]), int(found[2]), said


if __name__ == "__main__":
    sys.exit(main())
