"""A text becomes ids in the folder of a run. It is read once; a resumed run finds the ids there."""

from __future__ import annotations

import filecmp
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from scratch_embed import checkpoint
from scratch_embed.text.counting import Ids
from scratch_embed.text.sources import STANDARD, Source, open_source
from scratch_embed.training.progress import Progress
from scratch_embed.training.run import BEGUN, CHECKPOINT, IDS, NEW_IDS, Run, begun_in, finished

WHAT = (
    "a UTF-8 file, a folder of .txt, .md and .rst files, or - for standard input; without it, "
    f"{STANDARD}: the docstrings of this Python"
)


def source(text: str | None) -> Source:
    """The text that is asked for. Of a folder, without the vectors that runs have written in it."""
    left_out = []

    def ours(path: Path) -> bool:
        found = path.name == "vectors.txt" and begun_in(path.parent)
        if found:
            left_out.append(str(path))
        return found

    opened = open_source(text, without=ours)
    if left_out:
        print(f"Left out, for vectors of a run are no text: {', '.join(sorted(left_out))}")
    return opened


def pieces_of(source: Source) -> Iterator[str]:
    """The pieces of a text, while a bar tells how much of it is read."""
    with Progress(0, source.size, "byte", waits=False) as progress:  # nothing is lost
        progress.says = f"reading {source.name}"
        for piece in source.pieces():
            yield piece
            progress.to(source.done)


@contextmanager
def new_ids(run: Run) -> Iterator[Path]:
    """A block that writes the ids of a new text into the file that it is given. At its end they
    take the place of old ones, with whose checkpoint nothing can go on.

    Till then these stay, for the new text may be none, or another one than that of a run that has
    ended, which is not written over. A run that is stopped here is known by its
    options, with which `--resume` begins it again.
    """
    folder = run.options.out
    run.begin()
    path = folder / NEW_IDS
    try:
        yield path
        old = folder / IDS
        if finished(folder) and old.is_file() and not filecmp.cmp(path, old, shallow=False):
            raise _of_another_text(folder)
    except Exception:
        for unread in (path, folder / BEGUN):
            unread.unlink(missing_ok=True)
        raise
    (folder / CHECKPOINT).unlink(missing_ok=True)
    os.replace(path, folder / IDS)


def check_same(folder: Path, part: str, tokens: Sequence) -> None:
    """ValueError where a run that has ended there has other "words", or "merges", which is what
    the part of its checkpoint is called: ids do not tell."""
    if finished(folder) and list(checkpoint.load(folder / CHECKPOINT)[part]) != list(tokens):
        raise _of_another_text(folder)


def _of_another_text(folder: Path) -> ValueError:
    return ValueError(
        f"{folder} holds a finished run of another text, which would be written over: give another "
        f"--out, or remove {folder / CHECKPOINT}"
    )


def ids_of(folder: Path, checksum: int) -> Ids:
    """The ids of a run. Raises ValueError when they are not those of its checkpoint."""
    ids = Ids(folder / IDS)
    if ids.checksum() != checksum:
        raise ValueError(
            f"{ids.path} is not the text of the checkpoint; begin anew, with another --out"
        )
    return ids
