"""python -m tests.mutants: how many small mistakes in the core the tests see, module by module."""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from pathlib import Path

from tests.mutants.mutate import mutants
from tests.mutants.trial import PASSED, ROOT, Project

# The files of each part, and the tests that answer for it: its own first.
KERNELS = ("tables", "tables_given", "ids", "sums", "steps")
TABLES = [f"tests/kernels/test_{name}.py" for name in KERNELS]
PARTS = {
    "tensor": (
        ["tensor/*.py"],
        [
            "tests/tensor",
            "tests/test_watch.py",
            "tests/test_watch_steps.py",
            "tests/trace/test_trace.py",
        ],
    ),
    "rows": (["rows.py"], ["tests/test_rows.py", "tests/properties/test_property_rows.py"]),
    "kernels": (
        [f"kernels/{name}.py" for name in ("tables", "ids", "sums", "steps")],
        [*TABLES, "tests/properties/test_property_kernels.py", "tests/test_rows.py"],
    ),
    "loops": (
        ["kernels/table_loops.py", "kernels/step_loops.py"],
        [*TABLES, "tests/properties/test_property_kernels.py", "tests/optim"],
    ),
    "ops": (["ops/*.py"], ["tests/ops", "tests/properties/test_property_ops.py", "tests/layers"]),
    "layers": (["layers/*.py"], ["tests/layers", "tests/test_positions.py"]),
    "optim": (
        ["optim/*.py"],
        ["tests/optim", "tests/properties/test_property_optim.py", "tests/test_checkpoint.py"],
    ),
}


def main() -> int:
    """0 always: a survivor is something to think about, and may change nothing."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("parts", nargs="*", help=f"of {', '.join(PARTS)}; all when none is named")
    parser.add_argument("--sample", type=int, default=40, help="mistakes of each part (40); 0: all")
    parser.add_argument("--seed", type=int, default=0, help="of the sample (0)")
    options = parser.parse_args()
    unknown = set(options.parts) - set(PARTS)
    if unknown:
        parser.error(f"no part is called {', '.join(unknown)}; there are {', '.join(PARTS)}")
    tried, found = {}, {}
    try:
        with tempfile.TemporaryDirectory() as folder:
            project = Project(Path(folder))
            for name in options.parts or PARTS:
                tried[name] = found[name] = 0
                for seen in trials(project, name, options.sample, options.seed):
                    tried[name] += 1
                    found[name] += seen
    except KeyboardInterrupt:
        print("\nstopped; this is what was tried", file=sys.stderr)
    print(f"\n{'':<10}{'tried':>7}{'seen':>7}{'rate':>8}")
    for name, count in [*tried.items(), ("in all", sum(tried.values()))]:
        seen = found.get(name, sum(found.values()))
        print(f"{name:<10}{count:>7}{seen:>7}{seen / max(count, 1):>8.1%}")
    return 0


def trials(project: Project, name: str, sample: int, seed: int):
    """Whether each of a sample of mistakes in one part was seen; the survivors are printed."""
    patterns, tests = PARTS[name]
    files = [
        path for pattern in patterns for path in sorted((ROOT / "scratch_embed").glob(pattern))
    ]
    made = [(path, m) for path in files for m in mutants(path.read_text(encoding="utf-8"))]
    chosen = random.Random(seed).sample(made, min(sample or len(made), len(made)))
    began = time.monotonic()
    left_out, takes = project.quick_tests(tests)
    print(
        f"{name}: {len(chosen)} of {len(made)} mistakes, tests of {takes:.0f} s, "
        f"{len(left_out)} slow ones or ones for compiled loops left out",
        flush=True,
    )
    for path, mutant in chosen:
        file = path.relative_to(ROOT).as_posix()
        own = [file, *_own_first(path.stem, tests)]
        said = project.judge(file, mutant.source, own, left_out, patience=30 + 6 * takes)
        if said == PASSED:
            print(f"  survives: {file}:{mutant.line}  {mutant.was}  ->  {mutant.now}", flush=True)
        yield said != PASSED
    print(f"  {time.monotonic() - began:.0f} s", flush=True)


def _own_first(stem: str, tests: list[str]) -> list[str]:
    """All files of these tests, first those that bear the name of the source."""
    paths = [ROOT / test for test in tests]
    files = [file for path in paths for file in (sorted(path.glob("test_*.py")) or [path])]
    return [
        file.relative_to(ROOT).as_posix()
        for file in sorted(files, key=lambda file: stem not in file.stem)
    ]


if __name__ == "__main__":
    sys.exit(main())
