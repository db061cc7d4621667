"""What a gradient check found: a row for each entry, a table to read, and the likely cause."""

from __future__ import annotations

import html
import math
import textwrap
from collections import Counter
from typing import NamedTuple

OK, UNUSED, WRONG = "ok", "unused", "WRONG"
SURROGATE = "as documented"  # followed by the option: differs from the derivative on purpose
KINK, CORNER, NOISE = "on a kink", "at a corner", "cannot tell"
NO_NUMBER = "no number"
UNTOLD = KINK, NOISE, NO_NUMBER

NOTES = {
    UNUSED: "in rows that nothing used, exactly 0, as it must be",
    KINK: "where the slopes from left and right differ; backward lies between them",
    CORNER: "where there is no one slope, as in the order of three equal numbers; a little beside "
    "it, where there is, backward is that slope, or lies between such",
    NOISE: (
        "hidden by rounding, in the loss (noise) or in backward, or by a jump of the loss. Take "
        "large constants out, or use method='richardson' (longer steps) or 'complex' (which "
        "subtracts nothing); at a jump, take another point"
    ),
    NO_NUMBER: (
        "where a nudge makes the loss no number, as at the end of its domain or beside an "
        "infinity: check where it is one on both sides"
    ),
}
ON_PURPOSE = "differing from the derivative on purpose, by their stated formula"
WIDTH = 80  # of a terminal
TITLES = {
    "central": "central difference",
    "complex": "complex step",
    "richardson": "Richardson extrapolation",
}


class Row(NamedTuple):
    """One checked entry, or one direction through a tensor."""

    parameter: str
    index: tuple[int, ...] | None  # None for a direction
    uses: int | None  # of its row: see `sample.Uses`; None where nothing was looked up
    analytic: float  # by backward
    numeric: float  # by nudging; for a surrogate, what its stated formula makes of it
    difference: float  # |analytic - numeric|
    tolerance: float
    verdict: str  # one of the above; SURROGATE with its option
    noise: float = 0.0  # how much of `numeric` may be rounding; part of the tolerance
    true: float | None = None  # the derivative itself, where the gradient is a surrogate
    whole: int = 0  # uses by operations that take the whole tensor; the others are ids that name it

    @property
    def passed(self) -> bool:
        return self.verdict != WRONG

    @property
    def is_zero(self) -> bool:
        """Whether both numbers are 0, but for what rounding may make of them."""
        return max(abs(self.analytic), abs(self.numeric)) <= self.noise

    @property
    def relative(self) -> float:
        """|analytic - numeric| / max(|analytic|, |numeric|); 0 when both are 0."""
        size = max(abs(self.analytic), abs(self.numeric))
        if not math.isfinite(self.difference):
            return self.difference
        return self.difference / size if size else 0.0

    @property
    def entry(self) -> str:
        if self.index is None:
            return "a direction"
        return "[" + ", ".join(map(str, self.index)) + "]"


class GradcheckError(AssertionError):
    """Raised by `Report.raise_if_wrong`; its text is the report."""


