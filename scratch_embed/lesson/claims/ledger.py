"""The claims that are judged: `lessons/claims/claims.csv`, a row a statement or printed figure."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Claim:
    """One row of claims.csv, as it stands there."""

    id: str
    source: str  # "ten-chapter text", "reference page", "lecture note", ...
    section: str
    kind: str  # hand-calc, table, api-example, experiment, simulation, quiz
    statement: str
    printed: str  # the figure as printed, empty where the page shows none
    place: int = 0  # the row's number: the rows stand as a reader of the sources meets them


def load(path: str | Path) -> list[Claim]:
    """The rows of a claims.csv, in order."""
    with open(path, encoding="utf-8", newline="") as file:
        return [Claim(**row, place=n) for n, row in enumerate(csv.DictReader(file))]
