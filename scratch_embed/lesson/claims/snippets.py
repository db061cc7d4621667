"""What a printed snippet of code reads without ever having made it."""

from __future__ import annotations

import symtable
from unittest.mock import MagicMock


def undefined_names(source: str, imported: list[str]) -> tuple[list[str], set[str]]:
    """(the names at which Python stops, in order; the names that the compiler says are undefined)

    The snippet is run with a stand-in for each import, which does whatever it is asked. Where
    Python meets a name that nobody has made, the name is noted, gets a stand-in too, and the
    snippet is run again. The compiler's table of names, which runs nothing, should list the same.
    Run only what the lesson itself spells out: `source` is executed.

    >>> undefined_names("vectors = emb(torch.tensor([n]))", ["torch"])[0]
    ['emb', 'n']
    """
    stops: list[str] = []
    while name := _stops_at(source, imported + stops):
        stops.append(name)
    symbols = symtable.symtable(source, "snippet", "exec").get_symbols()
    read = {symbol.get_name() for symbol in symbols if symbol.is_referenced()}
    made = {symbol.get_name() for symbol in symbols if symbol.is_assigned()}
    return stops, read - made - set(imported)


def _stops_at(source: str, known: list[str]) -> str | None:
    """The name at which Python stops where only the known ones have a value; None if it ends."""
    try:
        exec(source, {name: MagicMock() for name in known})  # noqa: S102 - to see where it stops
    except NameError as error:
        return error.name
    return None
