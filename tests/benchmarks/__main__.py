"""python -m tests.benchmarks: measure, print, and write a JSON file with a figure beside it."""

from __future__ import annotations

import argparse
import importlib
import os
import pkgutil
import sys
import time
import traceback
from pathlib import Path

from scratch_embed.kernels import get_num_threads, set_num_threads

from . import figure, machine, report
from .registry import BENCHMARKS, Bench, Wrong


def main() -> int:
    """0 when every result was right, whether or not it was fast enough; 1 otherwise."""
    # Numba and PyTorch each bring an OpenMP with threads of its own, which by default stay awake
    # for a while after their work and take the cores from the other's. Asleep they cost a few
    # microseconds a call, the same for both. The libraries read this when they are loaded.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    options = read_options()
    set_num_threads(options.threads)
    run = {**machine.describe(), "threads": options.threads, "quick": options.quick}
    print("  ".join(f"{key}: {value}" for key, value in run.items()))
    bench, failed, began = Bench(options.quick, options.threads), {}, time.perf_counter()
    bench.shown = lambda row: print(report.row_lines(row), flush=True)
    try:
        for one in chosen(options.only):
            print(f"\n{one.name}: {one.bar}", flush=True)
            try:
                bench.run(one)
            except Wrong as wrong:
                print(f"WRONG: {wrong}", file=sys.stderr)
            except (
                ArithmeticError,
                LookupError,
                OSError,
                RuntimeError,
                TypeError,
                ValueError,
            ) as error:
                traceback.print_exc()  # the others are still worth measuring
                failed[one.name] = f"{type(error).__name__}: {error}"
    except KeyboardInterrupt:
        print("\nstopped; what was measured is kept", file=sys.stderr)
    print(report.closing_table(bench.rows, failed))
    run["seconds"] = round(time.perf_counter() - began, 1)
    report.write_json(options.json, report.as_json(bench.rows, run, failed))
    picture = figure.draw(bench.rows, options.json.with_suffix(".png"))
    print(f"\n{run['seconds']} s; {options.json}" + (f", {picture}" if picture else ""))
    return 1 if failed or any(row.wrong for row in bench.rows) else 0


def read_options() -> argparse.Namespace:
    load_all()
    parser = argparse.ArgumentParser(
        prog="python -m tests.benchmarks",
        description="Ours, the limit of this machine and the peers, measured in turns.",
        epilog="benchmarks: " + ", ".join(BENCHMARKS),
    )
    parser.add_argument("--quick", action="store_true", help="fewer shapes and rounds: a minute")
    parser.add_argument(
        "--only", action="append", default=[], metavar="NAME", help="part of a name; repeatable"
    )
    parser.add_argument("--threads", type=int, default=get_num_threads(), help="default: all cores")
    parser.add_argument(
        "--json", type=Path, metavar="FILE", default=Path("build/benchmarks.json"), help="where to"
    )
    options = parser.parse_args()
    if not chosen(options.only):
        parser.error(f"no benchmark is called {options.only}; there are: {', '.join(BENCHMARKS)}")
    return options


def load_all() -> None:
    """Import every module beside this one, so that its benchmarks register."""
    for module in pkgutil.iter_modules([str(Path(__file__).parent)]):
        if module.name != "__main__":
            importlib.import_module(f".{module.name}", __package__)


def chosen(names: list[str]) -> list:
    """The benchmarks whose name holds one of the given ones; all when none is given."""
    return [one for one in BENCHMARKS.values() if not names or any(n in one.name for n in names)]


sys.exit(main())
