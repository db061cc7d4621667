"""The README's code runs as it stands, and prints what its comments say."""

from __future__ import annotations

import io
import json
import re
from contextlib import redirect_stdout
from pathlib import Path

import pytest

from tests.benchmarks import quote

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```python\n(.*?)^```", README, re.DOTALL | re.MULTILINE)
# A call of print that ends in a comment: the comment is what it prints.
SHOWN = re.compile(r"^\s*print\(.*\)\s+# (?P<text>.+?)\s*$", re.MULTILINE)


def run(blocks: list[str]) -> list[str]:
    """What the blocks print, a line each, run one after another in one namespace."""
    names, printed = {"__name__": "readme"}, io.StringIO()
    with redirect_stdout(printed):
        for n, block in enumerate(blocks, 1):
            exec(compile(block, f"README.md, block {n}", "exec"), names)  # noqa: S102
    return printed.getvalue().splitlines()


def test_the_blocks_print_what_their_comments_say():
    assert BLOCKS, "README.md has no ```python block"
    shown = [match["text"] for block in BLOCKS for match in SHOWN.finditer(block)]
    assert shown, "no block shows what it prints"
    prints = sum(block.count("print(") for block in BLOCKS)
    assert len(shown) == prints, "every print carries what it prints in a comment, on its line"
    assert run(BLOCKS) == shown


def test_the_files_to_read_are_as_long_as_it_says():
    told = re.findall(r"^\| `(scratch_embed/\S+\.py)` \| (\d+) \|", README, re.MULTILINE)
    lines = [len((ROOT / name).read_text(encoding="utf-8").splitlines()) for name, _ in told]
    assert [round(n, -1) for n in lines] == [int(n) for _, n in told]
    whole = re.search(r"About ([\d,]+) lines, two hours", README)[1].replace(",", "")
    assert round(sum(lines), -2) == int(whole)


def test_a_wrong_comment_would_be_noticed():
    block = "x = 0.5 + 0.08\nprint(x)  # 0.59\n"
    assert run([block]) == ["0.58"]
    assert [match["text"] for match in SHOWN.finditer(block)] == ["0.59"]


def test_the_table_of_speeds_is_the_one_of_the_kept_run():
    results = json.loads((ROOT / "figures" / "benchmarks.json").read_text(encoding="utf-8"))
    begin, end = "tests/benchmarks/quote.py -->\n", "\n<!-- end of quote -->"
    page = (ROOT / "tests" / "benchmarks" / "README.md").read_text(encoding="utf-8")
    assert page.partition(begin)[2].partition(end)[0] == quote.quote(results)
    row = results["benchmarks"]["gather"]["rows"][0]
    row["ratios"]["np.take"]["median"] *= 2  # another figure would be noticed
    row["share of copy"]["median"] *= 2
    assert quote.quote(results) not in page


@pytest.mark.parametrize("target", re.findall(r"\]\((?!https?:|#)([^)]+)\)", README))
def test_what_the_readme_links_to_is_there(target):
    assert (ROOT / target).exists()


HOUSE = README.partition("## The house")[2].partition("## Speed")[0]
TOUR = [
    (match["file"], int(match["lines"]))
    for match in re.finditer(r"^\| `(?P<file>\S+\.py)` \| (?P<lines>\d+) \|", HOUSE, re.MULTILINE)
]
LINES_A_MINUTE = 11  # with a pencil


def test_the_house_names_every_room_and_no_other():
    plan = "\n".join(re.findall(r"^      (\S.*)$", HOUSE, re.MULTILINE))
    named = re.findall(r"(?:^|  )(\w+(?:\.py|/)) ", plan, re.MULTILINE)
    package = ROOT / "scratch_embed"
    rooms = [path.name + "/" for path in package.iterdir() if (path / "__init__.py").exists()]
    files = [path.name for path in package.glob("*.py") if path.name != "__init__.py"]
    assert sorted(named) == sorted(rooms + files)


def test_the_tour_counts_its_lines_and_its_time():
    assert len(TOUR) > 4
    real = {name: len((ROOT / name).read_text(encoding="utf-8").splitlines()) for name, _ in TOUR}
    off = {name: real[name] for name, said in TOUR if abs(said - real[name]) > 0.1 * real[name]}
    assert off == {}, "the README says another number"
    total = re.search(r"About ([\d,]+) lines, two hours;", HOUSE)[1]
    assert abs(int(total.replace(",", "")) - sum(real.values())) < 0.1 * sum(real.values())
    assert abs(sum(real.values()) / LINES_A_MINUTE - 120) < 10
