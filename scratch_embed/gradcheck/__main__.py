"""python -m scratch_embed.gradcheck: every operation and layer in one table."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

import numpy as np

from scratch_embed import functional as F
from scratch_embed.ending import ended
from scratch_embed.files import check_ending, check_writable
from scratch_embed.gradcheck.catalogue import Case, cases, titles
from scratch_embed.gradcheck.check import gradcheck
from scratch_embed.gradcheck.numeric import METHODS
from scratch_embed.gradcheck.reentrant import reentrant
from scratch_embed.gradcheck.report import Report
from scratch_embed.gradcheck.study import exact, step_study
from scratch_embed.plot import ENDINGS
from scratch_embed.tensor import Tensor

TITLE = 34  # letters for what was checked, of the 80 in a line
HEAD = (
    f"{'':<{TITLE}}{'':>7}{'largest distance to backward':>27}\n"
    f"{'operation, options':<{TITLE - 2}}entries"
    f"{'central':>9}{'complex':>9}{'richardson':>11}  verdict"
)


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m scratch_embed.gradcheck",
        description="Check every operation and layer against finite differences. Each is also run "
        "twice, and on one thread and many, to give the same bits. 'exact' means that with whole "
        "numbers and h = 1 the difference equals backward to the bit; 'documented', that options "
        "ask for another gradient than the derivative, and get it.",
    )
    parser.add_argument("--op", help="show one operation entry by entry, e.g. lookup")
    parser.add_argument("--seed", type=_seed, default=0, help="of inputs and cotangents (0)")
    parser.add_argument("--study", action="store_true", help="with --op: error against step")
    parser.add_argument("--figure", type=Path, help="of --study (build/figures/gradcheck_OP.png)")
    options = parser.parse_args(argv)

    chosen = cases(options.seed)
    if options.op is not None:
        known = sorted({case.name for case in chosen})
        chosen = [case for case in chosen if case.name == options.op]
        if not chosen:
            parser.error(f"no operation is called {options.op!r}; there are {', '.join(known)}")
    elif options.study:
        parser.error("--study takes one operation: name it, as in --op lookup --study")
    if options.figure and not options.study:
        parser.error("--figure is the picture of --study: give --study too")
    figure = options.figure or Path("build/figures") / f"gradcheck_{options.op}.png"
    figure = Path(os.path.expanduser(figure))  # a shell leaves the ~ of --figure=~/x.png to us
    if options.study:
        check_ending(figure, ENDINGS)
        check_writable(figure)

    print(HEAD)
    reports = [check(case, options.seed, title) for case, title in zip(chosen, titles(chosen))]
    if options.op or not all(report.passed for report in reports):
        print(*(f"\n{report}\n" for report in reports if options.op or not report.passed), sep="")
    found = big_tables(options.seed) if not options.op else []
    print(*(f"amiss: {problem}\n" for problem in found), sep="", end="")
    if options.study:
        study = step_study(chosen[0].fn, *chosen[0].tensors, seed=options.seed, name=options.op)
        print(f"{study}\nfigure: {study.save(figure)}\n")
    passed = sum(report.passed for report in reports)
    print(f"{passed} of {len(reports)} agree with finite differences")
    return 0 if passed == len(reports) and not found else 1


def check(case: Case, seed: int, title: str) -> Report:
    """One line of the table."""
    report = gradcheck(case.fn, *case.tensors, method="all", seed=seed, name=title)
    report.problems += reentrant(case.fn, *case.tensors, seed=seed)
    if report.agreement.complex_alone or "complex" not in report.gaps:
        report.problems.append("the complex step could not be taken, or stands alone")
    on_purpose = any(row.true is not None for row in report.rows)  # differs, as documented
    whole = None if on_purpose else exact(case.fn, *case.tensors, seed=seed)
    if whole is False:
        report.problems.append("with whole numbers and h = 1 the two are not equal to the bit")
    gaps = "".join(
        f"{report.gaps[m]:>{width}.1e}" if m in report.gaps else f"{'-':>{width}}"
        for m, width in zip(METHODS, (9, 9, 11))
    )
    verdict = "documented" if on_purpose else "exact" if whole else "ok"
    verdict = verdict if report.passed else "WRONG"
    title = title if len(title) <= TITLE else title[: TITLE - 2] + ".."
    print(f"{title:<{TITLE}}{len(report.rows):>5}{gaps}  {verdict}", flush=True)
    return report


def big_tables(seed: int) -> list[str]:
    """Lookup and bag, so large that loops run on several threads: what is not repeatable."""
    rng = np.random.default_rng(seed)
    ids = rng.zipf(1.3, (1024, 8)) % 5000
    table = Tensor(rng.standard_normal((5000, 64), np.float32), requires_grad=True, name="table")
    found = reentrant(lambda table: F.lookup(table, ids), table, seed=seed)
    found += reentrant(lambda table: F.lookup(table, ids, sparse=True), table, seed=seed)
    return found + reentrant(lambda table: F.embedding_bag(table, ids), table, seed=seed)


def _seed(text: str) -> int:
    if not (text.isascii() and text.isdigit()):
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number, 0 or more")
    return int(text)


if __name__ == "__main__":
    sys.exit(ended(main))
