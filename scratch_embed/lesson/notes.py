"""What a person did, in small files of their own: one JSON object each, in the state folder.

None of them is ever needed. A file that is missing or damaged counts as empty, and one that cannot
be written is left alone: a note is a comfort, and no lesson fails for it.
"""

from __future__ import annotations

import json
from pathlib import Path

from scratch_embed.files import from_json, read_bytes, replacing, state_dir

# lessons that were finished; how questions were answered; where a person stopped stepping
NAMES = ("finished", "quiz", "places")
_failed: list[str] = []  # why the last note was not written


def read(name: str) -> dict:
    """The note of that name, such as "finished"; {} when there is none to be read."""
    try:
        noted = from_json(read_bytes(_path(name)).decode("utf-8"))
    except (OSError, ValueError):
        return {}
    return noted if isinstance(noted, dict) else {}


def write(name: str, noted: dict) -> None:
    """Put this in place of the note of that name; where that cannot be, `unkept` says so."""
    try:
        with replacing(_path(name)) as temporary:
            text = json.dumps(noted, indent=1) + "\n"
            temporary.write_text(text, encoding="utf-8")
        _failed.clear()
    except OSError as error:
        _failed[:] = [error.strerror or str(error)]


def unkept() -> str:
    """What a person should know where the last note could not be written; "" where it was."""
    if not _failed:
        return ""
    return f"This is not remembered, for {state_dir()} cannot be written to: {_failed[0]}."


def forget() -> bool:
    """Remove every note. Returns whether there was one; OSError for one that stays."""
    found = [_path(name) for name in NAMES if _path(name).is_file()]
    for path in found:
        path.unlink()
    return bool(found)


def _path(name: str) -> Path:
    return state_dir() / f"{name}.json"