class Report:
    """All rows, worst first, with the rule that decided and the likely cause.

    Attributes
    ----------
    rows : list of Row, largest difference in units of its tolerance first
    passed : no row is wrong, something could be told, and nothing else is amiss
    worst : the first row, or None when nothing was checked
    causes : list of Cause, what the wrong gradient looks like (`.name`, `.op`, `.sentence`)
    agreement : how close the methods are to each other and to backward (`.gaps` by method)
    ties : whether each entry by itself is right, and those on one kink get too much or too little
    problems : what is amiss beside the numbers, such as a backward that gives other bits twice
    sizes : {name of a tensor: how many entries it has}
    methods, seed, rule : how it was measured
    """

    def __init__(
        self,
        rows: list[Row],
        name: str,
        methods: list[str],
        seed: int,
        rule: str,
        problems: list[str] = (),
        causes: list = (),
        agreement=None,
        ties: bool = False,
        sizes: dict[str, int] | None = None,
    ):
        self.rows = sorted(rows, key=_badness)
        self.name, self.methods, self.seed, self.rule = name, list(methods), seed, rule
        self.problems, self.causes, self.agreement = list(problems), list(causes), agreement
        self.ties = ties and not self.problems
        self.sizes = sizes or {}

    @property
    def passed(self) -> bool:
        return self.agrees and self.told

    def __bool__(self) -> bool:
        """`assert gradcheck(...)` means what it says."""
        return self.passed

    @property
    def agrees(self) -> bool:
        """Whether nothing is wrong, be it told or not."""
        return not self.problems and self.rows_agree

    @property
    def rows_agree(self) -> bool:
        return all(row.passed for row in self.rows)

    @property
    def told(self) -> bool:
        """Whether anything could be told: not all is hidden by rounding or on a kink."""
        return any(row.verdict not in UNTOLD for row in self.rows)

    @property
    def blind(self) -> bool:
        """Whether nothing could be told along a direction, which is to stand for all entries."""
        return any(row.index is None and row.verdict in UNTOLD for row in self.rows)

    @property
    def excused(self) -> bool:
        """Whether something is no slope that a nudge finds, and is taken for right on a kink."""
        return any(row.verdict in (KINK, CORNER) for row in self.rows)

    @property
    def worst(self) -> Row | None:
        return self.rows[0] if self.rows else None

    @property
    def gaps(self) -> dict[str, float]:
        """The largest distance from backward, by method."""
        return self.agreement.gaps if self.agreement else {}

    @property
    def cause(self) -> str | None:
        """The name of the first cause, such as "overwritten", or None."""
        return self.causes[0].name if self.causes else None

    def raise_if_wrong(self) -> Report:
        if not self.passed:
            raise GradcheckError(str(self))
        return self

    # ---- as text, Markdown and HTML ------------------------------------------------------------

    def cells(self, limit: int = 12) -> list[list[str]]:
        """The table: a head and the first `limit` rows, as strings."""
        beside = any(row.true is not None for row in self.rows[:limit])
        head = ["tensor", "entry", "uses", "backward", "nudging"]
        head += [*["derivative"] * beside, "off by", *["allowed"] * (not beside), "verdict"]
        lines, shown = [head], [x for row in self.rows for x in (row.analytic, row.numeric)]
        size = max((abs(x) for x in shown if math.isfinite(x)), default=0.0)
        style = "+.6f" if 1e-2 <= size < 1e3 or not size else "+.3e"
        for row in self.rows[:limit]:
            line = [row.parameter, row.entry, "" if row.uses is None else str(row.uses)]
            line += [f"{row.analytic:{style}}", f"{row.numeric:{style}}"]
            line += ["" if row.true is None else f"{row.true:{style}}"] * beside
            line += [f"{row.difference:.1e}", *[f"{row.tolerance:.1e}"] * (not beside)]
            verdict = "documented" if _kind(row) == SURROGATE else row.verdict
            lines.append([*line, verdict])
        return lines

    def table(self, limit: int = 12) -> str:
        """The first `limit` rows as text."""
        lines = self.cells(limit)
        last = len(lines[0]) - 1
        widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
        text = [
            "  ".join(
                cell.ljust(w) if i in (0, 1, last) else cell.rjust(w)
                for i, (cell, w) in enumerate(zip(line, widths))
            ).rstrip()
            for line in lines
        ]
        return "\n".join([*text, *self._more(limit)])

    def notes(self) -> list[str]:
        """Everything under the table: summary, causes, problems, the rule, the closing line."""
        return [
            *self.remarks(),
            *(f"likely: {cause.sentence}" for cause in self.causes),
            *(f"amiss: {problem}" for problem in self.problems),
            self.summary(),
            f"rule: {self.rule}",
            *str(self.agreement or "").splitlines(),
        ]

    def summary(self) -> str:
        """How many of the entries agree."""
        if not self.rows:
            return "nothing was checked: no tensor given has entries and requires a gradient"
        agree = sum(_kind(row) in (OK, UNUSED, SURROGATE) for row in self.rows)
        return f"{agree} of {len(self.rows)} entries agree"

    def remarks(self) -> list[str]:
        """Where the wrong entries are, and what is to be said of the special ones."""
        kinds = Counter(map(_kind, self.rows))
        wrong = f"{kinds[WRONG]} {'entry' if kinds[WRONG] == 1 else 'entries'}"
        found = [f"wrong: {wrong}, {self._where_wrong()}"] if kinds[WRONG] else []
        found += [f"{kind}: {kinds[kind]} {NOTES[kind]}" for kind in NOTES if kinds[kind]]
        stated = Counter(row.verdict for row in self.rows if _kind(row) == SURROGATE)
        found += [f"{verdict}: {count} {ON_PURPOSE}" for verdict, count in stated.items()]
        found += self._sampled()
        if self.rows and not self.told:
            found.append("nothing could be told, so this is no pass; take another point")
        elif self.rows and all(row.is_zero for row in self.rows):
            found.append(
                "all gradients are 0 here, which a wrong backward may give, too: look where the "
                "loss moves"
            )
        return found

    def to_markdown(self, limit: int = 12) -> str:
        """The report as Markdown: a pipe table and its notes."""
        head, *body = self.cells(limit)
        rule = [":--" if i in (0, 1, len(head) - 1) else "--:" for i in range(len(head))]
        lines = ["| " + " | ".join(line).replace("||", "|") + " |" for line in (head, rule, *body)]
        notes = [*self._more(limit), *self.notes()]
        return "\n".join([f"**{self._title()}**", "", *lines, "", *(f"- {note}" for note in notes)])

    def _repr_html_(self) -> str:
        """What Jupyter shows: wrong rows stand out in colour and in bold."""
        head, *body = self.cells(20)
        cells = "".join(f"<th>{html.escape(c)}</th>" for c in head)
        lines = [f"<tr>{cells}</tr>"]
        for line, row in zip(body, self.rows):
            style = "" if row.passed else ' style="background:#f6d5c4;font-weight:bold"'
            cells = "".join(f"<td>{html.escape(c)}</td>" for c in line)
            lines.append(f"<tr{style}>{cells}</tr>")
        notes = "".join(f"<li>{html.escape(n)}</li>" for n in [*self._more(20), *self.notes()])
        return (
            f"<p><b>{html.escape(self._title())}</b></p>"
            f"<table>{''.join(lines)}</table><ul>{notes}</ul>"
        )

    def __str__(self) -> str:
        return "\n".join([self._title(), self.table(), *map(_folded, self.notes())])

    __repr__ = __str__

    def _title(self) -> str:
        how = TITLES[self.methods[0]] if len(self.methods) == 1 else ", ".join(self.methods)
        return f"gradcheck {self.name}   {how}, float64, seed {self.seed}"

    def _more(self, limit: int) -> list[str]:
        left = len(self.rows) - limit
        return [f"... and {left} more, less far off for what they may be"] if left > 0 else []

    def _sampled(self) -> list[str]:
        """Of tensors whose entries were not all looked at, what a direction through all of them
        leaves unseen: it has a length of 1, and 1 / sqrt(size) of it goes along each entry."""
        found = []
        for name, size in self.sizes.items():
            rows = [row for row in self.rows if row.parameter == name]
            along = [row.tolerance for row in rows if row.index is None]
            if along and 0 < len(rows) - len(along) < size:
                alone = min(along) * math.sqrt(size)
                found.append(
                    f"sampled: {len(rows) - len(along)} of the {size:,} entries of {name}; of the "
                    f"others one that is off by less than {alone:.1g}, and alone, may pass unseen"
                )
        return found

    def _where_wrong(self) -> str:
        """The rows that failed, parameter by parameter, and what sets them apart."""
        places = []
        for name in dict.fromkeys(row.parameter for row in self.rows if not row.passed):
            rows = [row for row in self.rows if row.parameter == name and row.index is not None]
            if any(row.index == () and not row.passed for row in rows):
                places.append(f"{name}, which is one number")
                continue
            wrong = sorted({row.index[0] for row in rows if not row.passed})
            if not wrong and self.ties:
                places.append(f"{name} where those move together that share a kink")
                continue
            if not wrong:
                beside = ", in entries that were not sampled" if rows else ""
                places.append(f"{name} along a random direction{beside}")
                continue
            seen = {row.index[0]: row.uses and row.uses - row.whole for row in rows}
            listed = ", ".join(map(str, wrong[:8])) + (", ..." if len(wrong) > 8 else "")
            where = f"row{'s' * (len(wrong) > 1)} {listed} of {name}"
            if len(wrong) == len(seen):
                where = f"all over {name}"
            elif None not in seen.values():
                verb = "read by ids" if any(row.whole for row in rows) else "used"
                for least, often in ((2, "more than once"), (1, "at all")):
                    if wrong == sorted(row for row, uses in seen.items() if uses >= least):
                        where += f", exactly those {verb} {often}"
                        break
            places.append(where)
        return "; ".join(places)


def _folded(note: str) -> str:
    """A note in lines that fit a terminal."""
    fold = textwrap.TextWrapper(WIDTH, subsequent_indent="  ", break_on_hyphens=False)
    return fold.fill(note)


def _kind(row: Row) -> str:
    return SURROGATE if row.verdict.startswith(SURROGATE) else row.verdict


def _badness(row: Row) -> tuple[bool, bool, float]:
    """Wrong rows first, then those with something to say, and in each the worst first."""
    finite = math.isfinite(row.difference)
    size = row.difference / row.tolerance if finite else math.inf
    return row.passed, _kind(row) in (OK, UNUSED), -size
